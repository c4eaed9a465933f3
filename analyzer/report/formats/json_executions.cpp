// SPDX-License-Identifier: Apache-2.0
// Kernels on the simulated device as JSON. docs/report-json.md documents every field.
#include "analyzer/report/formats/json_parts.h"

#include <utility>

#include "analyzer/report/formats/json_values.h"
#include "trace/vocabulary_words.h"

namespace gmt::json {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Executions::Feature::Difference difference) {
  using enum Executions::Feature::Difference;
  if (difference == kOrder) return "order";
  return difference == kJoined ? "joined" : "last-bits";
}

Json fidelity_of(const Executions& executions) {
  Json features = Json::array();
  for (const Executions::Feature& one : executions.features) {
    features.push_back({{"feature", one.name},
                        {"difference", name_of(one.difference)},
                        {"instructions", one.instructions != 0 ? Json(one.instructions) : Json()},
                        {"launches", one.launches}});
  }
  return {{"exact_instructions", executions.exact_instructions()},
          {"features", std::move(features)}};
}

} // namespace

Json executions_json(const Executions& executions) {
  Json approximate = Json::array();
  for (const Executions::Feature& one : executions.features) {
    if (one.difference == Executions::Feature::Difference::kLastBits)
      approximate.push_back(one.name);
  }
  Json left_out = Json::array();
  for (const Executions::LeftOut& one : executions.left_out) {
    left_out.push_back({{"kernel", one.kernel},
                        {"how", trace::word_of(one.op)},
                        {"reason", one.reason},
                        {"instruction", text_or_null(one.instruction)},
                        {"line", text_or_null(one.line)},
                        {"launches", one.launches}});
  }
  return {{"launches", executions.launches},
          {"ran", executions.ran},
          {"thread_instructions", executions.thread_instructions},
          {"nanoseconds", executions.nanoseconds},
          {"seed", executions.seed},
          {"late_nanoseconds", executions.late},
          {"threads", executions.threads != 0 ? Json(executions.threads) : Json()},
          {"approximate", std::move(approximate)},
          {"fidelity", fidelity_of(executions)},
          {"left_out", std::move(left_out)}};
}

} // namespace gmt::json
