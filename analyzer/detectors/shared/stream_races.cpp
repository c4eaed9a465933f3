// SPDX-License-Identifier: Apache-2.0
// Which pairs are races, and their words: see stream_races.h.
//
// The bytes of copies and sets are known. Of a kernel it is known where its pointer leads, and not
// how far from there it goes: several kernels may each work on a part of one buffer. So a kernel
// meets a call for certain only if the call uses all that lies behind the pointer, or if the kernel
// begins at its pointer wherever it runs and the other begins there, too. The simulated device says
// which bytes kernels used: then they are as certain as copies.

#include "analyzer/detectors/shared/stream_races.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/rows_overlap.h"

namespace gmt {

struct StreamRaces::Conflict {
  bool is_race = false;
  Severity severity = Severity::kError;
  bool earlier_writes = false, later_writes = false;
};

namespace {

using ptx::PointerUse;

// What the work does with its memory; nothing if that is not known.
std::optional<PointerUse> use_of(const MemoryWork& work, const PointerUses* of_kernel) {
  if (!work.is_kernel()) return PointerUse{!work.writes, work.writes, false};
  if (of_kernel == nullptr || work.parameter >= of_kernel->size()) return std::nullopt;
  const PointerUse& use = (*of_kernel)[work.parameter];
  if (!use.is_read && !use.is_written) return std::nullopt;
  return use;
}

// Where they wait for each other, if they do.
bool may_be_ordered(const MemoryWork& one, const MemoryWork& other,
                    const std::optional<Meeting>& meeting) {
  if (meeting && !meeting->is_certain) return false; // that is said
  const auto talks = [](const MemoryWork& work, const MemoryWork& with) {
    return work.launch != nullptr && work.launch->talks_with.contains(with.work.stream);
  };
  return talks(one, other) || talks(other, one);
}

bool uses_rest_of_block(const Rows& rows, std::uint64_t from, std::uint64_t end) {
  const bool is_flat = rows.count() == 1 || rows.pitch == rows.width;
  return is_flat && rows.address <= from && rows.address + rows.width * rows.count() >= end;
}

} // namespace

void StreamRaces::add(const MemoryWork& earlier, const MemoryWork& later, const Block& block,
                      const std::optional<Meeting>& meeting) {
  using Site = std::array<std::uint64_t, 3>;
  Site sites[] = {{earlier.api, earlier.stack.value, earlier.function ^ earlier.kernel},
                  {later.api, later.stack.value, later.function ^ later.kernel}};
  std::ranges::sort(sites);
  Key key{block.allocated.value};
  std::ranges::copy(sites[1], std::ranges::copy(sites[0], key.begin() + 1).out);
  std::uint64_t count = 1;
  if (const auto at = candidates_.find(key); at != candidates_.end()) {
    ++at->second.count;
    const std::optional<Meeting>& known = at->second.meeting;
    if (!meeting || (known && (known->is_certain || !meeting->is_certain))) return;
    count = at->second.count;
    candidates_.erase(at); // it is known better now
  }
  if (candidates_.size() == kMostCandidates) {
    ++left_out_;
    return;
  }
  candidates_.emplace(key, Candidate{.earlier = side_of(earlier),
                                     .later = side_of(later),
                                     .memory = describe_block(block, facts_),
                                     .allocated = allocation_stack(block, facts_),
                                     .block_bytes = block.bytes,
                                     .block_end = block.address + block.bytes,
                                     .meeting = meeting,
                                     .count = count});
}

// A handle may be another function's later: its name is taken now.
StreamRaces::Side StreamRaces::side_of(const MemoryWork& work) const {
  if (work.kernel != 0)
    return {work, clock_.name(work.work.stream), std::string(facts_.text(work.kernel))};
  const Kernel* kernel = work.is_kernel() ? facts_.kernel(work.function) : nullptr;
  return {work, clock_.name(work.work.stream), kernel != nullptr ? kernel->name : ""};
}

void StreamRaces::report(const FindPointerUses& find_uses, Findings& findings) {
  const Uses uses = uses_of_kernels(find_uses);
  report_unknown(uses, findings);
  report_talks(findings);
  for (const auto& [key, candidate] : candidates_) {
    const Conflict conflict = conflict_of(candidate, uses);
    if (may_be_ordered(candidate.earlier.work, candidate.later.work, candidate.meeting)) continue;
    if (conflict.is_race && !is_of_libraries(candidate))
      findings.add(describe(candidate, conflict));
  }
}

// Kernels that meet where both use atomics may order there what they do elsewhere.
void StreamRaces::report_talks(Findings& findings) const {
  std::uint64_t pairs = 0;
  for (const auto& [key, candidate] : candidates_) {
    if (may_be_ordered(candidate.earlier.work, candidate.later.work, candidate.meeting)) ++pairs;
  }
  if (pairs == 0) return;
  findings.not_checked(
    {"stream-race", cat({"work on two streams used the same memory by atomics or volatile "
                         "accesses, by which it may have waited: ",
                         format_plural(pairs, "pair"), " of calls may be ordered or not"})});
}

// Silence must not look like health where no PTX says what a kernel does.
void StreamRaces::report_unknown(const Uses& uses, Findings& findings) const {
  std::set<std::string> kernels;
  std::uint64_t pairs = 0;
  for (const auto& [key, candidate] : candidates_) {
    if (is_of_libraries(candidate)) continue;
    bool is_unknown = false;
    for (const Side* side : {&candidate.earlier, &candidate.later}) {
      const auto at = uses.find(side->kernel);
      if (!side->work.is_inferred() || (at != uses.end() && !at->second.empty())) continue;
      kernels.insert(side->kernel);
      is_unknown = true;
    }
    pairs += is_unknown ? 1 : 0;
  }
  if (pairs == 0) return;
  findings.not_checked(
    {"stream-race", cat({"of ", format_plural(kernels.size(), "kernel"),
                         " no PTX was found in the program's files, and so not what they do with ",
                         "memory that other streams use at the same time: ",
                         format_plural(pairs, "pair"), " of calls"})});
}

// Both calls are libraries' own, which may know more of their kernels than their PTX says. Copies
// and sets that lines of Python ask PyTorch for are the program's.
bool StreamRaces::is_of_libraries(const Candidate& candidate) const {
  const MemoryWork &earlier = candidate.earlier.work, &later = candidate.later.work;
  const Caller of_earlier = facts_.caller(earlier.stack), of_later = facts_.caller(later.stack);
  if (of_earlier.owner.empty() || of_later.owner.empty()) return false;
  const bool is_known = !earlier.is_inferred() && !later.is_inferred();
  return !is_known || !of_earlier.has_python || !of_later.has_python;
}

StreamRaces::Uses StreamRaces::uses_of_kernels(const FindPointerUses& find_uses) const {
  std::set<std::string> kernels;
  for (const auto& [key, candidate] : candidates_) {
    for (const Side* side : {&candidate.earlier, &candidate.later}) {
      if (side->work.is_inferred() && !side->kernel.empty()) kernels.insert(side->kernel);
    }
  }
  Uses uses;
  if (kernels.empty() || !find_uses) return uses;
  const std::vector<std::string> names(kernels.begin(), kernels.end());
  std::vector<PointerUses> found = find_uses(names);
  for (std::size_t i = 0; i < names.size() && i < found.size(); ++i)
    uses[names[i]] = std::move(found[i]);
  return uses;
}

StreamRaces::Conflict StreamRaces::conflict_of(const Candidate& candidate, const Uses& uses) {
  const MemoryWork& a = candidate.earlier.work;
  const MemoryWork& b = candidate.later.work;
  if (candidate.meeting) {
    const Meeting& meeting = *candidate.meeting;
    const bool is_error = meeting.is_certain && !a.may_outlast_call;
    return {true, is_error ? Severity::kError : Severity::kWarning, meeting.earlier_writes,
            meeting.later_writes};
  }
  const auto of = [&uses](const Side& side) {
    const auto at = uses.find(side.kernel);
    return use_of(side.work, at == uses.end() ? nullptr : &at->second);
  };
  const std::optional<PointerUse> of_a = of(candidate.earlier), of_b = of(candidate.later);
  Conflict conflict;
  if (!of_a || !of_b || (!of_a->is_written && !of_b->is_written)) return conflict;
  conflict.earlier_writes = of_a->is_written;
  conflict.later_writes = of_b->is_written;
  if (!a.is_kernel() && !b.is_kernel()) {
    conflict.is_race = true;
  } else if (a.is_kernel() && b.is_kernel()) {
    conflict.is_race =
      a.rows.address == b.rows.address && of_a->is_by_position && of_b->is_by_position;
    conflict.severity = Severity::kWarning;
  } else {
    const MemoryWork& kernel = a.is_kernel() ? a : b;
    const MemoryWork& call = a.is_kernel() ? b : a;
    const PointerUse& use = a.is_kernel() ? *of_a : *of_b;
    const std::uint64_t pointer = kernel.rows.address;
    const bool is_certain = uses_rest_of_block(call.rows, pointer, candidate.block_end);
    const bool begins_there = use.is_by_position && call.rows.address == pointer;
    conflict.is_race = is_certain || begins_there;
    if (!is_certain || use.is_read == use.is_written) conflict.severity = Severity::kWarning;
  }
  if (a.may_outlast_call) conflict.severity = Severity::kWarning;
  return conflict;
}

std::string_view StreamRaces::verb_of(const MemoryWork& work, bool writes) {
  if (work.allocates()) return "allocates";
  if (work.frees()) return "frees";
  return writes ? "writes" : "reads";
}

Text StreamRaces::words_of(const Side& side) const {
  if (side.work.is_of_graph && side.work.allocates())
    return {"an allocation node of a graph on ", side.stream};
  if (side.work.is_of_graph && side.work.frees())
    return {"a free node of a graph on ", side.stream};
  if (side.work.is_of_graph && !side.work.is_kernel())
    return {"a copy or set of a graph on ", side.stream};
  if (side.work.is_of_graph) return {kernel_words(side.kernel), " of a graph on ", side.stream};
  if (side.work.is_kernel()) return {kernel_words(side.kernel), " on ", side.stream};
  return {CallName{facts_.api_name(side.work.api)}, " on ", side.stream};
}

Finding StreamRaces::describe(const Candidate& candidate, const Conflict& conflict) const {
  const MemoryWork& earlier = candidate.earlier.work;
  const MemoryWork& later = candidate.later.work;
  const std::string& earlier_stream = candidate.earlier.stream;
  const std::string& later_stream = candidate.later.stream;
  const std::string_view name = facts_.api_name(later.api);
  const bool runtime = is_runtime_name(name);
  Finding f;
  f.kind = "stream-race";
  f.severity = conflict.severity;
  f.api = name;
  f.address = candidate.meeting ? candidate.meeting->address : later.rows.address;
  f.bytes = later.is_kernel() || later.is_exact() ? 0 : later.rows.width * later.rows.count();
  f.count = candidate.count;
  const bool is_part = f.bytes != 0 && f.bytes < candidate.block_bytes;
  f.message = {words_of(candidate.later),
               " ",
               verb_of(later, conflict.later_writes),
               " ",
               is_part ? format_bytes(f.bytes) + " of " : "",
               candidate.memory,
               ", which ",
               words_of(candidate.earlier),
               " ",
               verb_of(earlier, conflict.earlier_writes),
               ", and nothing orders the two"};
  const ApiWord wait{runtime, "cuStreamSynchronize", "cudaStreamSynchronize"};
  if (earlier.may_outlast_call) {
    f.message +=
      {"; that call copies from pageable memory and may return before all bytes have arrived"};
    f.advice = {"Call ",
                wait,
                " for ",
                earlier_stream,
                " behind the copy, or copy with ",
                ApiWord{runtime, "cuMemcpyHtoDAsync", "cudaMemcpyAsync"},
                " on ",
                later_stream,
                "."};
  } else if (earlier.is_of_graph && earlier.work.order == later.work.order) {
    if (earlier.frees() || later.frees()) f.advice = {"Let the free node depend on the other."};
    else if (earlier.allocates() || later.allocates())
      f.advice = {"Let the other node depend on the allocation node."};
    else f.advice = {"Let one of the two nodes depend on the other."};
  } else {
    f.advice = {"Call ",
                ApiWord{runtime, "cuEventRecord", "cudaEventRecord"},
                " on ",
                earlier_stream,
                " behind the earlier one and ",
                ApiWord{runtime, "cuStreamWaitEvent", "cudaStreamWaitEvent"},
                " on ",
                later_stream,
                " before the later one; or wait for ",
                earlier_stream,
                " with ",
                wait,
                "."};
    const bool is_inferred = conflict.severity == Severity::kWarning && !candidate.meeting;
    if (candidate.meeting && !candidate.meeting->is_certain)
      f.advice += " It is no mistake if both store the same flag, or if one polls the other.";
    if (is_inferred) f.advice += " It is no mistake if each of them works on a part of its own.";
  }
  f.stacks.push_back(
    stack_as(later.is_kernel() ? StackRole::kLaunched : StackRole::kUsed, later.stack, name));
  f.stacks.push_back(stack_as(earlier.is_kernel() ? StackRole::kLaunched : StackRole::kUsed,
                              earlier.stack, facts_.api_name(earlier.api), StackOrder::kFirst));
  f.stacks.push_back(candidate.allocated);
  return f;
}

} // namespace gmt
