// SPDX-License-Identifier: Apache-2.0
#include "ptx/names/launch_choice.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>

namespace gmt::ptx {

namespace {

std::uint64_t number_of(std::string_view digits, std::uint64_t otherwise) {
  std::uint64_t number = otherwise;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if (!digits.empty() && !is_number) throw std::invalid_argument("not a number");
  return number;
}

} // namespace

LaunchChoice::LaunchChoice(std::string_view text) {
  if (text.empty()) return;
  const std::size_t dots = text.find("..");
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = dots == text.npos ? first : text.substr(dots + 2);
  bool is_good = !first.empty() || !last.empty();
  try {
    first_ = number_of(first, first_);
    last_ = number_of(last, last_);
  } catch (const std::invalid_argument&) {
    is_good = false;
  }
  if (!is_good || first_ == 0 || first_ > last_)
    throw std::invalid_argument("numbers of launches, from 1 on: 10..20, 10.., ..20 or 15");
}

bool is_among_programs(std::string_view list, std::string_view path) {
  if (list.empty()) return true;
  const std::string own(path.substr(path.rfind('/') + 1));
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name(list.substr(begin, end - begin));
    if (fnmatch(name.c_str(), own.c_str(), 0) == 0) return true;
    begin = end + 1;
  }
  return false;
}

bool is_own_program_among(std::string_view list) {
  if (list.empty()) return true;
  char path[4096];
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
  return is_among_programs(list, {path, bytes > 0 ? static_cast<std::size_t>(bytes) : 0});
}

} // namespace gmt::ptx
