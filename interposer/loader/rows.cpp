// SPDX-License-Identifier: Apache-2.0
#include "interposer/loader/rows.h"

#include <algorithm>
#include <array>

#include "trace/api_id.h"

namespace gmt::interposer {
namespace {

struct NamedRow {
  std::string_view name;
  std::uint16_t row;
};

constexpr auto sorted_rows() {
  std::array<NamedRow, trace::kApiCount> rows{};
  for (std::uint16_t i = 0; i < trace::kApiCount; ++i) rows[i] = {trace::kApiNames[i], i};
  std::sort(rows.begin(), rows.end(),
            [](const NamedRow& a, const NamedRow& b) { return a.name < b.name; });
  return rows;
}
constexpr auto kRowsByName = sorted_rows();

} // namespace

int row_named(std::string_view name) noexcept {
  const auto at =
    std::lower_bound(kRowsByName.begin(), kRowsByName.end(), name,
                     [](const NamedRow& row, std::string_view n) { return row.name < n; });
  return at != kRowsByName.end() && at->name == name ? at->row : -1;
}

} // namespace gmt::interposer
