// SPDX-License-Identifier: Apache-2.0
// One object of the loader's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace gmt::interposer {

struct Bounds {
  std::uint64_t start = UINT64_MAX, end = 0; // end exclusive
};
// Of all that is mapped of it; an end of 0 if nothing is
Bounds bounds_of(const dl_phdr_info& info) noexcept;

// The value of the note with this owner and type, null if the object has none.
const char* find_note(const dl_phdr_info& info, const char* owner, std::uint32_t type,
                      std::uint32_t& length) noexcept;

// The loader's name of it; of the main program, what /proc/self/exe points to, in `buffer`.
const char* path_of(const dl_phdr_info& info, char* buffer, std::size_t size) noexcept;

// Names such as "./libx.so" (LD_LIBRARY_PATH=., dlopen, LD_PRELOAD) hold only as long as the
// program stays where it is.
bool is_relative(const char* name) noexcept;

// dl_iterate_phdr, in which no fork begins: a child would find the loader's lock taken.
int walk_objects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) noexcept;

} // namespace gmt::interposer
