// SPDX-License-Identifier: Apache-2.0
// Readers for the forms of device code. Nothing is executed, only symbols are looked at.
// Sizes inside a fat binary are trusted as the real driver trusts them: the image comes from the
// program itself.
#include "image.h"

#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace gmt::sim {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint64_t kCompressedFlags = 0xa000; // LZ4 or zstd
constexpr unsigned char kEntryPoint = 0x10;   // st_other of kernels
constexpr unsigned char kManaged = 0x04;      // st_other of __managed__ variables

struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t payload_bytes;
};

struct FatbinEntry {
  uint16_t kind; // 1 PTX, 2 ELF
  uint16_t version;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t words[6];
  uint64_t flags;
};

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
    return load<Elf64_Shdr>(file_ + header_.e_shoff + size_t{index} * header_.e_shentsize);
  }
  const char* section_name(const Elf64_Shdr& s) const {
    return file_ + section(header_.e_shstrndx).sh_offset + s.sh_name;
  }

  void read_symbols(const Elf64_Shdr& table) {
    const char* names = file_ + section(table.sh_link).sh_offset;
    for (size_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
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
      const auto bytes = load<uint16_t>(at + 2);
      at += 4;
      if (format != 4) continue; // the value is inside the first word
      if (attribute == 0x17 && bytes >= 12) {
        const auto ordinal = load<uint16_t>(at + 4);
        if (parameters.size() <= ordinal) parameters.resize(size_t{ordinal} + 1);
        parameters[ordinal] = {load<uint16_t>(at + 6), load<uint32_t>(at + 8) >> 18};
      }
      at += bytes;
    }
  }

  const char* file_;
  Image* image_;
  Elf64_Ehdr header_;
};

std::string_view next_word(std::string_view* text) {
  const size_t start = text->find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return *text = {};
  size_t end = text->find_first_of(" \t\r\n(),;[", start);
  if (end == std::string_view::npos) end = text->size();
  if (end == start) ++end;
  const std::string_view word = text->substr(start, end - start);
  text->remove_prefix(end);
  return word;
}

size_t size_of_ptx_type(std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  return static_cast<size_t>(std::atoi(std::string(type.substr(digits)).c_str())) / 8;
}

// ".global .align 4 .b8 table[400];" after the state space: a variable's size, or a parameter's.
size_t read_ptx_declaration(std::string_view* text, std::string* name) {
  size_t element = 0;
  std::string_view word = next_word(text);
  while (!word.empty() && word[0] == '.') {
    if (word == ".align") next_word(text);
    else element = size_of_ptx_type(word) != 0 ? size_of_ptx_type(word) : element;
    word = next_word(text);
  }
  *name = word;
  if (text->empty() || text->front() != '[') return element;
  text->remove_prefix(1);
  return element * static_cast<size_t>(std::atoll(std::string(next_word(text)).c_str()));
}

void read_ptx(std::string_view text, Image* image) {
  std::string kernel;
  while (!text.empty()) {
    const std::string_view word = next_word(&text);
    std::string name;
    if (word == ".entry") {
      kernel = next_word(&text);
      image->kernels[kernel];
    } else if (word == ".func" || word == "{") {
      kernel.clear(); // .param now belongs to calls inside a body
    } else if (word == ".param" && !kernel.empty()) {
      auto& parameters = image->kernels[kernel];
      const size_t size = read_ptx_declaration(&text, &name);
      const size_t before =
        parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
      const size_t alignment = size == 0 ? 1 : size < 8 ? size : 8;
      parameters.push_back({(before + alignment - 1) / alignment * alignment, size});
    } else if (word == ".global" || word == ".const") {
      const size_t size = read_ptx_declaration(&text, &name);
      if (size != 0) image->variables[name].size = size;
    } else if (word == "malloc") {
      image->uses_device_heap = true;
    }
  }
}

bool read_fatbin(const char* fatbin, Image* image) {
  const auto header = load<FatbinHeader>(fatbin);
  const char* at = fatbin + header.header_bytes;
  const char* end = at + header.payload_bytes;
  bool readable = false;
  for (int wanted : {2, 1}) { // cubins say more than PTX
    for (const char* entry_at = at; entry_at < end && !readable;) {
      const auto entry = load<FatbinEntry>(entry_at);
      const char* payload = entry_at + entry.header_bytes;
      if (entry.kind == wanted && (entry.flags & kCompressedFlags) == 0) {
        readable = true;
        if (wanted == 2) Cubin(payload, image).read();
        else read_ptx({payload, strnlen(payload, entry.payload_bytes)}, image);
      }
      entry_at = payload + entry.payload_bytes;
    }
  }
  image->opaque = !readable;
  return true;
}

} // namespace

bool read_image(const void* code, Image* image) {
  const auto* bytes = static_cast<const char*>(code);
  const auto magic = load<uint32_t>(bytes);
  if (magic == kWrapperMagic) return read_image(load<const void*>(bytes + 8), image);
  if (magic == kFatbinMagic) return read_fatbin(bytes, image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    Cubin(bytes, image).read();
    return true;
  }
  const std::string_view text(bytes, strnlen(bytes, size_t{1} << 28));
  if (text.find(".version") == std::string_view::npos) return false;
  read_ptx(text, image);
  return true;
}

} // namespace gmt::sim
