// SPDX-License-Identifier: Apache-2.0
// The name of the trace's folder: what becomes part of it, and where it lies.
#pragma once

#include <cstddef>
#include <cstring>

#include <unistd.h>

namespace gmt::interposer {

// Characters that are safe in a file name; everything else becomes '_'.
inline void sanitize(char* name) noexcept {
  for (; *name != '\0'; ++name) {
    const bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                       (*name >= '0' && *name <= '9');
    if (!plain && std::strchr("-_+.", *name) == nullptr) *name = '_';
  }
}

// The program may change its directory, and the files of the trace are opened again when they grow.
inline void make_absolute(char* path, std::size_t size) noexcept {
  static char whole[3072]; // under the slow lock
  if (getcwd(whole, sizeof whole) == nullptr) return;
  const std::size_t n = std::strlen(whole);
  if (n + 1 + std::strlen(path) >= sizeof whole || n + 1 + std::strlen(path) >= size) return;
  whole[n] = '/';
  std::strcpy(whole + n + 1, path);
  std::strcpy(path, whole);
}

} // namespace gmt::interposer
