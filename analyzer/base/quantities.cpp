// SPDX-License-Identifier: Apache-2.0

#include "analyzer/base/quantities.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "analyzer/base/text_lines.h"
#include "trace/option_value.h"

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
  std::uint64_t value = 0;
  return trace::read_size(text, value) ? std::optional(value) : std::nullopt;
}

} // namespace gmt
