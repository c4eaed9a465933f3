// SPDX-License-Identifier: Apache-2.0
// ELF access for symbols, see elf_file.h. Tables of a gigabyte library have some 100,000 entries: they are
// walked once for all addresses wanted, without an index, so that only pages of the table itself are touched.
#include "analyzer/symbols/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace gmt {
namespace fs = std::filesystem;

std::optional<ElfFile> ElfFile::open(const fs::path& path) {
  elf_version(EV_CURRENT);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  ElfFile file(descriptor, elf_begin(descriptor, ELF_C_READ_MMAP, nullptr));
  GElf_Ehdr header;
  const bool usable = file.elf_ != nullptr && elf_kind(file.elf_) == ELF_K_ELF &&
                      gelf_getehdr(file.elf_, &header) != nullptr &&
                      (header.e_type == ET_EXEC || header.e_type == ET_DYN);
  if (!usable) return std::nullopt;
  return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), elf_(std::exchange(other.elf_, nullptr)) {}

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

bool ElfFile::has_section(const char* name) const {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* found = elf_strptr(elf_, names, header.sh_name);
    if (found != nullptr && std::strcmp(found, name) == 0 && header.sh_type != SHT_NOBITS) return true;
  }
  return false;
}

void ElfFile::name_addresses(std::span<SymbolName> sorted) const {
  for (const GElf_Word type : {GElf_Word{SHT_SYMTAB}, GElf_Word{SHT_DYNSYM}}) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type)
        name_from_table(section, sorted);
    }
  }
}

namespace {

struct BestSymbol {
  std::uint64_t value = 0;
  GElf_Word name = 0; // 0: none
};

bool names_a_function(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_name != 0 &&
         (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

} // namespace

void ElfFile::name_from_table(Elf_Scn* section, std::span<SymbolName> sorted) const {
  GElf_Shdr header;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) return;
  std::vector<BestSymbol> best(sorted.size());
  const std::uint64_t count = header.sh_size / header.sh_entsize;
  for (std::uint64_t i = 0; i < count && i < INT32_MAX; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    if (!names_a_function(symbol)) continue;
    // A symbol without a size (hand-written assembly) covers its first bytes only: a guess may not reach far.
    const std::uint64_t size = symbol.st_size != 0 ? symbol.st_size : 64;
    auto at = std::lower_bound(sorted.begin(), sorted.end(), symbol.st_value,
                               [](const SymbolName& s, std::uint64_t value) { return s.address < value; });
    for (; at != sorted.end() && at->address - symbol.st_value < size; ++at) {
      BestSymbol& b = best[static_cast<std::size_t>(at - sorted.begin())];
      if (b.name == 0 || symbol.st_value > b.value) b = {symbol.st_value, symbol.st_name};
    }
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (best[i].name == 0 || !sorted[i].name.empty()) continue;
    const char* name = elf_strptr(elf_, header.sh_link, best[i].name);
    if (name != nullptr) sorted[i].name = name;
  }
}

void ElfFile::find_functions(std::map<std::string, std::uint64_t>& names) const {
  // Hidden functions are local once they are linked, as are those of one unit alone, which may share a name.
  std::map<std::string, std::uint64_t> local;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) continue;
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    const std::uint64_t count = header.sh_size / header.sh_entsize;
    for (std::uint64_t i = 0; data != nullptr && i < count && i < INT32_MAX; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
      const auto at = name != nullptr ? names.find(name) : names.end();
      if (at == names.end()) continue;
      if (GELF_ST_BIND(symbol.st_info) != STB_LOCAL) {
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
  for (const GElf_Word type : {GElf_Word{SHT_SYMTAB}, GElf_Word{SHT_DYNSYM}}) {
    for (Elf_Scn* section = nullptr; found.empty() && (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != type || header.sh_entsize == 0) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      const std::uint64_t count = data != nullptr ? header.sh_size / header.sh_entsize : 0;
      for (std::uint64_t i = 0; i < count && i < INT32_MAX; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
        const bool is_variable = GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF;
        if (!is_variable || symbol.st_size == 0) continue;
        const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
        if (name != nullptr && name[0] != '\0') found.push_back({name, symbol.st_value, symbol.st_size});
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
