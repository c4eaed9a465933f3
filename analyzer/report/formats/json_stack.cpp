// SPDX-License-Identifier: Apache-2.0
// docs/report-json.md documents every field.
#include "analyzer/report/formats/json_stack.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/json_values.h"

namespace gmt::json {
namespace {

using Json = nlohmann::ordered_json; // keys in the order of the documentation

Json json_of(const Frame& frame) {
  Json json = {{"function", text_or_null(frame.function)},
               {"file", text_or_null(frame.file)},
               {"line", frame.line != 0 ? Json(frame.line) : Json(nullptr)},
               {"module", text_or_null(frame.module)},
               {"module_offset", frame.module.empty() || frame.tail_call
                                   ? Json(nullptr)
                                   : Json(format_address(frame.module_offset))},
               {"address", format_address(frame.address)},
               {"inlined", frame.inlined},
               {"tail_call", frame.tail_call}};
  if (!frame.language.empty()) json["language"] = frame.language;
  return json;
}

Json json_of(const DeviceThread& thread) {
  return {{"kernel", text_or_null(thread.kernel)},
          {"launch", thread.launch != 0 ? Json(thread.launch) : Json(nullptr)},
          {"block", thread.block ? Json(*thread.block) : Json(nullptr)},
          {"thread", thread.thread ? Json(*thread.thread) : Json(nullptr)}};
}

} // namespace

Json stack_json(const CallStack& stack, const std::string& label, unsigned depth) {
  Json frames = Json::array();
  const std::size_t all = stack.frames.size();
  const std::size_t count = depth == 0 ? all : std::min<std::size_t>(depth, all);
  for (std::size_t i = 0; i < count; ++i) frames.push_back(json_of(stack.frames[i]));
  return {{"label", label},
          {"api", text_or_null(stack.api)},
          {"frames", std::move(frames)},
          {"device", stack.device ? json_of(*stack.device) : Json(nullptr)}};
}

} // namespace gmt::json
