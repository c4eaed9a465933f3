// SPDX-License-Identifier: Apache-2.0
// Kernels on the simulated device as JSON. docs/report-json.md documents every field.
#include "analyzer/report/formats/json_executions.h"

#include <utility>

#include "analyzer/report/formats/json_values.h"

namespace gmt::json {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(trace::ExecutionOp op) {
  if (op == trace::ExecutionOp::kStopped) return "stopped";
  return op == trace::ExecutionOp::kNotSelected ? "not-selected" : "not-run";
}

} // namespace

Json executions_json(const Executions& executions) {
  Json left_out = Json::array();
  for (const Executions::LeftOut& one : executions.left_out) {
    left_out.push_back({{"kernel", one.kernel},
                        {"how", name_of(one.op)},
                        {"reason", one.reason},
                        {"instruction", text_or_null(one.instruction)},
                        {"line", text_or_null(one.line)},
                        {"launches", one.launches}});
  }
  return {{"launches", executions.launches},
          {"ran", executions.ran},
          {"thread_instructions", executions.thread_instructions},
          {"nanoseconds", executions.nanoseconds},
          {"approximate", executions.approximate},
          {"left_out", std::move(left_out)}};
}

} // namespace gmt::json
