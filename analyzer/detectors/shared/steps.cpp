// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/steps.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace gmt {
namespace {

constexpr std::uint64_t kFewestSteps = 8; // less often is no loop

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "step *" of "step 17".
std::string without_numbers(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_digit(name[i])) text += name[i];
    else if (i == 0 || !is_digit(name[i - 1])) text += '*';
  }
  return text;
}

} // namespace

void Steps::make_room(StackId stack) { stacks_.resize(stack.value + std::size_t{1}); }

void Steps::on_optimizer(std::uint32_t optimizer, std::uint64_t order) {
  if (optimizer >= optimizer_steps_.size()) optimizer_steps_.resize(optimizer + std::size_t{1});
  optimizer_steps_[optimizer].add(order);
}

void Steps::on_range(const Event& e, const Ranges& ranges) {
  unsigned& open = open_ranges_[e.thread];
  switch (e.range().op) {
  case trace::RangeOp::kPush: {
    const unsigned depth = open++;
    if (depth >= kRangeDepths) break;
    const std::string name = ranges.name_of(e);
    ranges_[depth][name].add(e.order);
    if (std::ranges::any_of(name, is_digit))
      numbered_ranges_[depth][without_numbers(name)].add(e.order);
    break;
  }
  case trace::RangeOp::kPop: open = static_cast<unsigned>(e.range().id); break; // that stay open
  default: break;
  }
}

bool Steps::is_all_through(const Stack& stack) const {
  return stack.count >= kFewestSteps && stack.last - stack.first >= last_order_ / 2;
}

// The whole program may be a range, and each epoch.
Steps::Found Steps::find_range() const {
  Found found;
  for (std::size_t depth = 0; depth < kRangeDepths && found.count == 0; ++depth) {
    for (const RangesByName* ranges : {&ranges_[depth], &numbered_ranges_[depth]}) {
      for (const auto& [name, range] : *ranges) {
        std::string of = "range " + name;
        const bool is_more =
          range.count > found.count || (range.count == found.count && of < found.of);
        if (is_more && is_all_through(range)) found = {range.count, range.orders(), std::move(of)};
      }
      if (found.count != 0) break;
    }
  }
  return found;
}

// Stacks that come back all through the program, once a step or a fixed number of times.
Steps::Found Steps::find() const {
  Found found = find_range();
  if (found.count != 0) return found;
  for (std::uint32_t i = 0; i < optimizer_steps_.size(); ++i) {
    const Stack& steps = optimizer_steps_[i];
    if (steps.count > found.count && is_all_through(steps))
      found = {steps.count, steps.orders(), optimizers_.name(i)};
  }
  if (found.count != 0) return found;
  struct Alike {
    unsigned stacks = 0;
    const Stack* example = nullptr;
  };
  std::map<std::uint64_t, Alike> all; // by count
  for (const Stack& stack : stacks_) {
    if (!is_all_through(stack)) continue;
    Alike& alike = all[stack.count];
    ++alike.stacks;
    alike.example = &stack;
  }
  // A step has loops in it, whose stacks come back more often. What is done now and then, as an
  // evaluation, has few stacks.
  unsigned most = 0;
  for (const auto& [count, alike] : all) most = std::max(most, alike.stacks);
  const auto step =
    std::ranges::find_if(all, [most](const auto& each) { return 4 * each.second.stacks >= most; });
  if (step != all.end()) found = {step->first, step->second.example->orders(), {}};
  return found;
}

} // namespace gmt
