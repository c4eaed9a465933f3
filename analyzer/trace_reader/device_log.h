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
#include <memory>
#include <string>
#include <vector>

#include "analyzer/model/packed_thread.h"
#include "analyzer/trace_reader/log_stats.h"
#include "trace/vocabulary.h"

namespace gmt {

// The files of one ring; either may be missing (an empty path).
struct DeviceLogFiles {
  std::string name; // "device-0"
  std::filesystem::path log, ring;
};

// The function and line that called; empty if the record's lengths make no sense.
struct DeviceSite {
  std::string function, file; // empty if unknown
  std::uint32_t line = 0;
};

// What a kernel wrote, or the drain about what it moved (kDrained). What a kind does not say is 0.
struct DeviceRecord {
  enum class Kind : std::uint8_t { kAllocation, kFree, kSite, kGrid, kDrained };
  Kind kind = Kind::kAllocation;
  trace::DeviceOp op = trace::DeviceOp::kMalloc; // of allocations and frees
  trace::DeviceSpace space = trace::DeviceSpace::kUnknown;
  bool is_out_of_memory = false;
  std::uint16_t context = 0; // kDrained; 0 unknown
  std::uint64_t time = 0;    // of the device's clock, in nanoseconds; kDrained: of the host's
  std::uint64_t ticket = 0;  // what of two records of one time came first
  PackedThread thread = {};
  std::uint64_t pointer = 0, bytes = 0, alignment = 0;
  std::uint64_t id = 0;     // of the site; of the grid, also of allocations and frees
  PackedIndex block = {};   // its index; kGrid: its extents
  PackedIndex extents = {}; // kGrid
  DeviceSite site = {};     // kSite
  std::uint64_t slots = 0, lost = 0, torn = 0; // kDrained
};

class SlotFile;
struct SlotRecord;

class DeviceLogReader {
public:
  explicit DeviceLogReader(const DeviceLogFiles& files);
  ~DeviceLogReader();
  DeviceLogReader(const DeviceLogReader&) = delete;
  DeviceLogReader& operator=(const DeviceLogReader&) = delete;

  const DeviceRecord* next();     // null after the last; valid until the next call
  void give_up(const char* why) { // what comes is not read
    ++stats_.damaged;
    stats_.skipped = why;
  }
  const LogStats& stats() const { return stats_; } // `torn` is what the drain and the ring count

private:
  void read_ring(const std::filesystem::path& path);
  bool take(const SlotFile& file, const SlotRecord& record); // into record_, if it is one of ours
  bool is_repeated(std::uint64_t ticket);

  LogStats stats_;
  // ring_: what was left there, and a drain's record of our own
  std::unique_ptr<SlotFile> log_, ring_;
  std::vector<std::uint64_t> last_ticket_; // of each sub-ring, plus one; 0 none yet
  std::vector<std::uint64_t> words_;
  DeviceRecord record_;
};

} // namespace gmt
