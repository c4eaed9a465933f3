// SPDX-License-Identifier: Apache-2.0
// stream-race: two pieces of work on different streams use the same memory, one of them writes it,
// and nothing orders them. What is ordered is StreamClock's answer; which bytes meet is that of
// StreamRaces. Asleep until the program makes a stream.
//
// Never a guess, as in stream_order.cpp: behind a call of which it is not known how it orders,
// nothing is found but listed as not checked, and lost records may have ordered everything. A
// kernel that was given memory of the host may signal the host there how far its stream is. Memory
// that was used in stream order before its allocation is stream-order's finding alone. Sources:
// CUDA programming guide on streams, cuda.h on the calls.
//
// The simulated device says which bytes each launch used, and each node of a graph: then those
// count, and not where the arguments lead. Kernels that meet in what both use by atomics may wait
// for each other there.
//
// It is one file because it is one detector: copies, launches and graphs add to the same work.

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/pending_launches.h"
#include "analyzer/detectors/shared/rows_overlap.h"
#include "analyzer/detectors/shared/stream_clock.h"
#include "analyzer/detectors/shared/stream_races.h"
#include "analyzer/detectors/shared/work_order.h"
#include "trace/object_class.h"

namespace gmt {
namespace {

using Kind = EventKind;
using trace::MemoryKind;
using Point = StreamClock::Point;

constexpr Wants kWatching =
  WorkOrder::kAwake | wants(Kind::kAlloc) | wants(Kind::kExecution) | kWantsTensors;
constexpr std::uint32_t kPointerBytes = 8;
// Of a block: the oldest is forgotten, since newer work is more seldom ordered.
constexpr std::size_t kMostUses = 32;
constexpr std::size_t kFewBlocks = 8192;
constexpr std::uint64_t kMostBytesOfFlag = 8;

// Where each byte has one address, which all calls use; and arrays, of which calls name rows.
bool is_compared(MemoryKind memory_kind) {
  switch (memory_kind) {
  case MemoryKind::kArray:
  case MemoryKind::kDevice:
  case MemoryKind::kPitched:
  case MemoryKind::kManaged:
  case MemoryKind::kStreamOrdered:
  case MemoryKind::kPinned:
  case MemoryKind::kRegistered:
  case MemoryKind::kModuleGlobal:
  case MemoryKind::kManagedVariable:
  case MemoryKind::kTensor:
  case MemoryKind::kGraph:
  case MemoryKind::kIpc:
  case MemoryKind::kVmmMapping: return true;
  default: return false;
  }
}

bool is_seen_by_host(MemoryKind memory_kind) {
  return memory_kind == MemoryKind::kPinned || memory_kind == MemoryKind::kRegistered ||
         memory_kind == MemoryKind::kManaged || memory_kind == MemoryKind::kManagedVariable;
}

bool is_variable(MemoryKind memory_kind) {
  return memory_kind == MemoryKind::kModuleGlobal || memory_kind == MemoryKind::kManagedVariable;
}

// Their variables end, and others may get the addresses.
bool ends_code(const Event& e) {
  if (e.kind != Kind::kLife || e.life().op != trace::LifeOp::kDestroy) return false;
  return e.life().object == trace::ObjectClass::kModule ||
         e.life().object == trace::ObjectClass::kLibrary;
}

// The tensor instead of the segment that it lies in: what another tensor had there before is
// another block's (tensor_race.cpp).
const Access& innermost(const Access& access, const Heap& heap) {
  for (const Access& tensor : heap.tensor_accesses()) {
    if (tensor.address == access.address && tensor.kind == access.kind &&
        tensor.parameter == access.parameter)
      return tensor;
  }
  return access;
}

// Rows of an array, as if it lay at its handle row by row. None where its form is not known.
std::optional<Rows> rows_of_array(const Event& e, Verdict::Side side, const Block& array) {
  if (e.kind != Kind::kCopy || !e.copy().is_shaped) return {};
  const std::optional<Box> box = box_of(e, side);
  const BlockDetail& shape = array.shape();
  if (!box || box->width > shape.width || box->x > shape.width - box->width) return {};
  Rows rows;
  rows.pitch = shape.width;
  rows.width = box->width;
  rows.height = box->height;
  rows.depth = box->depth;
  rows.slice = std::max<std::uint64_t>(shape.height, 1);
  rows.address = array.address + (box->z * rows.slice + box->y) * rows.pitch + box->x;
  return rows;
}

class StreamRace : public Detector {
public:
  explicit StreamRace(const ProcessFacts& facts)
      : facts_(facts), order_(facts, WorkOrder::PageableCopies::kMayGoOn) {
    if (facts.simulated()) clock_.sees_graph_nodes();
  }

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap, Findings&) override {
    if (e.kind != Kind::kExecution) take_as_signals();
    if (is_new_stream(e)) watch(kWatching);
    if (ends_code(e))
      std::erase_if(blocks_, [](const auto& each) { return each.second.variable_bytes != 0; });
    if (e.kind == Kind::kTensor) return on_tensor(e);
    if (e.kind == Kind::kAlloc) return on_alloc(e, heap);
    if (e.kind == Kind::kExecution) return on_execution(e, heap);
    if (order_.follow(e, heap, is_awake())) return on_graph_launch(e, heap);
    if (e.kind == Kind::kFree) return on_free(e, heap);
    if (const std::optional<Point> now = order_.start(e, heap)) on_work(e, *now, heap);
  }

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    use_all(launches_.rest());
    order_.report_unchecked("stream-race", findings);
    if (unsure_ != 0) {
      findings.not_checked(
        {"stream-race", cat({"work waited for events of other processes, for events that a "
                             "graph's node records, or a launch, perhaps before its kernel ends: ",
                             format_plural(unsure_, "pair"),
                             " of calls on two streams that use the same memory may be ordered "
                             "or not"})});
    }
    if (races_.empty() || WorkOrder::report_losses("stream-race", end, findings)) return;
    if (races_.left_out() != 0) {
      findings.not_checked({"stream-race", cat({format_plural(races_.left_out(), "pair"),
                                                " of work more than are compared"})});
    }
    races_.report(end.find_pointer_uses, findings);
  }

private:
  struct Tracked {
    std::uint64_t allocated = 0;       // order
    std::optional<Point> allocated_at; // of stream-ordered memory
    std::uint64_t variable_bytes = 0;  // of a variable: each call by its symbol looks it up anew
    std::vector<MemoryWork> uses;
  };

