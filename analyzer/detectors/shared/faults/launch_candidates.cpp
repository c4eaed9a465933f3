// SPDX-License-Identifier: Apache-2.0
// Which launches a faulting grid may be of, see fault_words.h.
#include <algorithm>

#include "analyzer/detectors/shared/faults/fault_words.h"

namespace gmt {
namespace {

struct Wanted {
  std::string_view kernel;
  const Extents& grid;
  const Extents& block;
  std::uint64_t grid_id;
  const ProcessFacts& facts;
  bool by_most_id = true; // else the id may be any that the launch can have at the earliest

  static bool same(const Extents& wanted, trace::Index3 have) {
    return wanted == Extents{} || wanted == Extents{have.x, have.y, have.z};
  }
  bool is(const LoggedLaunch& launch) const {
    if (launch.function == 0 || facts.handle_name(launch.function) != kernel) return false;
    if (grid_id != 0 && launch.least_id > grid_id) return false;
    if (grid_id != 0 && by_most_id && launch.most_id < grid_id) return false;
    return same(grid, trace::grid_of(launch.grid)) &&
           same(block, trace::block_extents_of(launch.block));
  }
};

bool is_same_site(const LaunchCandidate& a, const LaunchCandidate& b) {
  const auto made = [](const LaunchCandidate& c) {
    return c.made != nullptr ? c.made->stack : StackId{};
  };
  return a.launch->stack == b.launch->stack && made(a) == made(b);
}

void add(std::vector<LaunchCandidate>& all, LaunchCandidate candidate, std::size_t most) {
  const bool known =
    std::ranges::any_of(all, [&](const LaunchCandidate& c) { return is_same_site(c, candidate); });
  if (!known && all.size() < most) all.push_back(candidate);
}

void consider(std::vector<LaunchCandidate>& all, const LoggedLaunch& launch, const Wanted& wanted,
              std::size_t most) {
  if (launch.what == LoggedLaunch::What::kKernel) {
    if (wanted.is(launch)) add(all, {&launch, nullptr}, most);
    return;
  }
  if (launch.what != LoggedLaunch::What::kGraph) return;
  for (const LoggedLaunch& made : wanted.facts.launches().kernels_of(launch.executable)) {
    if (wanted.is(made)) add(all, {&launch, &made}, most);
  }
}

} // namespace

std::vector<LaunchCandidate> launch_candidates(std::string_view kernel, const Extents& grid,
                                               const Extents& block, std::uint64_t grid_id,
                                               const ProcessFacts& facts, std::size_t most) {
  Wanted wanted{kernel, grid, block, grid_id, facts};
  std::vector<LaunchCandidate> all;
  for (const bool by_most_id : {true, false}) {
    wanted.by_most_id = by_most_id; // something may take ids that is not known to
    if (!all.empty()) break;
    for (const LoggedLaunch* launch : facts.launches().in_flight(0))
      consider(all, *launch, wanted, most);
    // A synchronisation may have answered 0 before the GPU noticed the fault of a store.
    const auto& kept = facts.launches().all();
    for (auto at = kept.rbegin(); at != kept.rend() && all.empty(); ++at)
      consider(all, *at, wanted, most);
  }
  return all;
}

void add_stacks(Finding& f, const LaunchCandidate& candidate, const TraceNames& names) {
  f.stacks.push_back(launch_stack(*candidate.launch, names));
  if (candidate.made != nullptr) f.stacks.push_back(launch_stack(*candidate.made, names));
}

} // namespace gmt
