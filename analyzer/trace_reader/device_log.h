// SPDX-License-Identifier: Apache-2.0
// What kernels wrote of their malloc and free, one ring's records in the order in which they were
// read from it: from device-<n>.log, and from device-<n>.ring what a dead process left there
// (trace/FORMAT.md, "Device rings").
//
// Trusts nothing, as SlotFile does. A record that stands in both files, because its process died in
// the middle of moving it, is given once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/trace_reader/slot_file.h"
#include "trace/records.h"

namespace gmt {

// The files of one ring; either may be missing (an empty path).
struct DeviceLogFiles {
  std::string name; // "device-0"
  std::filesystem::path log, ring;
};

struct DeviceRecord {
  trace::Head head;
  trace::DeviceSlot slot; // of kDeviceDrained, the bytes of a trace::Slot
  // For trace::DeviceAllocView and the other views; at least 4 words
  std::span<const std::uint64_t> payload;

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

  const DeviceRecord* next();     // null after the last; valid until the next call
  void give_up(const char* why) { // what comes is not read
    ++stats_.damaged;
    stats_.skipped = why;
  }
  const LogStats& stats() const { return stats_; } // `torn` is what the drain and the ring count

private:
  void read_ring(const std::filesystem::path& path);
  bool read_slots(); // the next whole record into record_
  bool is_event();
  bool is_repeated();

  LogStats stats_;
  // ring_: what was left there, and a kDeviceDrained of our own
  std::optional<SlotFile> log_, ring_;
  std::vector<std::uint64_t> last_ticket_; // of each sub-ring, plus one; 0 none yet
  std::vector<std::uint64_t> payload_;
  DeviceRecord record_{};
};

} // namespace gmt
