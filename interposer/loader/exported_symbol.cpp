// SPDX-License-Identifier: Apache-2.0
// The lookup of DT_GNU_HASH, which every linker in use writes. The loader has relocated the
// addresses in the dynamic section, but not those of the kernel's own object.
#include "interposer/loader/exported_symbol.h"

#include <cstdint>
#include <cstring>
#include <elf.h>

#include "interposer/loader/loaded_object.h"

namespace gmt::interposer {
namespace {

struct Tables {
  const std::uint32_t* hash = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

Tables tables_of(const dl_phdr_info& object) noexcept {
  const Bounds bounds = bounds_of(object);
  const auto address = [&](std::uint64_t value) noexcept {
    return reinterpret_cast<const char*>(value >= bounds.start ? value : value + object.dlpi_addr);
  };
  Tables tables;
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
      reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const char* at = address(entry->d_un.d_ptr);
      if (entry->d_tag == DT_GNU_HASH) tables.hash = reinterpret_cast<const std::uint32_t*>(at);
      if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) tables.names = at;
    }
  }
  return tables;
}

std::uint32_t gnu_hash_of(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

} // namespace

const char* exported_symbol(const dl_phdr_info& object, const char* name) noexcept {
  const Tables tables = tables_of(object);
  if (tables.hash == nullptr || tables.symbols == nullptr || tables.names == nullptr)
    return nullptr;
  const std::uint32_t bucket_count = tables.hash[0], first_symbol = tables.hash[1];
  const std::uint32_t filter_words = tables.hash[2], filter_shift = tables.hash[3];
  if (bucket_count == 0 || filter_words == 0) return nullptr;
  const auto* filter = reinterpret_cast<const std::uint64_t*>(tables.hash + 4);
  const auto* buckets = reinterpret_cast<const std::uint32_t*>(filter + filter_words);
  const std::uint32_t* chain = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash_of(name);
  const std::uint64_t bits = std::uint64_t{1} << hash % 64 | std::uint64_t{1}
                                                               << (hash >> filter_shift) % 64;
  if ((filter[hash / 64 % filter_words] & bits) != bits) return nullptr;
  std::uint32_t i = buckets[hash % bucket_count];
  if (i < first_symbol) return nullptr;
  for (;; ++i) {
    const std::uint32_t other = chain[i - first_symbol];
    const ElfW(Sym)& symbol = tables.symbols[i];
    if ((other | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(tables.names + symbol.st_name, name) == 0)
      return reinterpret_cast<const char*>(object.dlpi_addr + symbol.st_value);
    if ((other & 1) != 0) return nullptr;
  }
}

} // namespace gmt::interposer
