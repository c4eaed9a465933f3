// SPDX-License-Identifier: Apache-2.0
// The symbols of a cubin; see declarations.h.
#include "simulated_cuda/driver/code/declarations.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace gmt::sim {
namespace {

constexpr unsigned char kEntryPoint = 0x10; // st_other of kernels
constexpr unsigned char kManaged = 0x04;    // st_other of __managed__ variables

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

class Cubin {
public:
  Cubin(const char* file, Image* image)
      : file_(file), image_(image), header_(load<Elf64_Ehdr>(file)) {}

  void read() {
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      if (section(i).sh_type == SHT_SYMTAB) read_symbols(section(i));
    }
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const std::string_view name = section_name(section(i));
      constexpr std::string_view kInfo = ".nv.info.";
      if (name.substr(0, kInfo.size()) == kInfo)
        read_parameters(std::string(name.substr(kInfo.size())), section(i));
    }
  }

private:
  Elf64_Shdr section(unsigned index) const {
    return load<Elf64_Shdr>(file_ + header_.e_shoff + std::size_t{index} * header_.e_shentsize);
  }
  const char* section_name(const Elf64_Shdr& s) const {
    return file_ + section(header_.e_shstrndx).sh_offset + s.sh_name;
  }

  void read_symbols(const Elf64_Shdr& table) {
    const char* names = file_ + section(table.sh_link).sh_offset;
    for (std::size_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = load<Elf64_Sym>(file_ + table.sh_offset + at);
      const char* name = names + symbol.st_name;
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (std::strcmp(name, "malloc") == 0) image_->uses_device_heap = true;
      if (type == STT_FUNC && (symbol.st_other & kEntryPoint) != 0) image_->kernels[name];
      if (type == STT_OBJECT && symbol.st_size != 0 && symbol.st_shndx < header_.e_shnum)
        add_variable(name, symbol);
    }
  }

  void add_variable(const char* name, const Elf64_Sym& symbol) {
    const Elf64_Shdr home = section(symbol.st_shndx);
    const std::string_view kind = section_name(home);
    if (kind.substr(0, 10) != ".nv.global" && kind.substr(0, 12) != ".nv.constant") return;
    Variable variable;
    variable.size = symbol.st_size;
    variable.managed = (symbol.st_other & kManaged) != 0;
    if (home.sh_type != SHT_NOBITS && symbol.st_value + symbol.st_size <= home.sh_size) {
      const auto* first =
        reinterpret_cast<const std::byte*>(file_ + home.sh_offset + symbol.st_value);
      variable.first_value.assign(first, first + symbol.st_size);
    }
    image_->variables[name] = std::move(variable);
  }

  // .nv.info.<kernel> is a list of attributes; 0x17 describes one parameter: ordinal, offset and
  // (shifted) size.
  void read_parameters(const std::string& kernel, const Elf64_Shdr& info) {
    const auto it = image_->kernels.find(kernel);
    if (it == image_->kernels.end()) return; // a device function, not a kernel
    auto& parameters = it->second;
    const char* at = file_ + info.sh_offset;
    const char* end = at + info.sh_size;
    while (at + 4 <= end) {
      const auto format = static_cast<unsigned char>(at[0]);
      const auto attribute = static_cast<unsigned char>(at[1]);
      const auto bytes = load<std::uint16_t>(at + 2);
      at += 4;
      if (format != 4) continue; // the value is inside the first word
      if (attribute == 0x17 && bytes >= 12) {
        const auto ordinal = load<std::uint16_t>(at + 4);
        if (parameters.size() <= ordinal) parameters.resize(std::size_t{ordinal} + 1);
        parameters[ordinal] = {load<std::uint16_t>(at + 6), load<std::uint32_t>(at + 8) >> 18};
      }
      at += bytes;
    }
  }

  const char* file_;
  Image* image_;
  Elf64_Ehdr header_;
};

} // namespace

void read_cubin(const char* file, Image* image) { Cubin(file, image).read(); }

} // namespace gmt::sim