  static bool is_new_stream(const Event& e) {
    return e.kind == Kind::kLife && e.life().object == trace::ObjectClass::kStream &&
           e.life().op == trace::LifeOp::kCreate;
  }
  bool is_awake() const { return wants() == kWatching; }

  void on_alloc(const Event& e, const Heap& heap) {
    if (heap.accesses().empty() || clock_.is_full()) return;
    const Block& block = *heap.accesses().front().block;
    if (block.memory_kind != MemoryKind::kStreamOrdered) return;
    blocks_[block.address] = {block.allocated_at, clock_.work(e, block.stream, heap), 0, {}};
  }

  // A program has many more addresses of tensors than tensors.
  void on_tensor(const Event& e) {
    if (e.tensor().op == trace::TensorOp::kTakenBack) blocks_.erase(e.tensor().address);
  }

  void on_free(const Event& e, const Heap& heap) {
    const std::span<const Access> accesses = heap.accesses();
    const Block* block = accesses.empty() ? nullptr : accesses.front().block;
    if (block != nullptr) blocks_.erase(block->address);
    const trace::FreeFunction function = e.free().function;
    if (function == trace::FreeFunction::kMemFreeAsync) {
      const std::uint64_t stream = e.free().stream;
      if (!heap.is_capturing(e, stream)) clock_.work(e, stream, heap);
    } else if (block == nullptr || block->memory_kind != MemoryKind::kStreamOrdered) {
      order_.on_release(e);
    }
  }

  void on_execution(const Event& e, const Heap& heap) {
    if (e.execution().op != trace::ExecutionOp::kAccesses) return;
    if (!may_signal_.empty()) look_for_signals(e.execution(), heap);
    use_all(launches_.on_accesses(e, heap));
  }

  // The device says what a launch used right behind its call, unless the launch runs late or other
  // threads call CUDA. Then the host may have seen already what the kernel wrote.
  void take_as_signals() {
    for (const Point& launch : may_signal_) clock_.host_waits(launch);
    may_signal_.clear();
  }

  // A kernel lets the host know something by a flag: a strong store, or one of few bytes. What it
  // stores to more of the host's memory is data.
  void look_for_signals(const event::Execution& said, const Heap& heap) {
    const auto at = std::ranges::find_if(
      may_signal_, [&](const Point& p) { return (p.order & kOrderMask) == said.call; });
    if (at == may_signal_.end()) return;
    const auto is_signal = [&](const event::UsedRows& rows) {
      if (!rows.is_written || (!rows.is_strong && rows.width * rows.count > kMostBytesOfFlag))
        return false;
      const Block* block = heap.find_live(rows.address);
      return block == nullptr || is_seen_by_host(block->memory_kind);
    };
    const bool signals = !said.is_whole || std::ranges::any_of(said.rows, is_signal);
    if (signals) clock_.host_waits(*at);
    if (signals || !said.has_more) may_signal_.erase(at);
  }

