// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/fault_words.h"

#include <utility>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

constexpr std::size_t kMostLines = 256;

std::string_view verb_of(std::string_view operation) {
  static constexpr std::pair<std::string_view, std::string_view> kVerbs[] = {
    {"load", "reads"},        {"store", "writes"}, {"atomic", "updates"},
    {"reduction", "updates"}, {"copy", "copies"},  {"bulk-copy", "copies"}};
  for (const auto& [word, verb] : kVerbs) {
    if (word == operation) return verb;
  }
  return "uses";
}

bool is_global(std::string_view space) {
  return space.empty() || space == "global" || space == "generic";
}

} // namespace

std::string kernel_words(std::string_view linked) {
  if (linked.empty()) return "a kernel";
  return shorten_function(demangle(linked), kLongestName);
}

std::string access_verb(std::string_view operation, std::uint64_t bytes, std::string_view space) {
  std::string words(verb_of(operation));
  words += bytes == 0 ? std::string(" memory") : cat({" ", format_exact_bytes(bytes)});
  if (is_global(space)) return words;
  if (bytes == 0) return cat({verb_of(operation), " ", space, " memory"});
  return cat({words, " of ", space, " memory"});
}

std::string access_noun(std::string_view operation, std::uint64_t bytes) {
  const std::string_view noun = operation.empty() ? "access" : operation;
  return bytes == 0 ? std::string(noun) : cat({std::to_string(bytes), "-byte ", noun});
}

std::string source_words(const std::vector<KernelLine>& lines,
                         std::optional<std::uint64_t> offset) {
  if (!lines.empty() && lines.front().line != 0)
    return cat({base_name(lines.front().file), ":", std::to_string(lines.front().line)});
  return offset ? cat({"offset ", format_address(*offset), " of its code"}) : std::string();
}

FindingStack kernel_stack(StackRole role, const std::string& kernel_linked,
                          const std::string& function_linked,
                          const std::vector<KernelLine>& lines) {
  FindingStack stack = stack_as(role, {}, {});
  const std::string kernel = kernel_linked.empty() ? std::string() : demangle(kernel_linked);
  const std::string function = function_linked.empty() ? kernel : demangle(function_linked);
  stack.device = {.kernel = kernel};
  for (const KernelLine& line : lines) {
    Frame& frame = stack.frames.emplace_back();
    frame.function = line.function.empty() ? function : demangle(line.function);
    frame.file = line.file;
    frame.line = line.line;
    frame.inlined = stack.frames.size() < lines.size();
  }
  if (stack.frames.empty()) stack.frames.emplace_back().function = function;
  return stack;
}

FindingStack launch_stack(const LoggedLaunch& launch, const TraceNames& names) {
  StackRole role = StackRole::kLaunched;
  if (launch.what == LoggedLaunch::What::kGraph) role = StackRole::kGraphLaunched;
  if (launch.what == LoggedLaunch::What::kCaptured) role = StackRole::kCaptured;
  if (launch.what == LoggedLaunch::What::kNodeMade) role = StackRole::kNodeMade;
  return stack_as(role, launch.stack, names.api_name(launch.api));
}

std::vector<KernelLine> parse_lines(std::string_view text) {
  std::vector<KernelLine> lines;
  for_each_line(text, [&lines](std::string_view line) {
    const auto fields = split_tabs(line);
    const auto number = parse_number<std::uint32_t>(fields[0]);
    if (fields.size() < 3 || !number || lines.size() == kMostLines) return;
    lines.push_back({std::string(fields[1]), std::string(fields[2]), *number});
  });
  return lines;
}

} // namespace gmt
