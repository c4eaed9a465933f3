// SPDX-License-Identifier: Apache-2.0
// How the checked form of a kernel or function is called, which --kernel-checks puts beside the
// plain one: this, and then the plain one's name as it is linked. People are shown the plain one.
#pragma once

#include <string_view>

namespace gmt::ptx {

inline constexpr std::string_view kCheckedForm = "__gmt_checked_";

inline bool is_checked_form(std::string_view linked) noexcept {
  return linked.starts_with(kCheckedForm);
}

// The plain one's name; of other names the same.
inline std::string_view plain_name(std::string_view linked) noexcept {
  if (is_checked_form(linked)) linked.remove_prefix(kCheckedForm.size());
  return linked;
}

} // namespace gmt::ptx