  // It is one piece of work, of which the device may say what its nodes use.
  void on_graph_launch(const Event& e, const Heap& heap) {
    const bool is_launch = e.kind == Kind::kSync && e.sync().op == trace::SyncOp::kGraphLaunch;
    if (!is_launch || !facts_.simulated() || !is_awake() || !e.succeeded() || clock_.is_full())
      return;
    if (heap.is_capturing(e, e.sync().stream)) return;
    MemoryWork launch = work_at(e, clock_.work(e, e.sync().stream, heap));
    launch.is_of_graph = true;
    launches_.add(launch, {});
    use_all(launches_.overdue());
  }

  void on_work(const Event& e, Point now, const Heap& heap) {
    bool signals_host = false;
    PendingLaunches::Works works;
    forget_ended(heap);
    for (const Access& outer : heap.accesses()) {
      const Access& access = innermost(outer, heap);
      const Block& block = *access.block;
      signals_host |= e.kind == Kind::kLaunch && is_seen_by_host(block.memory_kind);
      if (!is_compared(block.memory_kind)) continue;
      if (std::optional<MemoryWork> work = work_of(e, now, access, heap))
        works.emplace_back(std::move(*work), block);
    }
    if (e.kind == Kind::kLaunch && facts_.simulated()) {
      MemoryWork launch = work_at(e, now);
      launch.function = e.launch().function;
      launches_.add(launch, std::move(works));
      use_all(launches_.overdue());
    } else {
      use_all(works);
    }
    order_.end(e, now, heap);
    if (signals_host) {
      if (facts_.simulated()) may_signal_.push_back(now);
      else clock_.host_waits(now);
    }
  }

  void use_all(const PendingLaunches::Works& works) {
    for (const auto& [work, block] : works) {
      if (is_compared(block.memory_kind)) use(work, block);
    }
  }

  MemoryWork work_at(const Event& e, Point now) const {
    MemoryWork work{.work = now, .stack = e.stack, .api = e.via != trace::kNoApi ? e.via : e.api};
    if (facts_.simulated()) work.past = clock_.past(now);
    return work;
  }

  std::optional<MemoryWork> work_of(const Event& e, Point now, const Access& access,
                                    const Heap& heap) const {
    MemoryWork work = work_at(e, now);
    work.rows.address = access.address;
    if (access.kind == Access::Kind::kArgument) {
      const Kernel* kernel = facts_.kernel(e.launch().function);
      if (kernel == nullptr || access.parameter >= kernel->parameters.size() ||
          kernel->parameters[access.parameter].bytes != kPointerBytes)
        return {};
      work.function = e.launch().function;
      work.parameter = access.parameter;
      return work;
    }
    if (access.kind != Access::Kind::kRead && access.kind != Access::Kind::kWrite) return {};
    work.writes = access.kind == Access::Kind::kWrite;
    const Verdict::Side side = work.writes ? Verdict::Side::kDestination : Verdict::Side::kSource;
    if (access.block->memory_kind == MemoryKind::kArray) {
      const std::optional<Rows> rows = rows_of_array(e, side, *access.block);
      if (!rows) return {};
      work.rows = *rows;
    } else {
      work.rows = rows_of(e, side);
    }
    work.may_outlast_call = e.kind == Kind::kCopy && is_copy_from_pageable(e, heap);
    return work;
  }

  // Blocks of whose end no call says anything are forgotten when they are many.
  void forget_ended(const Heap& heap) {
    if (blocks_.size() < most_blocks_) return;
    std::erase_if(blocks_, [&](const auto& each) {
      const Block* block = heap.find_tensor(each.first);
      if (block == nullptr) block = heap.find_live(each.first);
      return each.second.variable_bytes == 0 &&
             (block == nullptr || block->allocated_at != each.second.allocated);
    });
    most_blocks_ = std::max(kFewBlocks, 2 * blocks_.size());
  }

