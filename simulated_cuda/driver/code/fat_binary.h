// SPDX-License-Identifier: Apache-2.0
// Fat binaries in the program's memory: a container of code for several architectures, each as PTX
// or as a cubin, plain or compressed. The size of a container is trusted as the real driver trusts
// it; nothing is read behind that.
#pragma once

#include "ptx/fatbin/reader.h"

#include <string>

namespace gmt::sim {

inline bool is_fat_binary(const void* code) { return ptx::magic_of(code) == ptx::kFatbinMagic; }

template <class Visit> void for_each_entry(const void* container, Visit visit) {
  ptx::FatbinReader reader(static_cast<const char*>(container), ptx::fatbin_bytes(container));
  for (ptx::FatbinEntry entry; reader.next(entry);) visit(entry);
}

// The code of an entry as it was before it was compressed; false if it is damaged. PTX comes
// without the zeros behind its text.
bool unpack(const ptx::FatbinEntry& entry, std::string* out);

} // namespace gmt::sim
