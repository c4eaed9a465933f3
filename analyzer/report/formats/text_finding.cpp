// SPDX-License-Identifier: Apache-2.0
// One finding as text, and the line that sums all of them up. See text_layout.h.
//
//   error    double-free             2 times
//     What happened.
//     in range epoch 2 / forward
//       freed again here     train.cu:88   release_all()
//                            train.cu:120  main
//       allocated here       train.cu:40   setup()
//     What to do.
#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/symbols/demangle.h"

namespace gmt::text {
namespace {

// Longer ones push their own line's function to the right
constexpr std::size_t kWidestLocation = 44;
constexpr std::size_t kNarrowestFunction = 24;
constexpr std::size_t kStackIndent = 4;
// Of what a library does for itself, unless another number is asked for
constexpr unsigned kFramesOfLibraries = 6;

std::string_view severity_word(Severity severity) {
  switch (severity) {
  case Severity::kError: return "error";
  case Severity::kWarning: return "warning";
  case Severity::kNote: break;
  }
  return "note";
}

std::string_view severity_color(Severity severity) {
  switch (severity) {
  case Severity::kError: return "\033[1;31m";
  case Severity::kWarning: return "\033[1;33m";
  case Severity::kNote: break;
  }
  return "\033[1;36m";
}

// The call belongs beside the label unless the sentence above names it.
std::string label_of(const LabelledStack& stack) {
  const bool shows_call = stack.shows_call && !stack.api.empty();
  return printable(shows_call ? stack.label + ", " + stack.api : stack.label);
}

// How a finding's stacks are shown: with so many frames of each (0: all), or folded to as many
// rows.
struct StackForm {
  unsigned depth = 0;
  bool is_folded = false;
};

std::vector<ShownFrames> rows_of(const LabelledStack& stack, StackForm form) {
  std::vector<ShownFrames> rows;
  if (form.is_folded) {
    rows = shown_frames(stack.frames);
  } else {
    for (std::size_t i = 0; i < stack.frames.size(); ++i) rows.push_back({i, 1, {}});
  }
  if (form.depth != 0 && form.depth < rows.size()) rows.resize(form.depth);
  return rows;
}

// Which thread it was, below its frame: "launch 3 of step(int*), block (0, 1, 0), thread (31, 0,
// 0)".
std::string device_thread(const LabelledStack& stack) {
  const auto index = [](const std::array<std::uint32_t, 3>& i) {
    return fmt::format("({}, {}, {})", i[0], i[1], i[2]);
  };
  const DeviceThread& thread = *stack.device;
  const bool in_kernel = std::ranges::any_of(
    stack.frames, [&thread](const Frame& frame) { return frame.function == thread.kernel; });
  std::string text = thread.launch != 0 ? fmt::format("launch {}", thread.launch) : "";
  if (!thread.kernel.empty() && !in_kernel) {
    const std::string name = printable(shorten_function(thread.kernel, kNarrowestFunction));
    text += (text.empty() ? "in " : " of ") + name;
  }
  if (!thread.block || !thread.thread) return text;
  return fmt::format("{}{}block {}, thread {}", text, text.empty() ? "" : ", ",
                     index(*thread.block), index(*thread.thread));
}

void add_stack(std::string& out, const LabelledStack& stack, const std::string& label,
               std::size_t label_width, std::size_t location_width, StackForm form,
               const std::string& folder) {
  const std::size_t frames_at = kStackIndent + label_width;
  out.append(kStackIndent, ' ');
  if (stack.frames.empty()) {
    out += pad(label, label_width) + "(no call stack was recorded)\n";
    return;
  }
  out += pad(label, label_width);
  std::size_t count = 0;
  for (const ShownFrames& row : rows_of(stack, form)) {
    if (count > 0) out.append(frames_at, ' ');
    count = row.first + row.count;
    if (!row.of.empty()) {
      out += fmt::format("({} of {})\n", format_plural(row.count, "frame"), printable(row.of));
      continue;
    }
    const Frame& frame = stack.frames[row.first];
    const std::string where = location(frame, folder);
    const std::size_t at = frames_at + std::max(columns(where), location_width) + 2;
    const std::size_t room = at + kNarrowestFunction < kWidth ? kWidth - at : kNarrowestFunction;
    const std::string function = printable(shorten_function(frame.function, room));
    out += (function.empty() ? where : pad(where, location_width) + "  " + function) + "\n";
  }
  if (const std::string thread = stack.device ? device_thread(stack) : ""; !thread.empty()) {
    out.append(frames_at, ' ').append(thread + "\n");
  }
  if (const std::size_t more = stack.frames.size() - count; more != 0) {
    out.append(frames_at, ' ')
      .append(fmt::format("({} not shown)\n", format_plural(more, "outer frame")));
  }
}

void add_stacks(std::string& out, const ReportedFinding& finding, StackForm form) {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  std::vector<std::string> labels;
  std::size_t label_width = 0, location_width = 0;
  for (const LabelledStack& stack : finding.stacks) {
    label_width = std::max(label_width, columns(labels.emplace_back(label_of(stack))));
    for (const ShownFrames& row : rows_of(stack, form)) {
      const std::size_t width = columns(location(stack.frames[row.first], folder));
      if (!row.of.empty()) continue;
      if (width <= kWidestLocation) location_width = std::max(location_width, width);
    }
  }
  for (std::size_t i = 0; i < finding.stacks.size(); ++i) {
    add_stack(out, finding.stacks[i], labels[i], label_width + 3, location_width, form, folder);
  }
}

struct KindSum {
  std::string kind;
  std::uint64_t findings = 0, bytes = 0;
};

// "(1 double-free, 2 leaks 64.0 MiB)" for errors and warnings, in the order of the report.
std::string kinds_in_brief(const Report& report) {
  std::vector<KindSum> sums;
  for (const ReportedFinding& finding : report.findings) {
    if (finding.severity == Severity::kNote) continue;
    auto at = std::find_if(sums.begin(), sums.end(),
                           [&](const KindSum& s) { return s.kind == finding.kind; });
    if (at == sums.end()) at = sums.insert(sums.end(), {finding.kind, 0, 0});
    ++at->findings;
    if (finding.measure == Measure::kLostBlocks) at->bytes += finding.bytes;
  }
  std::string text;
  for (const KindSum& sum : sums) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", sum.findings, sum.kind);
    if (sum.bytes != 0) text += " " + format_bytes(sum.bytes);
  }
  return text.empty() ? "" : " (" + text + ")";
}

} // namespace

