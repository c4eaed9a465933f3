// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/order_mistakes.h"

#include <string>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {

void OrderMistakes::add(const Found& found) {
  const auto& [mistake, call, allocated_at, use, block] = found;
  const Key key{static_cast<std::uint64_t>(mistake) << 32 | call.api,
                call.stack.value,
                use.stack.value,
                std::uint64_t{block.allocated.value} << 16 | block.api,
                use.neighbour_parameter,
                use.function};
  const auto [at, is_new] = found_.try_emplace(key);
  if (is_new) {
    at->second = describe(found);
  } else {
    ++at->second.count;
    at->second.bytes += block.bytes;
  }
}

void OrderMistakes::report(const Heap& heap, Findings& findings) {
  for (auto& [key, finding] : found_) {
    const bool is_end = key[4] != 0 && heap.takes_end(key[5], static_cast<unsigned>(key[4] - 1));
    if (!is_end) findings.add(std::move(finding));
  }
}

Finding OrderMistakes::describe(const Found& found) const {
  const auto& [mistake, call, allocated_at, use, block] = found;
  const std::string_view name = facts_.api_name(call.api);
  const bool runtime = is_runtime_name(name);
  const Text what = describe_block(block, facts_);
  const std::string here =
    call.work.stream == StreamClock::kNoStream ? "" : clock_.name(call.work.stream);
  const bool before = is_before_allocation(mistake);
  const std::string there = clock_.name(before ? allocated_at.stream : use.work.stream);
  const Text record{ApiWord{runtime, "cuEventRecord", "cudaEventRecord"}, " on ", there};
  const Text wait{ApiWord{runtime, "cuStreamWaitEvent", "cudaStreamWaitEvent"}, " on ", here};
  Finding f;
  f.kind = "stream-order";
  f.api = name;
  f.bytes = block.bytes;
  f.address = block.address;
  f.group = std::to_string(static_cast<unsigned>(mistake));
  f.stacks.push_back(stack_as(
    mistake == OrderMistake::kUsedEarly ? StackRole::kUsed : StackRole::kFreed, call.stack, name));
  if (before) {
    // The stream stands beside the call: behind the memory it would read as the allocation's.
    f.message = {CallName{name}, " on ",
                 here,           mistake == OrderMistake::kUsedEarly ? " uses " : " frees ",
                 what,           ", but it was allocated on ",
                 there,          " and nothing orders the two"};
    const std::string_view needed =
      mistake == OrderMistake::kUsedEarly
        ? " behind the last work there whose result this call needs, at the earliest behind the "
          "allocation, and "
        : " behind the last use there, and ";
    f.advice = {"Call ", record, needed, wait, " before this call."};
  } else if (mistake == OrderMistake::kFreedInUse) {
    f.message = {
      CallName{name}, " on ",   here,  " frees ",
      what,           ", but ", there, " uses it and nothing orders that use before the free"};
    f.advice = {
      "Free it on ",      there, ", or call ", record, " after its last use there and ", wait,
      " before the free."};
  } else {
    f.message = {
      CallName{name}, " frees ",
      what,           " at once, but ",
      there,          " may still be using it: this call does not wait for stream-ordered memory"};
    f.advice = {"Call ",         ApiWord{runtime, "cuMemFreeAsync", "cudaFreeAsync"},
                " on ",          there,
                " instead, or ", ApiWord{runtime, "cuStreamSynchronize", "cudaStreamSynchronize"},
                " before it."};
  }
  if (use.neighbour_parameter != 0) {
    f.severity = Severity::kWarning;
    f.group += " or neighbour";
    f.message += {"; unless the kernel's parameter ", std::to_string(use.neighbour_parameter),
                  " is only ", use.other};
    f.advice += " It is no mistake if the kernel reads nothing there.";
  }
  if (!before) f.stacks.push_back(stack_as(StackRole::kUsed, use.stack, facts_.api_name(use.api)));
  f.stacks.push_back(allocation_stack(block, facts_));
  return f;
}

} // namespace gmt
