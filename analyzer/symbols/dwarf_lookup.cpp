// SPDX-License-Identifier: Apache-2.0
// Walks DWARF for symbols, see dwarf_lookup.h. A chain of scopes is function, inlined function,
// inlined function ...; the innermost one's line comes from the line table, each outer one's from
// the call site of the one inside it.
#include "analyzer/symbols/dwarf_lookup.h"

#include <dwarf.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "analyzer/base/byte_reader.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

std::uint64_t number(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute value;
  Dwarf_Word word = 0;
  const bool found =
    dwarf_attr(&die, attribute, &value) != nullptr && dwarf_formudata(&value, &word) == 0;
  return found ? word : 0;
}

// The innermost scope first: function, then what was inlined into it, as far as they cover the
// address.
void add_inlined(std::vector<Dwarf_Die>& chain, Dwarf_Die scope, std::uint64_t address,
                 unsigned depth) {
  Dwarf_Die child;
  if (depth > kDeepestScope || dwarf_child(&scope, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
    if (dwarf_haspc(&child, address) != 1) continue;
    if (tag == DW_TAG_inlined_subroutine) chain.push_back(child);
    add_inlined(chain, child, address, depth + 1);
    return;
  } while (dwarf_siblingof(&child, &child) == 0);
}

constexpr std::uint64_t kMostLineBytes = std::uint64_t{8} << 20; // of all units of a file

// libdw has unpacked it.
std::span<const char> line_tables_of(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    const std::string_view known = name != nullptr ? name : "";
    if (known != ".debug_line" && known != ".zdebug_line") continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const char*>(data->d_buf), data->d_size};
  }
  return {};
}

struct Line {
  std::string file;
  std::uint32_t line = 0;
};

Line line_at(Dwarf_Die& unit, std::uint64_t address) {
  Line result;
  Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
  if (line == nullptr) return result;
  if (const char* file = dwarf_linesrc(line, nullptr, nullptr); file != nullptr) result.file = file;
  int number_of_line = 0;
  if (dwarf_lineno(line, &number_of_line) == 0 && number_of_line > 0) {
    result.line = static_cast<std::uint32_t>(number_of_line);
  }
  return result;
}

Line call_site(Dwarf_Die& unit, Dwarf_Die& inlined) {
  Line result;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  const std::uint64_t index = number(inlined, DW_AT_call_file);
  if (dwarf_getsrcfiles(&unit, &files, &count) == 0 && index < count) {
    if (const char* file = dwarf_filesrc(files, index, nullptr, nullptr); file != nullptr)
      result.file = file;
  }
  result.line = static_cast<std::uint32_t>(number(inlined, DW_AT_call_line));
  return result;
}

} // namespace

std::string function_name(Dwarf_Die die) {
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute value;
    if (dwarf_attr_integrate(&die, attribute, &value) == nullptr) continue;
    if (const char* name = dwarf_formstring(&value); name != nullptr) return demangle(name);
  }
  const char* name = dwarf_diename(&die);
  return name != nullptr ? name : "";
}

DwarfLookup::DwarfLookup(Elf* elf)
    : dwarf_(elf != nullptr ? dwarf_begin_elf(elf, DWARF_C_READ, nullptr) : nullptr) {
  if (dwarf_ != nullptr) line_tables_ = line_tables_of(elf);
  index_units();
}

// A byte of a table may be a row, which takes a hundred bytes of memory.
bool DwarfLookup::may_read_lines(Dwarf_Die& unit) {
  Dwarf_Attribute value;
  Dwarf_Word at = 0;
  if (dwarf_attr(&unit, DW_AT_stmt_list, &value) == nullptr || dwarf_formudata(&value, &at) != 0)
    return true; // it has none
  const auto [known, is_new] = may_read_.try_emplace(at, true);
  if (!is_new) return known->second;
  std::uint32_t size = 0;
  std::uint64_t bytes = 0;
  if (!read_at(line_tables_, at, size)) return true; // libdw refuses it, too
  if (size != UINT32_MAX) bytes = size;
  else if (!read_at(line_tables_, at + sizeof size, bytes)) return true;
  bytes = std::min<std::uint64_t>(bytes, line_tables_.size());
  if (bytes > kMostLineBytes - line_bytes_) left_out_lines_ = true;
  else line_bytes_ += bytes;
  return known->second = !left_out_lines_;
}

