// SPDX-License-Identifier: Apache-2.0
// Looks for device malloc in fat binaries, see fatbin.h. In a cubin malloc and free are undefined
// functions, in PTX they are declared by name; new and delete are calls of the two.

#include "analyzer/fatbin.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gelf.h>
#include <zstd.h>

#include "analyzer/elf_file.h"
#include "trace/device_ring.h"

namespace gmt {
namespace {

constexpr std::uint32_t kMagic = 0xba55ed50;
constexpr std::size_t kMaxSection = std::size_t{256} << 20; // bounds what is looked at in one module
constexpr std::size_t kMaxEntry = std::size_t{32} << 20;    // decompressed
constexpr std::uint64_t kZstd = 0x8000;                     // flag of an entry
constexpr std::uint16_t kPtx = 1, kCubin = 2;

struct Container {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes; // of the entries
};
struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t compressed_bytes, options_offset;
  std::uint16_t minor, major;
  std::uint32_t architecture, name_offset, name_bytes;
  std::uint64_t flags, zero, plain_bytes;
};
static_assert(sizeof(Container) == 16 && sizeof(Entry) == 64);

template <class Any> bool read(std::span<const char> from, std::size_t at, Any& into) {
  if (at > from.size() || from.size() - at < sizeof into) return false;
  std::memcpy(&into, from.data() + at, sizeof into);
  return true;
}

bool contains(std::span<const char> text, std::string_view what) {
  return std::string_view(text.data(), text.size()).find(what) != std::string_view::npos;
}

// A name stands between zeros in a cubin's string table; in PTX a declaration ends its line with it.
DeviceMalloc device_malloc_in_code(std::span<const char> code, bool ptx) {
  if (contains(code, trace::kControlSymbol)) return DeviceMalloc::kLogged;
  const std::string zero(1, '\0');
  for (const std::string name : {"malloc", "free"}) {
    const bool called = ptx ? contains(code, " " + name + "\n") : contains(code, zero + name + zero);
    if (called) return DeviceMalloc::kCalled;
  }
  return DeviceMalloc::kNone;
}

std::optional<std::vector<char>> decompress(std::span<const char> packed, std::uint64_t plain_bytes) {
  if (plain_bytes == 0 || plain_bytes > kMaxEntry) return std::nullopt;
  std::vector<char> plain(static_cast<std::size_t>(plain_bytes));
  const std::size_t bytes = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  if (ZSTD_isError(bytes) != 0) return std::nullopt;
  plain.resize(bytes);
  return plain;
}

DeviceMalloc device_malloc_in_entry(const Entry& entry, std::span<const char> code) {
  if (entry.kind != kPtx && entry.kind != kCubin) return DeviceMalloc::kNone;
  if ((entry.flags & kZstd) == 0) return device_malloc_in_code(code, entry.kind == kPtx);
  const auto plain =
    decompress(code.first(std::min<std::size_t>(code.size(), entry.compressed_bytes)), entry.plain_bytes);
  return plain ? device_malloc_in_code(*plain, entry.kind == kPtx) : DeviceMalloc::kNone;
}

} // namespace

DeviceMalloc device_malloc_in(std::span<const char> section, Deadline deadline) {
  DeviceMalloc result = DeviceMalloc::kNone;
  Container container{};
  for (std::size_t at = 0; read(section, at, container);) {
    if (container.magic != kMagic || container.header_bytes < sizeof container) {
      at += 8; // containers are aligned
      continue;
    }
    std::size_t entry_at = at + container.header_bytes;
    const std::size_t end = std::min<std::size_t>(
      section.size(), entry_at + std::min<std::uint64_t>(container.bytes, section.size()));
    Entry entry{};
    while (entry_at < end && read(section, entry_at, entry)) {
      if (std::chrono::steady_clock::now() > deadline) return result;
      if (entry.header_bytes < sizeof entry || entry.header_bytes > end - entry_at) break;
      const std::size_t code_at = entry_at + entry.header_bytes;
      const std::size_t bytes = std::min<std::uint64_t>(entry.bytes, end - code_at);
      switch (device_malloc_in_entry(entry, section.subspan(code_at, bytes))) {
      case DeviceMalloc::kLogged: return DeviceMalloc::kLogged;
      case DeviceMalloc::kCalled: result = DeviceMalloc::kCalled; break;
      case DeviceMalloc::kNone: break;
      }
      entry_at = code_at + bytes;
    }
    at = std::max(end, at + 8);
    at += (8 - at % 8) % 8;
  }
  return result;
}

DeviceMalloc device_malloc_in(const std::filesystem::path& module, Deadline deadline) {
  const std::optional<ElfFile> file = ElfFile::open(module);
  std::size_t names = 0;
  if (!file || elf_getshdrstrndx(file->elf(), &names) != 0) return DeviceMalloc::kNone;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file->elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_size > kMaxSection) continue;
    const char* name = elf_strptr(file->elf(), names, header.sh_name);
    if (name == nullptr || std::string_view(name) != ".nv_fatbin") continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    return device_malloc_in({static_cast<const char*>(data->d_buf), data->d_size}, deadline);
  }
  return DeviceMalloc::kNone;
}

} // namespace gmt
