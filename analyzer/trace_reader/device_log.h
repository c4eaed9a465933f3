// SPDX-License-Identifier: Apache-2.0
// What kernels wrote of their malloc and free, one ring's records in the order in which they were read from
// it: from device-<n>.log, and from device-<n>.ring what a dead process left there (trace/FORMAT.md,
// "Device rings"). Used by DeviceHeaps and by `dump`.
//
// Trusts nothing, as LogReader does: what makes no sense is counted and skipped, and a file may end
// anywhere. A record that stands in both files, because its process died in the middle of moving it, is
// given once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace_reader/log_reader.h"
#include "trace/records.h"

namespace gmt {

// The files of one ring; either may be missing (an empty path).
struct DeviceLogFiles {
  std::string name; // "device-0"
  std::filesystem::path log, ring;
};

struct DeviceRecord {
  trace::Head head;
  trace::DeviceSlot slot;                 // of kDeviceDrained, the bytes of a trace::Slot
  std::span<const std::uint64_t> payload; // read by trace::DeviceAllocView and its like; at least 4 words

  trace::DeviceOp op() const { return trace::device_op(head.flags); }
  trace::DeviceSpace space() const { return trace::device_space(head.flags); }
  trace::Slot host_slot() const; // kDeviceDrained alone
};

// The strings of a kDeviceSite record; empty if their lengths make no sense.
struct DeviceSite {
  std::string function, file; // empty if unknown
  std::uint32_t line = 0;
};
DeviceSite site_of(const DeviceRecord& record);

class DeviceLogReader {
public:
  explicit DeviceLogReader(const DeviceLogFiles& files);

  const DeviceRecord* next();                      // null after the last; valid until the next call
  const LogStats& stats() const { return stats_; } // `torn` is what the drain and the ring count

private:
  static constexpr std::size_t kBatch = 1024; // slots read at once

  void open_log(const std::filesystem::path& path);
  void add_ring(const std::filesystem::path& path);
  bool fill(); // more slots into raw_; false if there are none
  bool take_record();
  bool is_repeated();

  std::ifstream log_;
  std::vector<trace::Slot> ring_; // what was left there, and a kDeviceDrained of our own
  LogStats stats_;
  std::vector<trace::Slot> raw_;
  std::size_t at_ = 0;                     // the next slot of raw_
  std::vector<std::uint64_t> last_ticket_; // of each sub-ring, plus one; 0 none yet
  std::vector<std::uint64_t> payload_;
  DeviceRecord record_{};
};

} // namespace gmt
