// SPDX-License-Identifier: Apache-2.0
// Which launches a faulting grid may be of, see fault_words.h.
#include <algorithm>

#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/heap/graphs/graph_work.h"
#include "analyzer/heap/heap.h"

namespace gmt {
namespace {

struct Wanted {
  const FaultingGrid& faulting;
  const ProcessFacts& facts;
  const Heap& heap;
  bool by_most_id = true; // else the id may be any that the launch can have at the earliest

  static bool same(const Extents& wanted, trace::Index3 have) {
    return wanted == Extents{} || wanted == Extents{have.x, have.y, have.z};
  }
  bool is(std::uint64_t function, trace::Index3 grid, trace::Index3 block) const {
    if (function == 0 || facts.handle_name(function) != faulting.kernel) return false;
    return same(faulting.grid, grid) && same(faulting.block, block);
  }
  bool is(const LoggedLaunch& launch) const {
    if (faulting.id != 0 && launch.least_id > faulting.id) return false;
    if (faulting.id != 0 && by_most_id && launch.most_id < faulting.id) return false;
    return is(launch.function, launch.grid, launch.block);
  }
};

bool is_same_site(const LaunchCandidate& a, const LaunchCandidate& b) {
  const auto made = [](const LaunchCandidate& c) {
    return c.made != nullptr ? c.made->made : StackId{};
  };
  return a.launch->stack == b.launch->stack && made(a) == made(b);
}

// Before a process has a second context its calls name none, or the first one.
std::uint16_t context_of(const LaunchCandidate& c) {
  return std::max<std::uint16_t>(c.launch->context, 1);
}

void add(std::vector<LaunchCandidate>& all, LaunchCandidate candidate, std::size_t most) {
  const auto known =
    std::ranges::find_if(all, [&](const LaunchCandidate& c) { return is_same_site(c, candidate); });
  if (known == all.end()) {
    if (all.size() < most) all.push_back(candidate);
  } else if (context_of(*known) != context_of(candidate)) {
    known->is_one_context = false;
  }
}

void consider(std::vector<LaunchCandidate>& all, const LoggedLaunch& launch, const Wanted& wanted,
              std::size_t most) {
  if (launch.what == LoggedLaunch::What::kKernel) {
    if (wanted.is(launch)) add(all, {&launch, nullptr}, most);
    return;
  }
  if (launch.what != LoggedLaunch::What::kGraph) return;
  for (const GraphWork* made : wanted.heap.kernels_of_graph(launch.executable)) {
    if (wanted.is(made->function, made->grid, made->block)) add(all, {&launch, made}, most);
  }
}

} // namespace

std::vector<LaunchCandidate> launch_candidates(const FaultingGrid& faulting,
                                               const ProcessFacts& facts, const Heap& heap,
                                               std::size_t most) {
  Wanted wanted{faulting, facts, heap};
  std::vector<LaunchCandidate> all;
  for (const bool by_most_id : {true, false}) {
    wanted.by_most_id = by_most_id; // something may take ids that is not known to
    if (!all.empty()) break;
    for (const LoggedLaunch* launch : facts.launches().in_flight(0))
      consider(all, *launch, wanted, most);
    // A synchronisation may have answered 0 before the GPU noticed the fault of a store.
    const auto& kept = facts.launches().all();
    // Of several devices each may have run the newest one.
    const bool is_done = all.empty(), has_several = heap.cuda().peers.has_several_devices();
    for (std::size_t i = kept.size(); i-- > 0 && is_done && (all.empty() || has_several);)
      consider(all, kept[i], wanted, std::min<std::size_t>(most, 1));
  }
  return all;
}

void add_stacks(Finding& f, const LaunchCandidate& candidate, const TraceNames& names) {
  f.stacks.push_back(launch_stack(*candidate.launch, names));
  if (const GraphWork* made = candidate.made) {
    const StackRole role = made->captured ? StackRole::kCaptured : StackRole::kNodeMade;
    f.stacks.push_back(stack_as(role, made->made, names.api_name(made->api)));
  }
}

} // namespace gmt
