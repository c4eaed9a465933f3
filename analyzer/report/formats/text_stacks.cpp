// SPDX-License-Identifier: Apache-2.0
// The call stacks of a finding as text. Below the first of the program's own frames stands its
// source line, with a caret at the call:
//
//     freed again here   train.cu:88   release_all()
//                         | cudaFree(weights);
//                         | ^~~~~~~~
//                        train.cu:120  main
//     allocated here     train.cu:40   setup()
//
// Where that does not fit, labels have lines of their own, and then functions. A function of the
// program's own that is shortened stands whole below its frame, and a source line that does not fit
// on several lines, each once in a finding.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/source_paths.h"
#include "analyzer/symbols/demangle.h"

namespace gmt::text {
namespace {

namespace fs = std::filesystem;

// Longer ones push their own line's function to the right
constexpr std::size_t kWidestLocation = 44;
constexpr std::size_t kNarrowestFunction = 24, kLongestFunction = 200;
constexpr std::size_t kStackIndent = 4, kBelowLabel = 6;
constexpr std::string_view kGutter = " | ";
constexpr std::size_t kMostCodeLines = 6, kFurtherIn = 4; // of one source line
// Of what a library does for itself, unless another number is asked for
constexpr unsigned kFramesOfLibraries = 6;

constexpr std::string_view kFileColor = "36", kCaretColor = "1;32";

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
    for (std::size_t i = 0; i < stack.frames.size(); ++i) rows.push_back({.first = i});
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

// Leaves the part of the line that has the caret. Returns where the caret is then.
std::size_t cut_around(std::string& text, std::size_t caret, std::size_t length, std::size_t room) {
  constexpr std::string_view kCut = "...";
  caret = std::min(caret, text.size());
  const std::size_t part = room - 2 * kCut.size();
  const std::size_t end = caret + std::min(length, part);
  const std::size_t begin = end > part ? std::min(caret, end - part * 3 / 4) : 0;
  const std::string front(begin != 0 ? kCut : "");
  const bool has_end = text.size() - begin + front.size() <= room;
  text = front + text.substr(begin, has_end ? std::string::npos : part) +
         std::string(has_end ? "" : kCut);
  text = printable(text); // a character may have been cut
  return caret - begin + front.size();
}

// Where a line ends that begins there: behind the last word that fits into so many columns, or
// inside of one that does not fit at all.
std::size_t end_of_line(std::string_view text, std::size_t begin, std::size_t room) {
  std::size_t blank = begin, taken = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const bool begins_character = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins_character && ++taken > room) return text[at] == ' ' || blank == begin ? at : blank;
    if (text[at] == ' ') blank = at;
  }
  return text.size();
}

// A source line on several lines, those behind the first one further in: where each begins, and its
// end. Empty if they are too many.
std::vector<std::pair<std::size_t, std::size_t>> code_lines(std::string_view text,
                                                            std::size_t room) {
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    if (lines.size() == kMostCodeLines) return {};
    const std::size_t end = end_of_line(text, begin, lines.empty() ? room : room - kFurtherIn);
    lines.emplace_back(begin, end);
    begin = std::min(text.find_first_not_of(' ', end), text.size());
  }
  return lines;
}

class StacksText {
public:
  StacksText(const ReportedFinding& finding, StackForm form, const Page& page)
      : finding_(finding), form_(form), page_(page) {
    std::error_code error;
    folder_ = fs::current_path(error).string();
    for (const LabelledStack& stack : finding.stacks) measure(stack);
    // Too many columns before the functions: labels get lines of their own.
    const std::size_t functions = kStackIndent + label_width_ + 3 + location_width_ + 2;
    is_below_label_ = functions + kNarrowestFunction > page.width && page.width < kFileWidth;
    frames_at_ = is_below_label_ ? kBelowLabel : kStackIndent + label_width_ + 3;
  }

  std::string text() {
    for (const LabelledStack& stack : finding_.stacks) add_stack(stack);
    return std::move(out_);
  }

private:
  void measure(const LabelledStack& stack) {
    label_width_ = std::max(label_width_, columns(label_of(stack)));
    for (const ShownFrames& row : rows_of(stack, form_)) {
      if (!row.of.empty()) continue;
      const std::size_t width = columns(location(stack.frames[row.first], folder_));
      if (width <= kWidestLocation) location_width_ = std::max(location_width_, width);
    }
  }

  void add_stack(const LabelledStack& stack) {
    const std::string label = label_of(stack);
    if (is_below_label_) out_ += wrap(label, kStackIndent + 2, kStackIndent, page_.width);
    else out_.append(kStackIndent, ' ').append(pad(label, frames_at_ - kStackIndent));
    is_first_ = !is_below_label_;
    if (stack.frames.empty()) return add_line("(no call stack was recorded)");
    std::size_t count = 0;
    for (const ShownFrames& row : rows_of(stack, form_)) {
      count = std::max(count, row.first + row.count);
      if (!row.of.empty()) {
        const std::string_view which = row.is_innermost ? "inner frame" : "frame";
        add_line(fmt::format("({} of {})", format_plural(row.count, which), printable(row.of)));
        continue;
      }
      add_frame(stack.frames[row.first]);
      if (stack.code && stack.code->frame == row.first) add_code(*stack.code);
    }
    if (const std::string thread = stack.device ? device_thread(stack) : ""; !thread.empty())
      add_line(thread);
    if (const std::size_t more = stack.frames.size() - count; more != 0)
      add_line(fmt::format("({} not shown)", format_plural(more, "outer frame")));
  }

