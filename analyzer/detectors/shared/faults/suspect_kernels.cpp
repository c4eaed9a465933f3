// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/suspect_kernels.h"

#include <algorithm>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/heap/graphs/graph_work.h"
#include "analyzer/heap/heap.h"

namespace gmt {
namespace {

constexpr std::size_t kMostNamed = 3;

std::uint64_t function_of(const LaunchCandidate& c) {
  return c.made != nullptr ? c.made->function : c.launch->function;
}

void add_suspect(std::vector<LaunchCandidate>& all, const LaunchCandidate& candidate) {
  const bool known = std::ranges::any_of(all, [&](const LaunchCandidate& c) {
    return c.launch->stack == candidate.launch->stack && function_of(c) == function_of(candidate);
  });
  if (!known && all.size() <= kMostNamed) all.push_back(candidate);
}

void add_launch(std::vector<LaunchCandidate>& all, const LoggedLaunch& launch, const Heap& heap) {
  if (launch.what != LoggedLaunch::What::kGraph)
    return add_suspect(all, LaunchCandidate{&launch, nullptr});
  for (const GraphWork* made : heap.kernels_of_graph(launch.executable))
    add_suspect(all, LaunchCandidate{&launch, made});
}

void add_once(std::vector<const Block*>& blocks, const std::vector<const Block*>& more) {
  for (const Block* block : more) {
    if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
  }
}

} // namespace

// One for each kernel and call stack, newest first; one more than are named where there are more.
// Where all are known to be done, the newest of them.
std::vector<LaunchCandidate> SuspectKernels::candidates(const Event& e, const Heap& heap) const {
  std::vector<LaunchCandidate> all;
  for (const LoggedLaunch* launch : facts_.launches().in_flight(e.context)) {
    if (launch->order < e.order) add_launch(all, *launch, heap);
    if (all.size() > kMostNamed) return all;
  }
  const auto& kept = facts_.launches().all();
  for (std::size_t i = kept.size(); i-- > 0 && all.empty();) {
    const bool runs =
      kept[i].what == LoggedLaunch::What::kKernel || kept[i].what == LoggedLaunch::What::kGraph;
    if (runs && context_number(kept[i].context) == context_number(e.context))
      add_launch(all, kept[i], heap);
  }
  return all;
}

// With CUDA_LAUNCH_BLOCKING=1 a launch waits, and answers for its own kernel.
std::string SuspectKernels::names(const Event& e, const std::vector<LaunchCandidate>& all) const {
  std::string own, names;
  if (e.kind == EventKind::kLaunch) own = kernel_words(facts_.handle_name(e.launch().function));
  for (const LaunchCandidate& candidate : all) {
    const std::string name = kernel_words(facts_.handle_name(function_of(candidate)));
    if (name == own) own.clear();
    names += cat({names.empty() ? "" : ", ", name});
  }
  if (!own.empty())
    names += cat({names.empty() ? "" : ", ", own, " (where CUDA_LAUNCH_BLOCKING=1 is set)"});
  return names;
}

GivenMemory SuspectKernels::memory_of(const LaunchCandidate& candidate, const Heap& heap) const {
  const HeapAt at{heap, candidate.launch->order};
  std::vector<std::uint64_t> addresses;
  const auto add_all = [&addresses](const auto& words) {
    for (const Argument word : words) addresses.push_back(word.address());
  };
  if (candidate.made != nullptr) add_all(candidate.made->pointers);
  else add_all(arguments_.of(candidate.launch->order));
  return memory_at(addresses, at);
}

SuspectKernels::Found SuspectKernels::find(const Event& e, const Heap& heap) const {
  std::vector<LaunchCandidate> all = candidates(e, heap);
  const bool more = all.size() > kMostNamed;
  if (more) all.pop_back();
  const std::string named = names(e, all);
  if (named.empty()) return {};
  GivenMemory given;
  for (const LaunchCandidate& candidate : all) {
    const GivenMemory own = memory_of(candidate, heap);
    add_once(given.live, own.live);
    add_once(given.freed, own.freed);
  }
  Found found;
  found.words =
    cat({"; ", more ? "among the " : "", "kernels that may have been running: ", named});
  found.words += given_words(given, all.size() == 1 ? "its launch" : "their launches", facts_);
  Finding stacks;
  for (const LaunchCandidate& candidate : all) add_stacks(stacks, candidate, facts_);
  found.stacks = std::move(stacks.stacks);
  add_stacks(found.stacks, given, facts_);
  return found;
}

} // namespace gmt
