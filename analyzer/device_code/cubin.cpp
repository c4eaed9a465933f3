// SPDX-License-Identifier: Apache-2.0
// Reads cubins, see cubin.h. What is NVIDIA's own was learnt from files.
#include "analyzer/device_code/cubin.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "analyzer/base/byte_reader.h"
#include "analyzer/device_code/sass.h"

namespace gmt {
namespace {

constexpr std::string_view kText = ".text.";
// ABI version since CUDA 13: the architecture has moved in the flags
constexpr unsigned char kNewLayout = 8;

} // namespace

std::optional<Cubin> Cubin::open(std::span<const char> bytes) {
  std::optional<ElfImage> image = ElfImage::open(bytes);
  if (!image || image->header().e_machine != EM_CUDA || image->sections().empty())
    return std::nullopt;
  return Cubin(std::move(*image));
}

Cubin::Cubin(ElfImage image) : image_(std::move(image)) {
  const Elf64_Ehdr& header = image_.header();
  const bool new_layout = header.e_ident[EI_ABIVERSION] >= kNewLayout;
  architecture_ = (new_layout ? header.e_flags >> 8 : header.e_flags) & 0xff;
}

std::vector<std::string_view> Cubin::functions() const {
  std::vector<std::string_view> names;
  for (const Section& section : image_.sections()) {
    if (section.type == SHT_PROGBITS && section.name.starts_with(kText))
      names.push_back(section.name.substr(kText.size()));
  }
  for (const Symbol& symbol : symbols()) {
    if (const std::string_view name = symbol.inner(); !name.empty()) names.push_back(name);
  }
  return names;
}

std::vector<Cubin::Variable> Cubin::variables() const {
  std::vector<Variable> found;
  for (const Symbol& symbol : symbols()) {
    if (symbol.variable) found.push_back({symbol.name, symbol.bytes});
  }
  return found;
}

// Its symbol is "$kernel$function".
std::string_view Cubin::Symbol::inner() const {
  if (!function || section == SHN_UNDEF || !name.starts_with('$')) return {};
  return name.substr(name.rfind('$') + 1);
}

std::vector<Cubin::Symbol> Cubin::symbols() const {
  std::vector<Symbol> result;
  const Section* table = image_.find(".symtab");
  if (table == nullptr) return result;
  Elf64_Sym symbol;
  for (std::uint64_t at = 0; read_at(table->data, at, symbol); at += sizeof symbol) {
    const std::size_t section = symbol.st_shndx;
    // 0 in a cubin that is not loaded: then the value is the offset.
    const std::uint64_t base =
      section < image_.sections().size() ? image_.sections()[section].address : 0;
    const std::uint64_t offset = symbol.st_value >= base ? symbol.st_value - base : symbol.st_value;
    result.push_back({image_.linked_text(*table, symbol.st_name), section, offset, symbol.st_size,
                      base != 0 ? symbol.st_value : 0, ELF64_ST_TYPE(symbol.st_info) == STT_FUNC,
                      ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF});
  }
  return result;
}

CubinLines Cubin::lines_of(std::size_t section, std::span<const Symbol> symbols) const {
  const Section* table = image_.find(".debug_line");
  if (table == nullptr) return {};
  const auto index = static_cast<std::uint32_t>(table - image_.sections().data());
  std::map<std::uint64_t, CodeAddress> relocations;
  const auto add = [&](std::uint64_t at, std::uint64_t info, std::uint64_t addend) {
    const std::uint64_t symbol = ELF64_R_SYM(info);
    if (symbol >= symbols.size()) return;
    const Symbol& target = symbols[static_cast<std::size_t>(symbol)];
    relocations[at] = {target.section, target.offset + addend};
  };
  for (const Section& relocated : image_.sections()) {
    if (relocated.info != index) continue;
    Elf64_Rela with_addend;
    Elf64_Rel without;
    if (relocated.type == SHT_RELA) {
      for (std::uint64_t at = 0; read_at(relocated.data, at, with_addend); at += sizeof with_addend)
        add(with_addend.r_offset, with_addend.r_info,
            static_cast<std::uint64_t>(with_addend.r_addend));
    } else if (relocated.type == SHT_REL) {
      for (std::uint64_t at = 0; read_at(relocated.data, at, without); at += sizeof without) {
        std::uint64_t addend = 0;
        if (read_at(table->data, without.r_offset, addend))
          add(without.r_offset, without.r_info, addend);
      }
    }
  }
  const Section* names = image_.find(".debug_str");
  return {table->data, names != nullptr ? names->data : std::span<const char>{}, relocations,
          section};
}

std::optional<Cubin::Location> Cubin::locate(std::uint64_t address) const {
  const std::vector<Symbol> symbols = this->symbols();
  const Symbol* found = nullptr; // the innermost
  for (const Symbol& symbol : symbols) {
    const bool around = symbol.function && symbol.address != 0 && address >= symbol.address &&
                        address - symbol.address < symbol.bytes;
    if (around && (found == nullptr || symbol.bytes < found->bytes)) found = &symbol;
  }
  if (found == nullptr || found->section >= image_.sections().size()) return std::nullopt;
  const Section& section = image_.sections()[found->section];
  Location result;
  result.function = found->inner().empty() ? found->name : found->inner();
  result.kernel =
    section.name.starts_with(kText) ? section.name.substr(kText.size()) : result.function;
  result.offset = address - found->address;
  result.rest = found->bytes - result.offset;
  result.code = part_of(section.data, found->offset, found->bytes);
  const CubinLines lines = lines_of(found->section, symbols);
  result.lines = lines.lines(found->offset + result.offset, result.function);
  return result;
}

std::uint64_t Cubin::address_constant(std::uint64_t offset) const {
  const Section* constants = image_.find(".nv.constant4");
  std::uint64_t address = 0;
  return constants != nullptr && read_at(constants->data, offset, address) ? address : 0;
}

// The driver gives each variable an address of its own, in no order. So a text is found by its
// length.
std::string_view Cubin::text_at(std::uint64_t address) const {
  const Section* initial = image_.find(".nv.global.init");
  if (initial == nullptr || address == 0) return {};
  const auto index = static_cast<std::size_t>(initial - image_.sections().data());
  std::uint64_t bytes = 0;
  for (const Symbol& symbol : symbols()) {
    // The section itself keeps the address 0.
    if (symbol.variable && symbol.section == index && symbol.offset == address)
      bytes = symbol.bytes;
  }
  if (bytes == 0) return {};
  std::string_view rest(initial->data.data(), initial->data.size()), found;
  while (!rest.empty()) {
    const std::string_view text = rest.substr(0, rest.find('\0'));
    if (text.size() + 1 == bytes) {
      if (!found.empty() && found != text) return {};
      found = text;
    }
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
  }
  return found;
}

std::optional<FunctionCode> Cubin::function(std::string_view name) const {
  if (name.empty()) return std::nullopt;
  const std::vector<Symbol> symbols = this->symbols();
  Symbol wanted;
  if (const Section* own = image_.find(std::string(kText) + std::string(name)); own != nullptr) {
    wanted = {.name = name,
              .section = static_cast<std::size_t>(own - image_.sections().data()),
              .bytes = own->data.size(),
              .function = true};
  } else {
    const auto inner = std::ranges::find(symbols, name, &Symbol::inner);
    if (inner == symbols.end()) return std::nullopt;
    wanted = *inner;
  }
  if (wanted.section >= image_.sections().size()) return std::nullopt;
  const std::span<const char> code =
    part_of(image_.sections()[wanted.section].data, wanted.offset, wanted.bytes);
  const CubinLines lines = lines_of(wanted.section, symbols);
  FunctionCode result;
  result.name = name;
  result.has_lines = !lines.empty();
  result.instructions = decode_function(code, architecture_);
  std::vector<Symbol> inner; // functions within the kernel's section
  std::ranges::copy_if(symbols, std::back_inserter(inner), [&](const Symbol& symbol) {
    return symbol.section == wanted.section && !symbol.inner().empty();
  });
  for (Instruction& instruction : result.instructions) {
    const std::uint64_t offset = wanted.offset + instruction.offset;
    const auto around = std::ranges::find_if(inner, [offset](const Symbol& symbol) {
      return offset >= symbol.offset && offset - symbol.offset < symbol.bytes;
    });
    instruction.lines = lines.lines(offset, around == inner.end() ? name : around->inner());
  }
  return result;
}

} // namespace gmt
