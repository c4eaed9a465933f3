// SPDX-License-Identifier: Apache-2.0
// Words for other tools, see tool_words.h.
#include "analyzer/report/formats/tool_words.h"

#include <fmt/format.h>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/symbols/demangle.h"

namespace gmt::tools {
namespace {

// Bytes of the UTF-8 character that begins there; 0 if none does. Surrogates, overlong forms and
// what XML knows as no character are none.
std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  std::size_t size = 0;
  if (first >= 0xc2 && first < 0xe0) size = 2;
  if (first >= 0xe0 && first < 0xf0) size = 3;
  if (first >= 0xf0 && first < 0xf5) size = 4;
  if (size == 0 || text.size() < size) return 0;
  char32_t code = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool no_character =
    (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return overlong || no_character ? 0 : size;
}

} // namespace

std::string amount_of(const ReportedFinding& finding) { return text::amount(finding); }

std::string location_text(const Frame& frame, const SourcePaths& paths) {
  std::string file = paths.relative(frame);
  if (file.empty()) {
    Frame bare = frame;
    bare.file = base_name(frame.file);
    return text::location(bare, "");
  }
  if (frame.line != 0) file += ":" + std::to_string(frame.line);
  return text::printable(file);
}

std::string thread_words(const CallStack& stack) {
  if (!stack.device) return {};
  const auto index = [](const std::array<std::uint32_t, 3>& i) {
    return fmt::format("({}, {}, {})", i[0], i[1], i[2]);
  };
  const DeviceThread& device = *stack.device;
  std::string words = device.thread ? "thread " + index(*device.thread) : "";
  if (device.block) words += (words.empty() ? "block " : " of block ") + index(*device.block);
  if (device.launch == 0 || device.kernel.empty()) return words;
  const std::string name = text::printable(shorten_function(device.kernel, kLongestName));
  return words + (words.empty() ? "" : ", ") + fmt::format("launch {} of {}", device.launch, name);
}

std::string thread_words(const ReportedFinding& finding) {
  for (const LabelledStack& stack : finding.stacks) {
    if (std::string words = thread_words(static_cast<const CallStack&>(stack)); !words.empty())
      return words;
  }
  return {};
}

std::string stacks_text(const ReportedFinding& finding, const SourcePaths& paths,
                        unsigned stack_depth) {
  std::string out;
  for (const LabelledStack& stack : finding.stacks) {
    out += text::printable(stack.label);
    if (stack.shows_call && !stack.api.empty()) out += ", " + text::printable(stack.api);
    out += ":\n";
    if (stack.frames.empty()) out += "  (no call stack was recorded)\n";
    const std::string thread = thread_words(static_cast<const CallStack&>(stack));
    const std::size_t all = stack.frames.size();
    const std::size_t shown = stack_depth == 0 ? all : std::min<std::size_t>(stack_depth, all);
    for (std::size_t i = 0; i < shown; ++i) {
      const Frame& frame = stack.frames[i];
      out += "  " + location_text(frame, paths);
      const std::string function = shorten_function(frame.function, kLongestName);
      if (!function.empty()) out += "  " + text::printable(without_folders(function));
      out += "\n";
    }
    if (shown != all) out += "  (" + format_plural(all - shown, "outer frame") + " not shown)\n";
    if (!thread.empty()) out += "  " + text::printable(without_folders(thread)) + "\n";
  }
  return out;
}

std::string clean_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    out += size == 0 ? "\xef\xbf\xbd" : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string process_name(const Report& report, std::size_t process) {
  if (process >= report.processes.size()) return "unknown";
  const std::string_view name = base_name(report.processes[process].executable);
  std::string text(name.empty() ? "unknown" : name);
  if (report.processes.size() > 1) text += " (" + std::to_string(process + 1) + ")";
  return text;
}

std::vector<KilledChild> killed_children(const Report& report) {
  std::vector<KilledChild> killed;
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const ProcessReport& process = report.processes[i];
    if (process.ended.how != Ending::How::kSignalled) continue;
    if (i == 0 && report.conclusion.signal == process.ended.signal) continue;
    killed.push_back(
      {i, cat({"process ", std::to_string(process.pid), " (", base_name(process.executable),
               ") was ", ending_words(process.ended)})});
  }
  return killed;
}

} // namespace gmt::tools