DwarfLookup::~DwarfLookup() {
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
}

void DwarfLookup::add_ranges(Ranges& ranges, Dwarf_Die& die) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;) {
    // The linker sets dropped code to 0 or 1, or to the end of the address space.
    if (low > 1 && low < high) ranges.push_back({low, high, die});
  }
}

void DwarfLookup::sort(Ranges& ranges) {
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& a, const Range& b) { return a.low < b.low; });
}

const DwarfLookup::Range* DwarfLookup::find(const Ranges& ranges, std::uint64_t address) {
  auto at = std::upper_bound(ranges.begin(), ranges.end(), address,
                             [](std::uint64_t value, const Range& r) { return value < r.low; });
  // Ranges do not overlap in sound files; a few steps back forgive those that do.
  for (unsigned steps = 0; at != ranges.begin() && steps < 16; ++steps) {
    --at;
    if (address < at->high) return &*at;
  }
  return nullptr;
}

void DwarfLookup::index_units() {
  if (dwarf_ == nullptr) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Half version = 0;
  std::uint8_t type = 0;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf_, unit, &unit, &version, &type, &die, nullptr) == 0) {
    if (type == DW_UT_compile || type == DW_UT_skeleton) add_ranges(units_, die);
  }
  sort(units_);
}

void DwarfLookup::add_functions(Ranges& ranges, Dwarf_Die& parent, unsigned depth) {
  Dwarf_Die child;
  if (depth > kDeepestScope || dwarf_child(&parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
    case DW_TAG_subprogram:
      add_ranges(ranges, child);
      if (dwarf_hasattr(&child, DW_AT_declaration) == 0) add_functions(ranges, child, depth + 1);
      break;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_lexical_block: add_functions(ranges, child, depth + 1); break;
    default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

DwarfLookup::Ranges& DwarfLookup::functions_of(const Dwarf_Die& unit) {
  const auto [at, added] = functions_.try_emplace(unit.addr);
  if (added) {
    Dwarf_Die root = unit;
    add_functions(at->second, root, 0);
    sort(at->second);
  }
  return at->second;
}

// In split DWARF the skeleton has the lines, its other half the functions.
Dwarf_Die DwarfLookup::functions_root(const Dwarf_Die& unit) {
  Dwarf_Die split{};
  std::uint8_t type = 0;
  const bool is_skeleton =
    dwarf_cu_info(unit.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
    type == DW_UT_skeleton && split.addr != nullptr;
  return is_skeleton ? split : unit;
}

bool DwarfLookup::function_at(std::uint64_t address, Dwarf_Die& function) {
  const Range* unit = find(units_, address);
  const Range* found =
    unit != nullptr ? find(functions_of(functions_root(unit->die)), address) : nullptr;
  if (found != nullptr) function = found->die;
  return found != nullptr;
}

const DwarfLookup::Ranges* DwarfLookup::functions_beside(std::uint64_t address) {
  const Range* unit = find(units_, address);
  return unit != nullptr ? &functions_of(functions_root(unit->die)) : nullptr;
}

std::vector<SourceFrame> DwarfLookup::frames(std::uint64_t address) {
  const Range* unit = find(units_, address);
  if (unit == nullptr) return {};
  Dwarf_Die lines = unit->die;
  std::vector<Dwarf_Die> chain;
  if (const Range* function = find(functions_of(functions_root(lines)), address);
      function != nullptr) {
    chain.push_back(function->die);
    add_inlined(chain, function->die, address, 0);
  }
  const bool has_lines = may_read_lines(lines);
  Line at = has_lines ? line_at(lines, address) : Line();
  std::vector<SourceFrame> frames;
  for (std::size_t i = chain.size(); i-- > 0;) {
    frames.push_back({function_name(chain[i]), at.file, at.line, i > 0, nullptr});
    if (i > 0 && has_lines) at = call_site(lines, chain[i]);
  }
  if (chain.empty() && !at.file.empty()) frames.push_back({"", at.file, at.line, false, nullptr});
  return frames;
}

} // namespace gmt