std::string finding_text(const ReportedFinding& finding, unsigned stack_depth, bool color) {
  const std::string_view word = severity_word(finding.severity);
  std::string out =
    color ? fmt::format("{}{}\033[0m", severity_color(finding.severity), word) : std::string(word);
  out.append(9 - word.size(), ' ');
  const std::string much = amount(finding);
  out += (much.empty() ? printable(finding.kind) : pad(printable(finding.kind), 22) + "  " + much) +
         "\n";
  if (!finding.message.empty()) out += wrap(printable(finding.message), 2, 2);
  if (!finding.range.empty()) {
    out += wrap(
      cat({finding.count > 1 ? "first in range " : "in range ", printable(finding.range)}), 4, 2);
  }
  if (!finding.shared.empty()) out += wrap(printable(finding.shared), 4, 2);
  const bool is_library_own = !finding.owner.empty() && !finding.fault && stack_depth == 0;
  add_stacks(out, finding, {is_library_own ? kFramesOfLibraries : stack_depth, stack_depth == 0});
  if (finding.held) out += held_text(*finding.held);
  if (!finding.advice.empty()) out += wrap(printable(finding.advice), 2, 2);
  return out;
}

namespace {

// How the program ended, if not well.
std::string end_of(const Report& report) {
  for (const Failure& failure : report.conclusion.failures) {
    if (failure.reason == Failure::Reason::kProgram || failure.reason == Failure::Reason::kRunTime)
      return "; " + failure.brief;
  }
  return {};
}

} // namespace

std::string summary(const Report& report) {
  using Reason = Failure::Reason;
  const Conclusion& conclusion = report.conclusion;
  if (const Failure* failure = conclusion.find(Reason::kUnchecked); failure != nullptr)
    return "SUMMARY: gpumemtrace: nothing was checked: " + printable(failure->brief) +
           end_of(report);
  if (report.no_cuda_calls && conclusion.find(Reason::kIncomplete) != nullptr)
    return "SUMMARY: gpumemtrace: nothing was checked" + end_of(report);
  if (report.no_cuda_calls)
    return "SUMMARY: gpumemtrace: no CUDA call was seen, nothing was checked" + end_of(report);
  const std::uint64_t errors = report.count(Severity::kError),
                      warnings = report.count(Severity::kWarning);
  const std::uint64_t notes = report.count(Severity::kNote);
  std::string line =
    "SUMMARY: gpumemtrace: " + (errors == 0 ? "no errors" : format_plural(errors, "error"));
  if (warnings != 0) line += ", " + format_plural(warnings, "warning");
  if (notes != 0) line += ", " + format_plural(notes, "note");
  line += kinds_in_brief(report);
  std::uint64_t lost = 0;
  for (const ProcessReport& process : report.processes) lost += process.lost_events();
  if (report.suppressed != 0)
    line += fmt::format("; {} suppressed", format_count(report.suppressed));
  if (report.in_baseline != 0)
    line += fmt::format("; {} in the baseline", format_count(report.in_baseline));
  if (lost != 0) line += fmt::format("; {} lost", format_plural(lost, "event"));
  if (const Failure* failure = conclusion.find(Reason::kIncomplete); failure != nullptr)
    line += "; " + failure->brief;
  if (const std::string launches =
        conclusion.launches ? launches_in_brief(*conclusion.launches) : std::string();
      !launches.empty())
    line += "; " + launches;
  return line + end_of(report);
}

} // namespace gmt::text
