// SPDX-License-Identifier: Apache-2.0
// The strings of NVTX calls, kept for the life of the process: a range may be recorded long after
// its string is gone (the trace begins with the first CUDA call), and again by a forked child.
//
// Equal strings are one Name, found without a lock; a new one costs a copy into memory mapped for
// them alone. Nothing is ever given back; after kMaxNames all further strings are one and the same.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::interposer {

struct Name {
  std::uint64_t id; // interned_text.h: text_id()
  std::uint32_t length;
  // The bytes follow the structure.
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(this + 1), length};
  }
};

inline constexpr unsigned kNameEntries = 1u << 18;
inline constexpr unsigned kMaxNames = kNameEntries / 4 * 3;
inline constexpr unsigned kMaxNameBytes = 1024; // longer strings are cut at a character

// Null for a null string, or if there is no memory.
const Name* keep_name(const char* text) noexcept;
const Name* keep_name(const wchar_t* text) noexcept; // as UTF-8

// A small number that stands for the name, where a handle is wanted; 0 for null. No handle is ever
// followed.
std::uint64_t handle_of(const Name* name) noexcept;
const Name* name_of_handle(std::uint64_t handle) noexcept; // null if it is none of ours

// Names that another library gave handles of its own to.
void remember_foreign_handle(std::uint64_t handle, const Name* name) noexcept;
const Name* name_of_foreign_handle(std::uint64_t handle) noexcept;

} // namespace gmt::interposer
