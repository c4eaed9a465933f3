// SPDX-License-Identifier: Apache-2.0
// See quantities.h.

#include "analyzer/base/quantities.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "analyzer/base/text_lines.h"

namespace gmt {

std::optional<std::uint64_t> parse_percent(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text);
  return value && *value <= 1'000'000 ? value : std::nullopt;
}

std::optional<double> parse_time(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double value = 0;
  const char* const end = text.data() + digits;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value < 1e12)) return std::nullopt;
  const std::string_view unit = text.substr(digits);
  if (unit.empty() || unit == "s") return value * 1e9;
  if (unit == "ms") return value * 1e6;
  if (unit == "us") return value * 1e3;
  return unit == "ns" ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  if (!value) return std::nullopt;
  unsigned shift = 0;
  constexpr std::string_view kUnits = "KMGT";
  if (!unit.empty() && unit != "B") {
    const char letter = unit[0] >= 'a' ? static_cast<char>(unit[0] - 'a' + 'A') : unit[0];
    const std::size_t power = kUnits.find(letter);
    if (power == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<unsigned>(power) + 1);
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "B" && unit != "iB") return std::nullopt;
  }
  if (*value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return *value << shift;
}

} // namespace gmt
