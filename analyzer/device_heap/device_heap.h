// SPDX-License-Identifier: Apache-2.0
// What kernels allocated and freed in one context, from the records that they left in its ring:
// which blocks of the device's heap are alive, which calls were mistakes, what was refused.
//
// Records come in the order in which rings were read, and are put in the order of the device's
// clock over a window. A malloc's time is taken behind it, a free's before it, so that a block is
// always freed before its address is given out again; where times are equal, what is possible came
// first. Memory grows with live blocks, grids and lines of the source, and a bounded number of
// freed blocks (the newest kMaxFreed), never with events.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/base/range_map.h"
#include "analyzer/trace_reader/device_log.h"

namespace gmt {

class TraceClock;

// One call in a kernel.
struct DeviceCall {
  std::uint64_t time = 0; // of the device's clock, in nanoseconds
  std::uint64_t grid = 0; // id
  PackedIndex block = {};
  PackedThread thread = {};
  trace::DeviceOp op = trace::DeviceOp::kMalloc;
};

struct DeviceBlock {
  std::uint64_t address = 0, bytes = 0;
  DeviceCall allocated = {}, freed = {};
  bool is_freed = false;
};

inline std::uint64_t end_of(const DeviceBlock& block) {
  const std::uint64_t bytes = std::max<std::uint64_t>(block.bytes, 1);
  return block.address > UINT64_MAX - bytes ? UINT64_MAX : block.address + bytes;
}

struct DeviceGrid {
  std::uint64_t id = 0;
  PackedIndex extents = {}, block_extents = {};
  std::uint64_t time = 0; // of its first record
  std::uint32_t site = 0; // of its first malloc or free that has one; 0 unknown
};

// Equal mistakes (same kind, grids and sites in the source) as one, with the first as example.
struct DeviceMistake {
  enum class What : std::uint8_t {
    kDoubleFree, // block: the freed one
    kInside, // block: the live one that the pointer lies inside of, `offset` bytes from its base
    kNeverAllocated,
    kShared,     // shared memory of the thread block
    kLocal,      // local memory of the thread
    kMismatched, // block: the one freed, by the wrong function
    kAlignment,  // no free: an aligned malloc whose alignment (`offset`) is no power of two
  };
  What what = What::kDoubleFree;
  DeviceCall at = {};
  std::uint64_t address = 0, offset = 0;
  DeviceBlock block = {};
  std::uint64_t count = 0, bytes = 0;
};

// malloc that gave NULL, in one grid at one site in the source.
struct DeviceRefusal {
  DeviceCall first = {};
  std::uint64_t asked = 0;                       // bytes, the first time
  std::uint64_t live_bytes = 0, live_blocks = 0; // at that moment, see DeviceHeap::settle()
  std::uint64_t count = 0, bytes = 0;            // bytes: all that was asked for and refused
};

// Blocks that one grid allocated at one site and that another block or grid freed at one site.
struct ForeignFree {
  DeviceBlock example = {};
  std::uint64_t count = 0, bytes = 0;
};

class DeviceHeap {
public:
  static constexpr std::size_t kMaxFreed = 1'000'000;
  // Of equal mistakes, refusals and foreign frees, each. Those behind them are grouped without
  // their grids, as many again.
  static constexpr std::size_t kMaxGroups = 10'000;
  static constexpr std::size_t kMaxGrids = 1'000'000;

  void read(DeviceLogReader& log, const TraceClock& clock); // all of it

  // The host's CLOCK_REALTIME at a time of the device's clock, 0 if that is 0. Late by at most what
  // the quickest drain took, 5 ms; once all is read. The clocks of four H100 were 2, 6, 9 and 11 ms
  // behind the host's (driver 580).
  std::uint64_t host_time(std::uint64_t device_time) const;

  std::uint16_t context() const { return context_; } // kContext id, 0 unknown
  const DeviceSite& site(std::uint32_t number) const;
  const DeviceSite& site(PackedThread thread) const { return site(thread.site()); }
  const std::vector<DeviceGrid>& grids() const { return grids_; } // by id

  // The block that contained the address at that time of the host's clock, as far as two clocks can
  // say; else the one freed last before, else one allocated later. If the time is 0: a live one,
  // else the newest freed one. May look through all freed ones.
  const DeviceBlock* find(std::uint64_t address, std::uint64_t time) const;
  // Whether the address lies between the first and the last byte that the heap ever gave out.
  bool spans(std::uint64_t address) const { return address >= lowest_ && address < highest_; }
  // In the order of addresses
  void for_each_live(const std::function<void(const DeviceBlock&)>& visit) const;

  const std::vector<DeviceMistake>& mistakes() const { return mistakes_; }
  // Frees behind the first loss of pointers that no block begins at: mistakes (kNeverAllocated)
  // only if the pointer is known to be none of this heap's.
  const std::vector<DeviceMistake>& undecided() const { return undecided_; }
  const std::vector<DeviceRefusal>& refusals() const { return refusals_; }
  const std::vector<ForeignFree>& foreign_frees() const { return foreign_; }