  void use(const MemoryWork& newest, const Block& block) {
    Tracked& tracked = blocks_[block.address];
    const std::uint64_t variable_bytes = is_variable(block.memory_kind) ? block.bytes : 0;
    const bool is_same_variable = variable_bytes != 0 && tracked.variable_bytes == variable_bytes;
    if (tracked.allocated != block.allocated_at && !is_same_variable)
      tracked = {block.allocated_at, {}, variable_bytes, {}};
    if (tracked.allocated_at && !is_behind(*tracked.allocated_at, newest)) return;
    for (const MemoryWork& earlier : tracked.uses) {
      if (earlier.work.order <= newest.work.order) compare(earlier, newest, block);
      else compare(newest, earlier, block); // with --late
    }
    remember(newest, tracked.uses);
  }

  bool is_behind(Point earlier, const MemoryWork& work) const {
    if (work.past == nullptr) return clock_.is_ordered(earlier, work.work);
    return earlier.stream == work.work.stream || StreamClock::is_ordered(earlier, *work.past);
  }

  void compare(const MemoryWork& earlier, const MemoryWork& later, const Block& block) {
    if (!earlier.is_inferred() && !later.is_inferred()) {
      if (!are_unordered(earlier, later, clock_)) {
        unsure_ += is_perhaps_ordered(earlier, later) && meeting_of(earlier, later).is_race ? 1 : 0;
        return;
      }
      const Meeting meeting = meeting_of(earlier, later);
      if (meeting.is_talk) talk(earlier, later);
      if (!meeting.is_compared) races_.leave_out();
      if (meeting.is_race && order_.is_certain_since(earlier.work.order))
        races_.add(earlier, later, block, meeting);
    } else if (may_race(earlier, later)) {
      const bool is_unordered = are_unordered(earlier, later, clock_);
      unsure_ += !is_unordered && is_perhaps_ordered(earlier, later) ? 1 : 0;
      if (is_unordered && order_.is_certain_since(earlier.work.order))
        races_.add(earlier, later, block);
    }
  }

  // `later` was begun later; with --late it may run before the other.
  bool is_perhaps_ordered(const MemoryWork& earlier, const MemoryWork& later) const {
    if (earlier.work.stream == later.work.stream) return false;
    return later.past != nullptr ? StreamClock::is_perhaps(earlier.work, *later.past)
                                 : clock_.is_perhaps(earlier.work, later.work);
  }

  static void talk(const MemoryWork& one, const MemoryWork& other) {
    if (one.launch != nullptr) one.launch->talks_with.insert(other.work.stream);
    if (other.launch != nullptr) other.launch->talks_with.insert(one.work.stream);
  }

  // Whether they may meet, one of them writing, where it is not known what kernels use: what they
  // do is known at the end.
  static bool may_race(const MemoryWork& earlier, const MemoryWork& later) {
    if (earlier.is_kernel() && later.is_kernel()) return earlier.rows.address == later.rows.address;
    const MemoryWork& kernel = earlier.is_kernel() ? earlier : later;
    const MemoryWork& call = earlier.is_kernel() ? later : earlier;
    return call.rows.address <= kernel.rows.address;
  }

  // What is the same work as before, on the same stream, stands for it.
  static void remember(const MemoryWork& newest, std::vector<MemoryWork>& uses) {
    const auto same = std::ranges::find_if(uses, [&](const MemoryWork& use) {
      return use.work.stream == newest.work.stream && use.function == newest.function &&
             use.parameter == newest.parameter && use.rows.address == newest.rows.address &&
             use.rows.width == newest.rows.width && use.rows.count() == newest.rows.count() &&
             use.writes == newest.writes && use.kernel == newest.kernel &&
             use.index == newest.index && use.used == newest.used;
    });
    if (same != uses.end()) uses.erase(same);
    else if (uses.size() == kMostUses) uses.erase(uses.begin());
    uses.push_back(newest);
  }

  const ProcessFacts& facts_;
  WorkOrder order_;
  StreamClock& clock_ = order_.clock();
  StreamRaces races_{facts_, clock_};
  PendingLaunches launches_;      // of the simulated device
  std::vector<Point> may_signal_; // launches there of which the device has said nothing yet
  std::unordered_map<std::uint64_t, Tracked> blocks_; // by address
  std::uint64_t unsure_ = 0;                          // pairs of uses
  std::size_t most_blocks_ = kFewBlocks;              // then those that have ended are forgotten
};

const DetectorRegistration kStreamRace{{
  .id = "stream-race",
  .severity = Severity::kError,
  .title = "work on two streams uses the same memory, and nothing orders it",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<StreamRace>(facts);
  },
  .wants = WorkOrder::kAsleep,
}};

} // namespace
} // namespace gmt