  // Below the label or, the first one of a stack, beside it.
  void add_line(std::string_view line) {
    if (!is_first_) out_.append(frames_at_, ' ');
    is_first_ = false;
    out_.append(line).append("\n");
  }

  void add_frame(const Frame& frame) {
    const std::string where = location(frame, folder_);
    const std::size_t location_width = std::max(columns(where), location_width_);
    const std::size_t at = frames_at_ + location_width + 2;
    const bool has_room = at + kNarrowestFunction <= page_.width;
    const std::size_t narrowest = is_below_label_
                                    ? std::min(kNarrowestFunction, page_.width - frames_at_ - 2)
                                    : kNarrowestFunction;
    const std::size_t room = has_room ? page_.width - at : narrowest;
    const std::string function = shorten_function(frame.function, room);
    const std::string blanks(location_width - columns(where) + 2, ' ');
    const bool is_below =
      is_below_label_ && !has_room && at + columns(function) > page_.width && !function.empty();
    if (function.empty()) add_line(linked(where, frame));
    else if (!is_below) add_line(linked(where, frame) + blanks + printable(function));
    else {
      add_line(linked(where, frame));
      add_line("  " + printable(shorten_function(frame.function, page_.width - frames_at_ - 2)));
    }
    const bool is_cut = function.size() < frame.function.size() && is_users_frame(frame);
    if (is_cut) add_whole_function(frame, is_below ? page_.width - frames_at_ - 2 : room);
  }

  void add_whole_function(const Frame& frame, std::size_t room) {
    const std::string whole = shorten_function(frame.function, kLongestFunction);
    if (whole == shorten_function(frame.function, room) || !whole_.insert(whole).second) return;
    out_ += wrap("in full: " + printable(whole), frames_at_ + 4, frames_at_ + 2, page_.width);
  }

  std::string linked(const std::string& where, const Frame& frame) const {
    if (frame.file.empty() || frame.tail_call) return where;
    const std::string text = page_.shown(where, kFileColor);
    std::error_code error;
    const fs::path file = fs::path(frame.file).lexically_normal();
    if (!page_.links || !file.is_absolute() || !fs::exists(file, error)) return text;
    return cat({"\033]8;;file://", uri_of(file.string()), "\033\\", text, "\033]8;;\033\\"});
  }

  // Further to the left where it does not fit below its frame, then on several lines. As much of it
  // as fits on one where those stand above, or are too many.
  void add_code(const CodeLine& code) {
    std::size_t indent = frames_at_;
    std::string text = printable(code.text);
    std::size_t caret = printable(std::string_view(code.text).substr(0, code.caret)).size();
    const auto room = [&] { return page_.width - std::min(page_.width, indent + kGutter.size()); };
    if (columns(text) > room()) text = printable(code.text.substr(0, code.code_size));
    if (columns(text) > room()) indent = kBelowLabel;
    if (columns(text) > room()) {
      const auto lines = code_lines(text, room());
      if (!lines.empty() && whole_.insert(text).second) {
        for (const auto& [begin, end] : lines) {
          const std::size_t further = begin == 0 ? 0 : kFurtherIn;
          const std::string line = text.substr(begin, end - begin);
          const bool has_caret = caret >= begin && (caret < end || end == text.size());
          add_code_line(indent, std::string(further, ' ') + line,
                        has_caret ? std::optional(caret - begin + further) : std::nullopt,
                        code.length);
        }
        return;
      }
      caret = cut_around(text, caret, code.length, room());
    }
    add_code_line(indent, text, caret, code.length);
  }

  // The caret is none where another of the lines has it.
  void add_code_line(std::size_t indent, const std::string& text, std::optional<std::size_t> caret,
                     std::size_t length) {
    out_.append(indent, ' ').append(kGutter).append(text + "\n");
    if (!caret) return;
    const std::size_t column = columns(std::string_view(text).substr(0, *caret));
    const std::size_t most = columns(text) - std::min(columns(text), column);
    const std::size_t marked = std::max<std::size_t>(1, std::min(length, most));
    out_.append(indent, ' ').append(kGutter).append(column, ' ');
    out_ += page_.shown("^" + std::string(marked - 1, '~'), kCaretColor) + "\n";
  }

  const ReportedFinding& finding_;
  const StackForm form_;
  const Page& page_;
  std::string folder_;
  std::size_t label_width_ = 0, location_width_ = 0;
  std::size_t frames_at_ = 0; // column
  bool is_below_label_ = false;
  bool is_first_ = false; // the label stands on this line
  std::set<std::string> whole_;
  std::string out_;
};

} // namespace

std::string stacks_text(const ReportedFinding& finding, unsigned stack_depth, const Page& page) {
  const bool is_library_own = !finding.owner.empty() && !finding.fault && stack_depth == 0;
  const StackForm form{is_library_own ? kFramesOfLibraries : stack_depth, stack_depth == 0};
  return StacksText(finding, form, page).text();
}

} // namespace gmt::text
