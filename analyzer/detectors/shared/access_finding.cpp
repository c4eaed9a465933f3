// SPDX-License-Identifier: Apache-2.0
// Words and stacks for memory accesses, see access_finding.h.

#include "analyzer/detectors/shared/access_finding.h"

#include <cstdio>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

// The line with the functions that it was inlined into, innermost first; one frame without a line
// if there is no line information.
FindingStack source_stack(const MeasuredFunction& function,
                          const MeasuredInstruction& instruction) {
  FindingStack stack = stack_as(StackRole::kAccessed, {}, {});
  stack.device = {.kernel = function.is_kernel() ? function.name : std::string()};
  if (instruction.code != nullptr) {
    for (const SourceLine& source : instruction.code->lines) {
      Frame& frame = stack.frames.emplace_back();
      frame.function = source.function.empty() ? function.name : demangle(source.function);
      frame.file = source.file;
      frame.line = source.line;
      frame.inlined = stack.frames.size() < instruction.code->lines.size();
    }
  }
  if (stack.frames.empty()) stack.frames.emplace_back().function = function.name;
  if (function.code != nullptr) {
    for (Frame& frame : stack.frames) frame.module = function.code->module;
  }
  return stack;
}

std::string plural_of(AccessOperation operation) {
  if (operation == AccessOperation::kCopy) return "copies to shared memory";
  return cat({word_of(operation), operation == AccessOperation::kUnknown ? "es" : "s"});
}

} // namespace

std::string describe_kernel(const AccessFigures& f) {
  const std::string name = shorten_function(bare_function(f.kernel), kLongestName);
  return f.is_kernel ? name : cat({"the device function ", name});
}

std::string describe_accesses(const AccessFigures& f) {
  const std::string width = f.width == 0 ? std::string() : cat({std::to_string(f.width), "-byte "});
  const std::string where = f.file.empty() ? cat({"offset ", format_address(f.offset)})
                                           : cat({base_name(f.file), ":", std::to_string(f.line)});
  return cat({width, plural_of(f.operation), " in ", describe_kernel(f), " at ", where});
}

std::string describe_measured(const AccessFigures& f) {
  if (!f.is_kernel) return "in those launches of its callers that were measured";
  if (f.launches == 1) return "measured in its only launch";
  if (f.launches <= f.measured)
    return cat({"measured in all ", format_count(f.measured), " launches"});
  return cat(
    {"measured in ", format_count(f.measured), " of ", format_count(f.launches), " launches"});
}

std::string format_ratio(double value) {
  if (value >= 1000)
    return format_count(value < 1e18 ? static_cast<std::uint64_t>(value) : UINT64_MAX);
  char text[32];
  std::snprintf(text, sizeof text, value < 1.95 ? "%.2f" : "%.1f", value);
  return text;
}

std::string advice_on_library_kernel(const Owner& library) {
  return cat({"This is ", library.name,
              "'s own kernel: nothing to do, unless another of its functions, data types or "
              "layouts serves as well."});
}

Finding access_finding(std::string_view kind, const MeasuredFunction& function,
                       const MeasuredInstruction& instruction, AccessFigures figures,
                       std::string advice, const KernelUses& uses, const TraceNames& names) {
  Finding f;
  f.kind = kind;
  f.bytes = figures.wasted_bytes;
  f.advice = std::move(advice);
  if (function.code == nullptr) {
    f.advice += " The line is not known, because the kernel's code was not found.";
  } else if (figures.file.empty()) {
    f.advice += " Compile with -lineinfo to see the line.";
  }
  f.stacks.push_back(source_stack(function, instruction));
  if (const KernelUse* use = uses.find(function.linked)) {
    f.stacks.push_back(
      stack_as(StackRole::kLaunched, use->first, names.api_name(use->api), StackOrder::kFirst));
  }
  // Lines may be equal where a template was compiled for several types, and are missing without
  // -lineinfo.
  f.group = cat({function.linked, " ", std::to_string(function.identity), " ",
                 std::to_string(instruction.offset)});
  f.access = std::move(figures);
  return f;
}

} // namespace gmt
