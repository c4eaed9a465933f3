// SPDX-License-Identifier: Apache-2.0
// Totals come several times, each of the process so far: the last one counts.

#include "analyzer/trace_reader/facts/executions.h"

#include <algorithm>

#include "analyzer/base/text_format.h"

namespace gmt {

namespace {

using trace::ExecutionOp;
using Difference = Executions::Feature::Difference;

// The innermost line of "number<tab>function<tab>file" lines, as "file:number".
std::string innermost(std::string_view lines) {
  const std::string_view first = lines.substr(0, lines.find('\n'));
  const std::size_t number = first.find('\t');
  const std::size_t function = number == first.npos ? first.npos : first.find('\t', number + 1);
  if (function == first.npos || function + 1 == first.size()) return {};
  return std::string(first.substr(function + 1)) + ":" + std::string(first.substr(0, number));
}

void add_left_out(Executions& all, Executions::LeftOut one) {
  const auto known = std::ranges::find_if(all.left_out, [&](const Executions::LeftOut& other) {
    return other.op == one.op && other.kernel == one.kernel && other.reason == one.reason &&
           other.line == one.line && other.as_asked == one.as_asked;
  });
  if (known == all.left_out.end()) all.left_out.push_back(std::move(one));
  else ++known->launches;
}

void add_unchecked(std::vector<Executions::Unchecked>& all, std::string_view kernel,
                   std::string_view reason, std::uint64_t launches) {
  const auto known = std::ranges::find_if(all, [&](const Executions::Unchecked& one) {
    return one.kernel == kernel && one.reason == reason;
  });
  if (known != all.end()) known->launches += launches;
  else all.push_back({std::string(kernel), std::string(reason), launches});
}

Difference difference_of(std::string_view feature) {
  if (feature.starts_with("atom.") || feature.starts_with("red.")) return Difference::kOrder;
  return feature.find(" and ") != feature.npos ? Difference::kJoined : Difference::kLastBits;
}

void set_feature(Executions& all, std::string_view name, std::uint64_t instructions,
                 std::uint64_t launches) {
  auto known = std::ranges::find(all.features, name, &Executions::Feature::name);
  if (known == all.features.end())
    known =
      all.features.insert(known, {.name = std::string(name), .difference = difference_of(name)});
  known->instructions = instructions;
  known->launches = launches;
}

} // namespace

std::uint64_t Executions::exact_instructions() const {
  std::uint64_t others = 0;
  for (const Feature& feature : features) others += feature.instructions;
  return thread_instructions - std::min(thread_instructions, others);
}

std::uint64_t Executions::launches_left_out(trace::ExecutionOp op) const {
  std::uint64_t sum = 0;
  for (const LeftOut& one : left_out) sum += one.op == op ? one.launches : 0;
  return sum;
}

void ExecutionFacts::follow(const Event& e,
                            const std::function<std::string_view(std::uint64_t)>& text) {
  const event::Execution& view = e.execution();
  const auto op = static_cast<ExecutionOp>(view.op);
  if (op == ExecutionOp::kUnchecked)
    return add_unchecked(executions_.unchecked, text(view.kernel), text(view.reason),
                         view.launches());
  executions_.any = true;
  switch (op) {
  case ExecutionOp::kNotRun:
  case ExecutionOp::kStopped:
  case ExecutionOp::kNotSelected:
    add_left_out(executions_,
                 {.op = op,
                  .kernel = std::string(text(view.kernel)),
                  .reason = std::string(text(view.reason)),
                  .instruction = std::string(text(view.instruction)),
                  .line = innermost(text(view.lines)),
                  .launches = 1,
                  .as_asked = op == ExecutionOp::kNotSelected || e.execution().is_as_asked});
    break;
  case ExecutionOp::kTotals:
    executions_.launches = view.launches();
    executions_.ran = view.ran;
    executions_.skipped = view.skipped;
    executions_.stopped = view.stopped;
    executions_.thread_instructions = view.instructions;
    executions_.nanoseconds = view.nanoseconds;
    executions_.seed = view.seed();
    executions_.threads = view.threads();
    executions_.late = view.late();
    break;
  case ExecutionOp::kFeature:
    if (!e.execution().is_exact)
      set_feature(executions_, text(view.feature()), view.instructions, view.launches());
    break;
  case ExecutionOp::kRunOver: executions_.run_over = true; break;
  case ExecutionOp::kRacesLeftOut:
    add_unchecked(executions_.without_races, text(view.kernel), text(view.reason), 1);
    break;
  default: break;
  }
}

std::string_view in_words(Difference difference) {
  switch (difference) {
  case Difference::kOrder: return "a GPU may add in another order";
  case Difference::kJoined: return "a GPU may round once, as fma does";
  default: return "a GPU's last bits may differ";
  }
}

std::string in_words(const Executions::LeftOut& left_out) {
  const bool one = left_out.launches == 1;
  std::string text = format_count(left_out.launches) + (one ? " launch" : " launches");
  switch (left_out.op) {
  case ExecutionOp::kStopped:
    text += one ? " was stopped in the middle: " : " were stopped in the middle: ";
    break;
  default: text += one ? " was not run: " : " were not run: "; break;
  }
  text += left_out.reason;
  if (!left_out.line.empty()) text += " (" + left_out.line + ")";
  text += left_out.op == ExecutionOp::kStopped
            ? "; what it writes is only half written"
            : "; what it would have written holds other values, and counts as written";
  return text;
}

} // namespace gmt
