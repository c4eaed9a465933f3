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

// False if these are no digits; without any the number stays as it is.
bool read_number(std::string_view digits, std::uint64_t& number) {
  if (digits.empty()) return true;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  return error == std::errc() && end == last;
}

} // namespace

LaunchChoice::LaunchChoice(std::string_view text) {
  if (text.empty()) return;
  const std::size_t dots = text.find("..");
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = dots == text.npos ? first : text.substr(dots + 2);
  const bool is_named = !first.empty() || !last.empty();
  if (!is_named || !read_number(first, first_) || !read_number(last, last_) || first_ == 0 ||
      first_ > last_)
    throw std::invalid_argument(kAllowed);
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
