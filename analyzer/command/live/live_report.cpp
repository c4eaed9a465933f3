// SPDX-License-Identifier: Apache-2.0
// Names of stacks are looked up once, for those that are shown.

#include "analyzer/command/live/live_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/heap/memory_use.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/shared/call_site.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt {
namespace {

constexpr std::size_t kMostHolders = 10, kMostFindings = 5;

void keep_largest(std::vector<LiveHolder>& holders) {
  std::ranges::stable_sort(holders, std::ranges::greater{}, &LiveHolder::bytes);
  if (holders.size() > kMostHolders) holders.resize(kMostHolders);
}

std::vector<LiveMemory> memory_of(const MemoryUse& use) {
  std::vector<LiveMemory> memory;
  for (const MemoryUse::Device& device : use.devices()) {
    for (std::size_t kind = 0; kind < device.memory_kinds.size(); ++kind) {
      const MemoryUse::KindSums& sums = device.memory_kinds[kind];
      if (sums.allocations == 0) continue;
      memory.push_back({std::string(memory_noun(static_cast<trace::MemoryKind>(kind))),
                        device.number, sums.live_bytes, sums.live_blocks, sums.peak_bytes});
    }
  }
  return memory;
}

// All but tensors, which lie in other blocks.
std::vector<trace::MemoryKind> live_kinds(const MemoryUse& use) {
  std::vector<trace::MemoryKind> kinds;
  for (std::size_t kind = 0; kind < MemoryUse::kMemoryKinds; ++kind) {
    const auto memory_kind = static_cast<trace::MemoryKind>(kind);
    const bool is_alive = std::ranges::any_of(
      use.devices(), [kind](const auto& device) { return device.memory_kinds[kind].live_blocks; });
    if (is_alive && memory_kind != trace::MemoryKind::kTensor) kinds.push_back(memory_kind);
  }
  return kinds;
}

std::string name_of_frame_in_top(const Frame& frame) {
  if (frame.function.empty())
    return cat({base_name(frame.module), "+", format_address(frame.module_offset)});
  const std::string function =
    frame.language.empty() ? std::string(bare_function(frame.function)) : frame.function;
  if (frame.file.empty()) return function;
  return cat({function, " ", base_name(frame.file), ":", std::to_string(frame.line)});
}

// The first of the program's own frames, else the innermost one. Of several holders there, also the
// frame by which each differs.
std::string name_of_stack(const CallStack& stack, std::optional<std::size_t> differing) {
  const std::vector<Frame>& frames = stack.frames;
  if (frames.empty()) return "(no call stack was recorded)";
  auto at = std::ranges::find_if(frames, is_users_frame);
  if (at == frames.end()) at = frames.begin();
  std::string name = name_of_frame_in_top(*at);
  if (differing) name = cat({name_of_frame_in_top(frames[*differing]), " > ", name});
  return name;
}

} // namespace

const CallStack& LiveView::call_stack_of(StackId id) {
  const auto [at, is_new] = stacks_.try_emplace(id.value);
  CallStack& stack = at->second;
  if (!is_new) return stack;
  symbols_.want(id);
  symbols_.resolve();
  stack.frames = symbols_.frames(id);
  trim_frames(stack.frames);
  std::erase_if(stack.frames,
                [](const Frame& f) { return f.function.empty() && f.module.empty(); });
  return stack;
}

std::vector<LiveView::Held> LiveView::held(const HolderChoice& choice) const {
  std::vector<Held> all;
  if (!choice.kind) {
    const auto& stacks = follower_.heap().use().stacks();
    for (std::uint32_t i = 0; i < stacks.size(); ++i)
      if (stacks[i].bytes != 0) all.push_back({i, stacks[i].bytes, stacks[i].blocks, 0});
    return all;
  }
  std::map<std::uint32_t, Held> by_stack;
  follower_.heap().for_each_live([&](const Block& block) {
    if (block.memory_kind != *choice.kind) return;
    Held& holder = by_stack[block.allocated.value];
    holder.stack = block.allocated.value;
    holder.bytes += block.bytes;
    ++holder.blocks;
  });
  for (const auto& [stack, holder] : by_stack) all.push_back(holder);
  return all;
}

void LiveView::add_holders(LiveProcess& process, const HolderChoice& choice) {
  using Sort = HolderChoice::Sort;
  std::vector<Held> all = held(choice);
  const bool is_first = is_first_ || kind_before_ != choice.kind;
  for (Held& holder : all) {
    const auto before = bytes_before_.find(holder.stack);
    const std::uint64_t bytes = before == bytes_before_.end() ? 0 : before->second;
    holder.growth = is_first ? 0 : static_cast<std::int64_t>(holder.bytes - bytes);
  }
  kind_before_ = choice.kind;
  bytes_before_.clear();
  for (const Held& holder : all) bytes_before_[holder.stack] = holder.bytes;
  std::ranges::sort(all, std::ranges::greater{}, [&choice](const Held& holder) {
    const std::int64_t first = choice.sort == Sort::kChange ? holder.growth : 0;
    return std::tuple(first, choice.sort == Sort::kBlocks ? holder.blocks : 0, holder.bytes,
                      holder.stack);
  });
  if (all.size() > kMostHolders) all.resize(kMostHolders);
  std::vector<const CallStack*> stacks;
  for (const Held& holder : all) stacks.push_back(&call_stack_of(StackId{holder.stack}));
  const std::vector<std::optional<std::size_t>> differing = differing_frames(stacks);
  for (std::size_t i = 0; i < all.size(); ++i)
    process.holders.push_back(
      {name_of_stack(*stacks[i], differing[i]), all[i].bytes, all[i].blocks, all[i].growth});
}

void LiveView::add_ranges(LiveProcess& process) {
  const Ranges& ranges = follower_.model().ranges();
  if (!ranges.any()) return;
  std::map<Ranges::Path, LiveHolder> by_path;
  follower_.heap().for_each_live([&](const Block& block) {
    if (!is_device_memory(block)) return;
    LiveHolder& holder = by_path[ranges.path_of_allocation(block)];
    holder.bytes += block.bytes;
    ++holder.blocks;
  });
  for (auto& [path, holder] : by_path) {
    holder.name = path == 0 ? "no range" : ranges.text(path);
    process.ranges.push_back(std::move(holder));
  }
  keep_largest(process.ranges);
}

void LiveView::add_findings(LiveProcess& process) {
  for (ReportedFinding& finding :
       reported_findings(follower_.take_findings(), symbols_, suppressions_)) {
    errors_ += finding.severity == Severity::kError ? 1 : 0;
    warnings_ += finding.severity == Severity::kWarning ? 1 : 0;
    findings_.insert(findings_.begin(), std::move(finding));
  }
  if (findings_.size() > kMostFindings) findings_.resize(kMostFindings);
  process.findings = findings_;
  process.errors = errors_;
  process.warnings = warnings_;
}

LiveProcess LiveView::figures(const HolderChoice& choice) {
  LiveProcess process;
  process.info = follower_.trace().info;
  process.trace = follower_.trace().path.string();
  process.has_ended = follower_.has_ended();
  process.totals = follower_.totals();
  process.failures = follower_.failures();
  process.allocations_before = is_first_ ? process.totals.allocations : allocations_before_;
  allocations_before_ = process.totals.allocations;
  process.memory = memory_of(follower_.heap().use());
  process.kinds = live_kinds(follower_.heap().use());
  add_holders(process, choice);
  add_ranges(process);
  add_findings(process);
  is_first_ = false;
  return process;
}

} // namespace gmt
