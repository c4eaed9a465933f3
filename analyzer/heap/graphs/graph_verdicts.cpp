// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/graphs/graph_verdicts.h"

#include <algorithm>

#include "trace/cuda_results.h"

namespace gmt {
namespace {

using trace::MemoryKind;

// Left out is memory that comes back by itself: a graph's at every launch, static memory with its
// module. Host memory may belong to malloc again, from which a copy may read, and a kernel may not.
bool is_looked_at(const GraphWork& work, const Block& dead) {
  if (dead.memory_kind == MemoryKind::kGraph || is_static(dead.memory_kind)) return false;
  if (dead.memory_kind != MemoryKind::kPinned && dead.memory_kind != MemoryKind::kManaged)
    return true;
  return work.kind == GraphWork::Kind::kKernel ||
         (dead.allocated_at < work.order && work.order < dead.freed_at);
}

bool is_array(const GraphWork& work, Argument word) {
  return work.kind == GraphWork::Kind::kCopy && word.parameter() >= GraphWork::kDestinationArray &&
         word.parameter() != kNoParameter;
}

Verdict::Side side_of(const GraphWork& work, Argument word) {
  if (work.kind == GraphWork::Kind::kKernel) return Verdict::Side::kNone;
  const bool reads = (word.parameter() & 1) == GraphWork::kSource;
  return reads ? Verdict::Side::kSource : Verdict::Side::kDestination;
}

} // namespace

// A launch that the process died in, too: a host's copy in it may be what ended the process.
bool GraphVerdicts::is_checked(const Event& e) const {
  const bool may_be_checked =
    e.succeeded() || e.in_flight() || e.result == cuda::CUDA_ERROR_INVALID_VALUE;
  if (e.from_runtime || !may_be_checked) return false;
  return !cuda_.contexts.is_dead(e.context) && cuda_.captures.of(e, e.sync().stream) == 0;
}

bool GraphVerdicts::is_all_alive(const ExecutableGraph& graph) const {
  return graph.is_watched && std::ranges::all_of(graph.watched, [this](const Watched& w) {
           const Id id = store_.find_exact(w.space, w.address);
           return id != BlockStore::kNone && store_[id].allocated_at == w.allocated_at;
         });
}

// A tensor that was dropped behind the capture: a mistake once PyTorch's cache has given the memory
// to another one. What a capture has allocated is not given out again.
void GraphVerdicts::check_tensor(const GraphWork& work, Argument word, CallVerdicts& verdicts,
                                 Answer& answer) const {
  const std::uint64_t address = word.address();
  const Id id = store_.find_id(Space::kSubAllocation, address);
  const Block* live = id != BlockStore::kNone && is_tensor(store_[id]) ? &store_[id] : nullptr;
  if (live != nullptr && live->allocated_at < work.order) {
    if ((live->flags & kIsOfCapture) == 0)
      answer.tensor = Watched{Space::kSubAllocation, live->address, live->allocated_at};
    return;
  }
  const Block* dead = store_.find_dead(Space::kSubAllocation, address);
  if (dead == nullptr || !is_tensor(*dead) || (dead->flags & kIsOfCapture) != 0 ||
      dead->allocated_at >= work.order || dead->freed_at <= work.order)
    return;
  answer.is_dropped = live == nullptr;
  const bool is_others =
    live != nullptr && live->allocated_at > dead->freed_at && (live->flags & kIsOfCapture) == 0;
  if (!is_others || verdicts.is_full()) return;
  verdicts.add({.kind = Verdict::Kind::kUseAfterFree,
                .side = side_of(work, word),
                .parameter = work.kind == GraphWork::Kind::kKernel
                               ? static_cast<std::uint8_t>(word.parameter())
                               : std::uint8_t{kNoParameter},
                .block = dead,
                .neighbour = live,
                .work = &work,
                .offset = address - dead->address,
                .range_begin = address});
  answer.is_settled = true;
}

GraphVerdicts::Answer GraphVerdicts::check_pointer(const GraphWork& work, Argument word,
                                                   CallVerdicts& verdicts) const {
  const std::uint64_t address = word.address();
  const bool array = is_array(work, word);
  const Id id = array ? arrays_.find(address) : store_.find_id(Space::kAddress, address);
  if (id != BlockStore::kNone) {
    const Block& block = store_[id];
    Answer answer{.watched =
                    Watched{space_of(block.memory_kind), block.address, block.allocated_at}};
    if (!array && work.captured) check_tensor(work, word, verdicts, answer);
    return answer;
  }
  if (!array && store_.find_id(Space::kRegistered, address) != BlockStore::kNone) return {};
  const Block* dead =
    array ? arrays_.find_dead(address) : store_.find_dead(Space::kAddress, address);
  if (dead == nullptr) return {.is_settled = true};
  if (!array && host_memory_.contains(address)) return {};
  if (!is_looked_at(work, *dead) || verdicts.is_full()) return {}; // at the next launch
  Verdict verdict{.kind = Verdict::Kind::kUseAfterFree,
                  .side = side_of(work, word),
                  .block = dead,
                  .work = &work,
                  .offset = address - dead->address,
                  .range_begin = address};
  if (work.kind == GraphWork::Kind::kKernel) {
    verdict.parameter = static_cast<std::uint8_t>(word.parameter());
    if (!readings_.is_mistake(verdict, work.function, work.pointers, verdicts))
      return {.is_settled = true};
  }
  verdicts.add(verdict);
  return {.is_settled = true};
}

} // namespace gmt
