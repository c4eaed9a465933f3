// SPDX-License-Identifier: Apache-2.0
// docs/report-json.md documents every field.
#include "analyzer/report/formats/json_parts.h"

#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/coalescing/kernel_counters.h"
#include "analyzer/report/formats/json_values.h"

namespace gmt::json {
namespace {

using Json = nlohmann::ordered_json;

Json counters_json(const KernelCounters& c) {
  if (c.launches == 0) return nullptr;
  return {{"launches", c.launches},
          {"nanoseconds", number_or_null(mean(c.nanoseconds))},
          {"read_bytes", number_or_null(mean(c.read_bytes))},
          {"written_bytes", number_or_null(mean(c.written_bytes))},
          {"bytes_per_second", number_or_null(bytes_a_second(c))},
          {"share_of_peak_bandwidth", number_or_null(share_of_peak(c))},
          {"l1_hit_rate", number_or_null(l1_hit_rate(c))},
          {"l2_sectors", number_or_null(mean(c.l2_sectors))},
          {"l2_hit_rate", number_or_null(l2_hit_rate(c))},
          {"sectors_per_load", number_or_null(sectors_a_load(c))},
          {"sectors_per_store", number_or_null(sectors_a_store(c))}};
}

Json kernel_json(const AccessTables::Kernel& k) {
  return {{"kernel", k.kernel},
          {"is_kernel", k.is_kernel},
          {"launches", k.is_kernel ? Json(k.launches) : Json(nullptr)},
          {"measured_launches", k.is_kernel ? Json(k.measured) : Json(nullptr)},
          {"requests", k.requests},
          {"sectors", k.sectors},
          {"wasted_sectors", k.wasted_sectors},
          {"sectors_per_request", k.sectors_per_request()},
          {"efficiency", k.efficiency()},
          {"wasted_bytes", k.wasted_bytes},
          {"counters", counters_json(k.counters)}};
}

} // namespace

Json access_json(const AccessFigures& f) {
  return {{"memory", word_of(f.memory)},
          {"kernel", f.kernel},
          {"is_kernel", f.is_kernel},
          {"function", text_or_null(f.function)},
          {"file", text_or_null(f.file)},
          {"line", count_or_null(f.line)},
          {"offset", format_address(f.offset)},
          {"operation", word_of(f.operation)},
          {"width", count_or_null(f.width)},
          {"executions", f.executions},
          {"thread_executions", f.thread_executions},
          {"actual", f.actual},
          {"ideal", f.memory == AccessedMemory::kLocal ? Json(nullptr) : Json(f.ideal)},
          {"ratio", f.ideal == 0 ? Json(nullptr) : Json(f.ratio())},
          {"per_request", f.per_request()},
          {"launches", f.is_kernel ? Json(f.launches) : Json(nullptr)},
          {"measured_launches", f.is_kernel ? Json(f.measured) : Json(nullptr)},
          {"wasted_bytes", f.wasted_bytes},
          {"share", f.memory == AccessedMemory::kGlobal ? Json(f.share) : Json(nullptr)},
          {"cause", text_or_null(f.cause)}};
}

Json accesses_json(const AccessTables& tables) {
  Json lines = Json::array(), kernels = Json::array();
  for (const AccessFigures& line : tables.lines) lines.push_back(access_json(line));
  for (const AccessTables::Kernel& kernel : tables.kernels) kernels.push_back(kernel_json(kernel));
  return {{"launches", tables.launches},         {"measured_launches", tables.measured},
          {"put_off_launches", tables.put_off},  {"moved_bytes", tables.moved_bytes},
          {"wasted_bytes", tables.wasted_bytes}, {"lines", std::move(lines)},
          {"kernels", std::move(kernels)}};
}

} // namespace gmt::json
