// SPDX-License-Identifier: Apache-2.0
// Folded stacks for flamegraph.pl, speedscope and others: a line for each call stack that held
// device memory at its process's peak, outermost frame first, with the bytes that it held. The
// first frame is the process.
#include <map>
#include <ostream>
#include <string>

#include <fmt/format.h>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"

namespace gmt::folded {
namespace {

// ';' ends a frame, and the end of a line ends the stack.
std::string frame_name(std::string_view text) {
  std::string name = tools::clean_utf8(text);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ';') c = ':';
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return name.empty() ? "?" : name;
}

std::string name_of(const Frame& frame) {
  if (frame.tail_call) return "(tail call)";
  if (!frame.function.empty()) return frame_name(frame.function);
  if (frame.module.empty()) return format_address(frame.address);
  return frame_name(
    fmt::format("{}+{}", base_name(frame.module), format_address(frame.module_offset)));
}

void write_folded(const Report& report, const OutputOptions&, std::ostream& stream) {
  std::map<std::string, std::uint64_t> lines; // in a fixed order, equal stacks once
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const std::string root = frame_name(tools::process_name(report, i));
    for (const StackMemory& memory : report.processes[i].stacks) {
      if (memory.peak_bytes == 0) continue;
      std::string line = root;
      const std::vector<Frame>& frames = memory.stack.frames;
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
        line += ";" + name_of(*frame);
      if (frames.empty()) line += ";(no call stack was recorded)";
      lines[line] += memory.peak_bytes;
    }
  }
  for (const auto& [line, bytes] : lines) stream << line << ' ' << bytes << '\n';
}

const OutputRegistration kFolded{
  {.id = "folded",
   .title = "bytes held at the peak by call stack, for flamegraph.pl and speedscope",
   .write = write_folded,
   .needs_stacks = true}};

} // namespace
} // namespace gmt::folded
