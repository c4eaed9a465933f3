// SPDX-License-Identifier: Apache-2.0
// Turns measured accesses into the report's tables, see access_tables.h.

#include "analyzer/coalescing/access_tables.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <tuple>

#include "analyzer/coalescing/access_cause.h"
#include "analyzer/coalescing/kernel_counters.h"

namespace gmt {
namespace {

// Less of a line than this share of all traffic is not worth a row.
constexpr std::uint64_t kLeastShare = 1000; // one in so many

AccessTables::Kernel row_of(const MeasuredFunction& function) {
  AccessTables::Kernel row{.kernel = function.name,
                           .is_kernel = function.is_kernel(),
                           .launches = function.launches,
                           .measured = function.measured,
                           .counters = function.counters};
  for (const MeasuredInstruction& instruction : function.instructions) {
    if (instruction.sums.sectors == 0) continue;
    row.requests += instruction.sums.executions;
    row.sectors += instruction.sums.sectors;
    row.wasted_sectors += instruction.wasted_sectors();
  }
  row.wasted_bytes = function.scaled(row.wasted_sectors) * kSectorBytes;
  return row;
}

} // namespace

std::vector<const AccessTables::Kernel*> AccessTables::counted() const {
  std::vector<const Kernel*> counted;
  for (const Kernel& kernel : kernels) {
    if (kernel.counters.launches != 0) counted.push_back(&kernel);
  }
  const auto moved = [](const Kernel* k) {
    return gmt::moved_bytes(k->counters).value_or(0) * static_cast<double>(k->launches);
  };
  std::ranges::stable_sort(counted, std::greater{}, moved);
  return counted;
}

AccessTables access_tables(const MemoryAccess& access) {
  AccessTables tables;
  tables.moved_bytes = access.sectors_in_all() * kSectorBytes;
  std::set<std::string_view> names;
  for (const AccessLog& log : access.logs()) tables.put_off += log.windows.put_off;
  for (const MeasuredFunction& function : access.functions()) {
    // Others of the name share its launches
    if (function.is_kernel() && names.insert(function.linked).second) {
      tables.launches += function.launches;
      tables.measured += function.measured;
    }
    if (AccessTables::Kernel row = row_of(function);
        row.measured != 0 || row.sectors != 0 || row.counters.launches != 0) {
      tables.wasted_bytes += row.wasted_bytes;
      tables.kernels.push_back(std::move(row));
    }
  }
  std::ranges::stable_sort(tables.kernels, [](const auto& a, const auto& b) {
    return std::tuple(b.wasted_bytes, b.sectors) < std::tuple(a.wasted_bytes, a.sectors);
  });
  for (const AccessLine& line : access.global_lines()) {
    const std::uint64_t wasted = line.wasted_in_all();
    const bool is_little = wasted == 0 || wasted < access.sectors_in_all() / kLeastShare;
    if (is_little || tables.lines.size() == kMaxAccessLines) break;
    tables.lines.push_back(global_figures(line, access));
  }
  return tables;
}

} // namespace gmt
