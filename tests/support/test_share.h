// SPDX-License-Identifier: Apache-2.0
// How much of its inputs an exhaustive test takes. Sanitizers make it ten times as slow, so with
// them it takes a share: all of it with GMT_LONG_TESTS=1, as scripts/test --long sets.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace gmt::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GMT_IS_SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GMT_IS_SANITIZED true
#endif
#ifndef GMT_IS_SANITIZED
#define GMT_IS_SANITIZED false
#endif

// One input in so many is taken: `with_sanitizers`, or 1 where all are.
inline std::size_t one_in(std::size_t with_sanitizers) {
  const char* const is_long = std::getenv("GMT_LONG_TESTS");
  const bool takes_all =
    !GMT_IS_SANITIZED || (is_long != nullptr && std::string_view(is_long) == "1");
  return takes_all ? 1 : with_sanitizers;
}

} // namespace gmt::test
