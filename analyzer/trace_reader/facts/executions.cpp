// SPDX-License-Identifier: Apache-2.0
// See executions.h. Totals come several times, each of the process so far: the last one counts.

#include "analyzer/trace_reader/facts/executions.h"

#include <algorithm>

#include "analyzer/base/text_format.h"

namespace gmt {

namespace {

using trace::ExecutionOp;

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
           other.line == one.line;
  });
  if (known == all.left_out.end()) all.left_out.push_back(std::move(one));
  else ++known->launches;
}

} // namespace

void ExecutionFacts::follow(const Event& e,
                            const std::function<std::string_view(std::uint64_t)>& text) {
  const trace::ExecutionView view(e);
  const auto op = static_cast<ExecutionOp>(view.op());
  executions_.any = true;
  switch (op) {
  case ExecutionOp::kNotRun:
  case ExecutionOp::kStopped:
  case ExecutionOp::kNotSelected:
    add_left_out(executions_, {.op = op,
                               .kernel = std::string(text(view.kernel())),
                               .reason = std::string(text(view.reason())),
                               .instruction = std::string(text(view.instruction())),
                               .line = innermost(text(view.lines())),
                               .launches = 1});
    break;
  case ExecutionOp::kTotals:
    executions_.launches = view.launches();
    executions_.ran = view.ran();
    executions_.skipped = view.skipped();
    executions_.stopped = view.stopped();
    executions_.thread_instructions = view.instructions();
    executions_.nanoseconds = view.nanoseconds();
    break;
  case ExecutionOp::kFeature: {
    std::string feature(text(view.feature()));
    const bool is_exact = (e.flags & trace::kExecutionExact) != 0;
    if (!is_exact &&
        std::ranges::find(executions_.approximate, feature) == executions_.approximate.end())
      executions_.approximate.push_back(std::move(feature));
    break;
  }
  default: break;
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
