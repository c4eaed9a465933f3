// SPDX-License-Identifier: Apache-2.0
// Shares, sizes and times as a person writes them. What is none gives nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gmt {

// "5%" or "5"; nothing if it is no whole number up to a million.
std::optional<std::uint64_t> parse_percent(std::string_view text);

// "64", "512K", "2G", "1GiB" (binary); nothing if it is no size or does not fit.
std::optional<std::uint64_t> parse_size(std::string_view text);

// "1.5s", "200ms", "12us", "7ns", "2" (seconds), as nanoseconds; nothing if it is no such time.
std::optional<double> parse_time(std::string_view text);

} // namespace gmt
