// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/register_limits.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <optional>

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::uint32_t kMostOfThread = 255;
constexpr std::uint32_t kPerLane = 65536 / 4 / 32; // registers of a part by lanes of a warp
constexpr std::uint32_t kCountedBy = 8;
constexpr std::uint32_t kWarpsOfPart = 1024 / 32 / 4; // of the largest block

// An ELF file, of which no part needs to be as it should.
class Cubin {
public:
  explicit Cubin(std::string_view bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    const bool is_elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                        header->e_ident[EI_CLASS] == ELFCLASS64 &&
                        header->e_shentsize == sizeof(Elf64_Shdr);
    if (is_elf) header_ = *header;
  }

  std::uint32_t sections() const { return header_.e_shnum; }
  std::optional<Elf64_Shdr> section(std::uint32_t index) const {
    if (index >= sections()) return std::nullopt;
    return at<Elf64_Shdr>(header_.e_shoff + std::uint64_t{index} * sizeof(Elf64_Shdr));
  }
  std::string_view content(const Elf64_Shdr& section) const {
    const bool is_inside = section.sh_type != SHT_NOBITS && section.sh_offset <= bytes_.size() &&
                           section.sh_size <= bytes_.size() - section.sh_offset;
    return is_inside ? bytes_.substr(section.sh_offset, section.sh_size) : std::string_view();
  }
  std::string_view name(const Elf64_Shdr& of) const {
    const auto names = section(header_.e_shstrndx);
    return names ? text_at(content(*names), of.sh_name) : std::string_view();
  }
  std::string_view name_of_symbol(std::uint32_t index) const {
    for (std::uint32_t i = 0; i < sections(); ++i) {
      const auto table = section(i);
      if (!table || table->sh_type != SHT_SYMTAB) continue;
      const std::string_view symbols = content(*table);
      const auto names = section(table->sh_link);
      if (!names || index >= symbols.size() / sizeof(Elf64_Sym)) return {};
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols.data() + index * sizeof symbol, sizeof symbol);
      return text_at(content(*names), symbol.st_name);
    }
    return {};
  }

private:
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    T value;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) return std::nullopt;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  static std::string_view text_at(std::string_view all, std::size_t offset) {
    if (offset >= all.size()) return {};
    const std::string_view text = all.substr(offset);
    return text.substr(0, std::min(text.find('\0'), text.size()));
  }

  std::string_view bytes_;
  Elf64_Ehdr header_{};
};

struct Count { // as .nv.info has it
  std::uint32_t symbol, registers;
};

// Calls `visit(Count)` for each entry of .nv.info that is one. An entry: format, attribute, two
// bytes of size or value; with format 4 that many bytes follow.
template <class Visit>
void for_each_count(std::string_view info, Visit visit) {
  constexpr unsigned char kSized = 4, kRegisterCount = 0x2f;
  while (info.size() >= 4) {
    std::uint16_t bytes = 0;
    std::memcpy(&bytes, info.data() + 2, sizeof bytes);
    const auto format = static_cast<unsigned char>(info[0]);
    const auto attribute = static_cast<unsigned char>(info[1]);
    info.remove_prefix(4);
    if (format != kSized) continue;
    if (bytes > info.size()) return;
    Count count;
    if (attribute == kRegisterCount && bytes == sizeof count) {
      std::memcpy(&count, info.data(), sizeof count);
      visit(count);
    }
    info.remove_prefix(bytes);
  }
}

} // namespace

std::uint32_t most_for_equal_threads(std::uint32_t registers) {
  const std::uint32_t used =
    std::max((registers + kCountedBy - 1) / kCountedBy * kCountedBy, kCountedBy);
  const std::uint32_t warps = std::clamp(kPerLane / used, 1U, kWarpsOfPart);
  return std::min(kPerLane / warps / kCountedBy * kCountedBy, kMostOfThread);
}

RegisterCounts registers_of(std::string_view cubin) {
  RegisterCounts counts;
  const Cubin file(cubin);
  for (std::uint32_t i = 0; i < file.sections(); ++i) {
    const auto section = file.section(i);
    if (!section || file.name(*section) != ".nv.info") continue;
    for_each_count(file.content(*section), [&](const Count& count) {
      const std::string_view name = file.name_of_symbol(count.symbol);
      if (!name.empty()) counts.emplace(name, count.registers);
    });
  }
  return counts;
}

bool has_limit(const ptx::Function& kernel) {
  return kernel.max_registers != 0 || kernel.max_threads[0] != 0 || kernel.required_threads[0] != 0;
}

std::string limit_registers(const std::string& text,
                            const std::function<std::uint32_t(std::string_view)>& most) {
  const ptx::Module module = ptx::parse_module(text);
  std::map<std::size_t, std::uint32_t> limits; // by where a body begins; it may be declared before
  for (const ptx::Function& function : module.functions()) {
    const bool may_have_one = function.is_entry && function.has_body && !has_limit(function);
    const std::uint32_t limit = may_have_one ? most(function.name) : 0;
    if (limit != 0) limits.emplace(function.body_begin - 1, limit);
  }
  std::string limited;
  std::size_t copied = 0;
  for (const auto& [bracket, limit] : limits) {
    limited.append(text, copied, bracket - copied);
    limited += " .maxnreg " + std::to_string(limit) + " ";
    copied = bracket;
  }
  return limited.append(text, copied);
}

} // namespace gmt::interposer::kernel_checks
