// SPDX-License-Identifier: Apache-2.0
// `replay`: a captured launch (--capture) runs as a program on the simulated device, and the report
// is that of a check: what its kernel does wrong. Of the program that runs it nothing is reported.

#include "analyzer/base/text_lines.h"
#include "analyzer/command/command.h"
#include "analyzer/command/run/library_search.h"
#include "trace/capture_on_disk.h"

namespace gmt {

namespace {

trace::Capture read_file(const std::string& path) {
  trace::Capture capture;
  std::string error;
  if (!trace::read_capture_file(path, &capture, &error))
    throw UserError("'" + path + "' cannot be replayed: " + error, ExitStatus::kUnreadableTrace);
  return capture;
}

// The number of "X", "X,Y" or "X,Y,Z" in the grid.
std::uint64_t block_number(const std::string& text, const trace::Capture& capture) {
  std::uint64_t indices[3] = {0, 0, 0};
  std::size_t at = 0;
  bool is_right = true;
  for (std::uint64_t& part : indices) {
    const std::size_t comma = text.find(',', at);
    const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(
      std::string_view(text).substr(at, comma == text.npos ? comma : comma - at));
    is_right = is_right && value;
    part = value.value_or(0);
    at = comma == text.npos ? comma : comma + 1;
    if (at == text.npos) break;
  }
  const auto& grid = capture.grid;
  for (std::size_t i = 0; i < grid.size(); ++i) is_right = is_right && indices[i] < grid[i];
  if (!is_right || at != text.npos)
    throw UserError("'" + text + "' of option '--block' is no block of the grid, which has " +
                      std::to_string(grid[0]) + "," + std::to_string(grid[1]) + "," +
                      std::to_string(grid[2]) + " blocks: X, X,Y or X,Y,Z from 0 on",
                    ExitStatus::kUsage);
  return indices[0] + grid[0] * (indices[1] + grid[1] * indices[2]);
}

} // namespace

int command_replay(const Settings& given) {
  if (given.words.size() != 1)
    throw UserError("'gpumemtrace replay' takes one file, which --capture made",
                    ExitStatus::kUsage);
  trace::Capture capture = read_file(given.words[0]);
  Settings settings = given;
  settings.command = CommandId::kCheck;
  settings.device = DeviceChoice::kSimulated;
  settings.words = {find_install(true).simulated + "/gpumemtrace-replay", given.words[0]};
  if (!given.block.empty())
    settings.words.push_back(std::to_string(block_number(given.block, capture)));
  settings.interposer.emplace_back("GPUMEMTRACE_CAPTURE", ""); // what the environment may have
  settings.simulated.emplace_back("GPUMEMTRACE_SIM_CAPABILITY", std::to_string(capture.capability));
  if (settings.only.empty())
    settings.only = {"kernel-*", "shared-race", "global-race", "barrier-*", "device-heap-*"};
  // What was left out has no content here, so to read it is no mistake of the kernel's.
  const bool is_whole = capture.left_out.empty();
  capture = {}; // the program that runs it has its memory
  if (!is_whole) settings.skip.emplace_back("kernel-uninitialized-read");
  return command_run(settings);
}

} // namespace gmt
