// SPDX-License-Identifier: Apache-2.0
// Bytes of device memory and of its shadow, which other workers may access at the same time: as
// relaxed atomics, so that a race of the program's threads stays one between its own values.
// Handlers' fast paths use plain moves, which are the same instructions on x86-64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gmt::executor {
namespace { // handlers are compiled for several levels of x86-64

template <class T>
inline void load_device(std::byte* to, const std::byte* from) {
  const T value = __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
  std::memcpy(to, &value, sizeof value);
}
template <class T>
inline void store_device(std::byte* to, const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
}

// 1, 2, 4 or a multiple of 8 bytes, aligned to their number or to 8.
inline void load_device(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  if (bytes == 1) return load_device<std::uint8_t>(to, from);
  if (bytes == 2) return load_device<std::uint16_t>(to, from);
  if (bytes == 4) return load_device<std::uint32_t>(to, from);
  for (std::uint32_t i = 0; i + 8 <= bytes; i += 8) load_device<std::uint64_t>(to + i, from + i);
}
inline void store_device(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  if (bytes == 1) return store_device<std::uint8_t>(to, from);
  if (bytes == 2) return store_device<std::uint16_t>(to, from);
  if (bytes == 4) return store_device<std::uint32_t>(to, from);
  for (std::uint32_t i = 0; i + 8 <= bytes; i += 8) store_device<std::uint64_t>(to + i, from + i);
}

inline std::uint8_t shadow_at(const std::uint8_t* shadow) {
  return __atomic_load_n(shadow, __ATOMIC_RELAXED);
}
// Of one word of the shadow, whose other bits another worker may change.
inline void change_shadow(std::uint8_t* word, unsigned set, unsigned clear) {
  const unsigned old = shadow_at(word);
  if ((~old & set) != 0) __atomic_fetch_or(word, static_cast<std::uint8_t>(set), __ATOMIC_RELAXED);
  if ((old & clear) != 0)
    __atomic_fetch_and(word, static_cast<std::uint8_t>(~clear), __ATOMIC_RELAXED);
}

} // namespace
} // namespace gmt::executor
