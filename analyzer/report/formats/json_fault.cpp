// SPDX-License-Identifier: Apache-2.0
// docs/report-json.md documents every field.
#include "analyzer/report/formats/json_parts.h"

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/json_values.h"

namespace gmt::json {
namespace {

using FaultJson = nlohmann::ordered_json;

std::string_view source_word(DeviceFault::Source source) {
  switch (source) {
  case DeviceFault::Source::kCoreDump: return "core dump";
  case DeviceFault::Source::kKernelCheck: return "kernel check";
  default: return "simulated device";
  }
}

} // namespace

FaultJson fault_json(const DeviceFault& f) {
  const bool exact = f.certainty == DeviceFault::Certainty::kExact;
  return {
    {"source", source_word(f.source)},
    {"certainty", exact ? "exact" : "inferred"},
    {"kernel", text_or_null(f.thread.kernel)},
    {"block", f.thread.block ? FaultJson(*f.thread.block) : FaultJson(nullptr)},
    {"thread", f.thread.thread ? FaultJson(*f.thread.thread) : FaultJson(nullptr)},
    {"offset", f.instruction ? FaultJson(format_address(*f.instruction)) : FaultJson(nullptr)},
    {"operation", text_or_null(f.operation)},
    {"memory", text_or_null(f.space)},
    {"width", f.width == 0 ? FaultJson(nullptr) : FaultJson(f.width)}};
}

} // namespace gmt::json