  std::uint64_t records() const { return records_; }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t live_blocks() const { return live_.size(); }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  const DeviceCall& peak() const { return peak_; } // the malloc that reached it
  // The most that was alive or asked for and refused at one time.
  std::uint64_t wanted_bytes() const { return wanted_bytes_; }
  std::uint64_t lost() const { return lost_; } // records that found the ring full
  std::uint64_t torn() const { return torn_; }
  std::uint64_t unseen_frees() const {
    return unseen_frees_;
  } // blocks replaced by a new one on top of them
  std::uint64_t unchecked() const {
    return unchecked_;
  } // frees that a lost record may explain, but for undecided()

private:
  struct Pending {
    std::uint64_t time, ticket;
    PackedThread thread;
    std::uint64_t pointer, bytes, grid, alignment;
    PackedIndex block;
    trace::DeviceOp op;
    trace::DeviceSpace space;
    bool is_free, refused;

    DeviceCall call() const {
      return {.time = time, .grid = grid, .block = block, .thread = thread, .op = op};
    }
  };
  struct Group {
    std::array<std::uint64_t, 4> sites = {};
    std::array<std::uint64_t, 3> grids = {};
    auto operator<=>(const Group&) const = default;
  };
  using Groups = std::map<Group, std::size_t>; // to indices of a list

  void on_site(const DeviceRecord& record);
  void on_grid(const DeviceRecord& record);
  void note_site(const DeviceRecord& record);
  void finish_grids();
  void on_drained(const DeviceRecord& record, const TraceClock& clock);
  void compare_clocks(std::uint64_t host_time);
  void hold(const DeviceRecord& record);
  void release(std::uint64_t until); // applies what is not later
  void apply_tie(std::size_t begin, std::size_t end);
  void on_alloc(const Pending& r);
  void on_free(const Pending& r);
  void on_unknown_free(const Pending& r);
  void on_allocated(const Pending& r);
  void on_freed(std::uint32_t id, const Pending& r);
  void remember_freed(const DeviceBlock& block);
  void refuse(const Pending& r);
  void settle(const Pending& r);
  void note_foreign(const DeviceBlock& block);
  void add(const DeviceMistake& mistake);
  void add_undecided(const DeviceMistake& mistake);
  static std::optional<std::size_t> index_of(Groups& groups, Group group, std::size_t next);
  bool is_lossy(const Pending& r) const { return r.time > lost_after_; }
  bool is_far(std::uint64_t address) const;
  const DeviceBlock* find_freed(std::uint64_t base) const;
  template <class Visit> void for_each_at(std::uint64_t address, Visit visit) const;

  std::uint16_t context_ = 0;
  std::unordered_map<std::uint32_t, DeviceSite> sites_;
  std::vector<DeviceGrid> grids_;
  std::unordered_map<std::uint64_t, std::uint32_t> site_of_grid_; // while reading
  std::uint64_t noted_grid_ = 0;                                  // the newest that it has

  std::vector<Pending> pending_, deferred_;
  std::size_t enough_ = 0; // pending records that make a release worth while
  std::uint64_t newest_ = 0,
                // Times: of all records, and of those before the drain's last round
    newest_before_ = 0;

  RangeMap<64> live_; // to indices of blocks_
  std::vector<DeviceBlock> blocks_;
  std::vector<std::uint32_t> free_ids_;
  std::vector<DeviceBlock> freed_; // a ring of the newest
  std::size_t next_freed_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> freed_by_base_;
  std::uint64_t lowest_ = UINT64_MAX, highest_ = 0;

  std::vector<DeviceMistake> mistakes_, undecided_;
  std::vector<DeviceRefusal> refusals_;
  std::vector<ForeignFree> foreign_;
  Groups mistake_groups_, undecided_groups_, foreign_groups_, refusal_groups_;

  std::uint64_t records_ = 0, live_bytes_ = 0, peak_bytes_ = 0, wanted_bytes_ = 0;
  // Of the newest grid that was refused anything
  std::uint64_t refused_grid_ = 0, refused_bytes_ = 0;
  std::vector<std::size_t> settling_; // refusals that mallocs in progress may have caused
  DeviceCall peak_;
  std::uint64_t lost_ = 0, torn_ = 0, unseen_frees_ = 0, unchecked_ = 0;
  // Time of the last record that surely came before the first loss
  std::uint64_t lost_after_ = UINT64_MAX;
  // From the device's clock to the host's, in nanoseconds: the least time between a drain and the
  // newest record that it found. INT64_MAX: not known.
  std::int64_t clock_offset_ = INT64_MAX;
};

// "malloc", "free", "__nv_aligned_device_malloc", "new", "new[]", "delete", "delete[]".
std::string_view device_call(trace::DeviceOp op);
// The release that fits: "free", "delete", "delete[]".
trace::DeviceOp device_release(trace::DeviceOp allocation);

} // namespace gmt
