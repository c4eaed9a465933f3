// SPDX-License-Identifier: Apache-2.0
// ELF access for symbols, see elf_file.h. Tables of a gigabyte library have some 100,000 entries:
// they are walked once for all addresses wanted, without an index, so that only pages of the table
// itself are read.
#include "analyzer/symbols/elf_file.h"

#include <elfutils/libdwelf.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/base/byte_reader.h"
#include "analyzer/base/folder_files.h"

namespace gmt {
namespace fs = std::filesystem;

std::optional<ElfFile> ElfFile::open(const fs::path& path) {
  elf_version(EV_CURRENT);
  const int descriptor = open_regular(path).release();
  if (descriptor < 0) return std::nullopt;
  ElfFile file(descriptor, elf_begin(descriptor, ELF_C_READ_MMAP, nullptr));
  if (file.elf_ == nullptr || elf_kind(file.elf_) != ELF_K_ELF) return std::nullopt;
  std::size_t size = 0;
  const char* bytes = elf_rawfile(file.elf_, &size);
  if (bytes == nullptr) return std::nullopt;
  std::optional<ElfImage> image = ElfImage::open({bytes, size});
  if (!image) return std::nullopt;
  const unsigned type = image->header().e_type;
  if (type != ET_EXEC && type != ET_DYN) return std::nullopt;
  file.image_ = std::move(*image);
  return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), elf_(std::exchange(other.elf_, nullptr)),
      image_(std::move(other.image_)) {}

ElfFile::~ElfFile() {
  if (elf_ != nullptr) elf_end(elf_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string ElfFile::build_id() const {
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf_, &bytes);
  std::string hex;
  for (ssize_t i = 0; i < size; ++i) {
    const unsigned byte = static_cast<const unsigned char*>(bytes)[i];
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

bool ElfFile::has_section(std::string_view name) const {
  const ElfImage::Section* section = image_.find(name);
  return section != nullptr && section->type != SHT_NOBITS;
}

std::uint64_t ElfFile::unpacked_debug_bytes() const {
  std::uint64_t sum = 0;
  for (const ElfImage::Section& section : image_.sections()) {
    std::uint64_t bytes = 0;
    Elf64_Chdr header;
    if (section.name.starts_with(".zdebug")) { // "ZLIB", then the size with its first byte first
      if (read_at(section.data, 4, bytes)) bytes = __builtin_bswap64(bytes);
    } else if ((section.flags & SHF_COMPRESSED) != 0 && read_at(section.data, 0, header)) {
      bytes = header.ch_size;
    }
    if (__builtin_add_overflow(sum, bytes, &sum)) return UINT64_MAX;
  }
  return sum;
}

void ElfFile::name_addresses(std::span<SymbolName> sorted) const {
  for (const auto type : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
    for (const ElfImage::Section& section : image_.sections()) {
      if (section.type == type) name_from_table(section, sorted);
    }
  }
}

namespace {

struct BestSymbol {
  std::uint64_t value = 0;
  std::uint32_t name = 0; // 0: none
};

bool names_a_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_name != 0 &&
         (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

} // namespace

void ElfFile::name_from_table(const ElfImage::Section& table, std::span<SymbolName> sorted) const {
  std::vector<BestSymbol> best(sorted.size());
  Elf64_Sym symbol;
  for (std::uint64_t entry = 0; read_at(table.data, entry, symbol); entry += sizeof symbol) {
    if (!names_a_function(symbol)) continue;
    // A symbol without a size (hand-written assembly) covers its first bytes only: a guess may not
    // reach far.
    const std::uint64_t size = symbol.st_size != 0 ? symbol.st_size : 64;
    auto at =
      std::lower_bound(sorted.begin(), sorted.end(), symbol.st_value,
                       [](const SymbolName& s, std::uint64_t value) { return s.address < value; });
    for (; at != sorted.end() && at->address - symbol.st_value < size; ++at) {
      BestSymbol& b = best[static_cast<std::size_t>(at - sorted.begin())];
      if (b.name == 0 || symbol.st_value > b.value) b = {symbol.st_value, symbol.st_name};
    }
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (best[i].name == 0 || !sorted[i].name.empty()) continue;
    sorted[i].name = image_.linked_text(table, best[i].name);
  }
}

void ElfFile::find_functions(std::map<std::string, std::uint64_t>& names) const {
  // Hidden functions are local once they are linked, as are those of one unit alone, which may
  // share a name.
  std::map<std::string, std::uint64_t> local;
  for (const ElfImage::Section& table : image_.sections()) {
    if (table.type != SHT_SYMTAB && table.type != SHT_DYNSYM) continue;
    Elf64_Sym symbol;
    for (std::uint64_t entry = 0; read_at(table.data, entry, symbol); entry += sizeof symbol) {
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const std::string name(image_.linked_text(table, symbol.st_name));
      const auto at = names.find(name);
      if (at == names.end()) continue;
      if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) {
        at->second = symbol.st_value;
      } else if (const auto [one, is_first] = local.try_emplace(name, symbol.st_value); !is_first) {
        one->second = one->second == symbol.st_value ? symbol.st_value : 0;
      }
    }
  }
  for (auto& [name, address] : names) {
    if (const auto at = local.find(name); address == 0 && at != local.end()) address = at->second;
  }
}

std::vector<DataSymbol> ElfFile::variables() const {
  std::vector<DataSymbol> found;
  for (const auto type : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
    for (const ElfImage::Section& table : image_.sections()) {
      if (!found.empty()) return found;
      if (table.type != type) continue;
      Elf64_Sym symbol;
      for (std::uint64_t entry = 0; read_at(table.data, entry, symbol); entry += sizeof symbol) {
        const bool is_variable =
          ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF;
        if (!is_variable || symbol.st_size == 0) continue;
        const std::string_view name = image_.linked_text(table, symbol.st_name);
        if (!name.empty()) found.push_back({std::string(name), symbol.st_value, symbol.st_size});
      }
    }
  }
  return found;
}

std::optional<ElfFile> open_debug_file(const ElfFile& file, const fs::path& path,
                                       std::span<const fs::path> roots) {
  const std::string id = file.build_id();
  if (id.size() < 4) return std::nullopt;
  std::vector<fs::path> candidates;
  for (const fs::path& root : roots) {
    candidates.push_back(root / ".build-id" / id.substr(0, 2) / (id.substr(2) + ".debug"));
  }
  GElf_Word crc = 0;
  if (const char* link = dwelf_elf_gnu_debuglink(file.elf(), &crc); link != nullptr) {
    const fs::path folder = path.parent_path();
    candidates.push_back(folder / link);
    candidates.push_back(folder / ".debug" / link);
    for (const fs::path& root : roots) candidates.push_back(root / folder.relative_path() / link);
  }
  for (const fs::path& candidate : candidates) {
    if (candidate == path) continue;
    std::optional<ElfFile> debug = ElfFile::open(candidate);
    if (debug && debug->build_id() == id) return debug;
  }
  return std::nullopt;
}

} // namespace gmt
