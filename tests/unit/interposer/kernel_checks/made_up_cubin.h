// SPDX-License-Identifier: Apache-2.0
// An ELF file that says of kernels how many registers they use, as ptxas writes it.
#pragma once

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <utility>
#include <vector>

namespace gmt::interposer::kernel_checks {

struct MadeUpCubin {
  static std::string of(const std::vector<std::pair<std::string, std::uint32_t>>& kernels) {
    const std::string section_names("\0.shstrtab\0.strtab\0.symtab\0.nv.info\0", 36);
    std::string names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0');
    // An attribute without bytes behind it, and one of another kind, come first.
    std::string info("\1\x36\0\0\4\x12\4\0\1\2\3\4", 12);
    std::uint32_t index = 0;
    for (const auto& [kernel, registers] : kernels) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<Elf64_Word>(names.size());
      symbols.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
      names += kernel + '\0';
      const std::uint32_t words[] = {++index, registers};
      info.append("\4\x2f\10\0", 4).append(reinterpret_cast<const char*>(words), sizeof words);
    }
    std::string file(sizeof(Elf64_Ehdr), '\0');
    std::vector<Elf64_Shdr> sections(1);
    const auto add = [&](Elf64_Word name, Elf64_Word type, const std::string& content) {
      Elf64_Shdr section{};
      section.sh_name = name;
      section.sh_type = type;
      section.sh_offset = file.size();
      section.sh_size = content.size();
      section.sh_link = 2; // the names of symbols
      file += content;
      sections.push_back(section);
    };
    add(1, SHT_STRTAB, section_names);
    add(11, SHT_STRTAB, names);
    add(19, SHT_SYMTAB, symbols);
    add(27, SHT_LOPROC, info);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = file.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    header.e_shstrndx = 1;
    std::memcpy(file.data(), &header, sizeof header);
    file.append(reinterpret_cast<const char*>(sections.data()),
                sections.size() * sizeof sections[0]);
    return file;
  }
};

} // namespace gmt::interposer::kernel_checks
