// SPDX-License-Identifier: Apache-2.0
// Fat binaries in the program's memory: a container of code for several architectures, each as PTX
// or as a cubin, plain or compressed. Sizes inside are trusted as the real driver trusts them; what
// is compressed is unpacked with bounds.
#pragma once

#include "ptx/fatbin/fatbin.h"

#include <cstddef>
#include <string>

namespace gmt::sim {

struct FatBinaryEntry {
  ptx::FatbinEntryHeader header{};
  const char* code = nullptr;

  bool is_ptx() const { return header.kind == ptx::kFatbinPtx; }
  bool is_cubin() const { return header.kind == ptx::kFatbinCubin; }
};

inline bool is_fat_binary(const void* code) {
  return *static_cast<const std::uint32_t*>(code) == ptx::kFatbinMagic;
}

// The bytes of a container with its header.
std::size_t fat_binary_bytes(const void* container);

template <class Visit>
void for_each_entry(const void* container, Visit visit) {
  const auto* header = static_cast<const ptx::FatbinContainer*>(container);
  const char* at = static_cast<const char*>(container) + header->header_bytes;
  const char* const end = at + header->bytes;
  while (at + sizeof(ptx::FatbinEntryHeader) <= end) {
    FatBinaryEntry entry;
    __builtin_memcpy(&entry.header, at, sizeof entry.header);
    if (entry.header.header_bytes < sizeof entry.header) return;
    entry.code = at + entry.header.header_bytes;
    visit(entry);
    at = entry.code + entry.header.bytes;
  }
}

// The code of an entry as it was before it was compressed; false if it is damaged. PTX comes
// without the zeros behind its text.
bool unpack(const FatBinaryEntry& entry, std::string* out);

} // namespace gmt::sim
