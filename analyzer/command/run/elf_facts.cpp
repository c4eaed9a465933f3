// SPDX-License-Identifier: Apache-2.0
// Reads the few ELF headers that decide about preloading; see program_check.h. No library: 32-bit, foreign
// and damaged files must be told apart, not refused. Every offset is checked against the file by the read
// itself.

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "analyzer/command/run/program_check.h"

namespace gmt {

namespace {

constexpr std::size_t kMaxString = 4096;
constexpr std::size_t kMaxEntries = 65536; // bounds what a damaged header can make us read

class File {
public:
  explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  template <class T>
  bool read(std::uint64_t offset, T& value) const {
    return ::pread(descriptor_, &value, sizeof value, static_cast<off_t>(offset)) == ssize_t{sizeof value};
  }
  std::string string(std::uint64_t offset) const {
    std::string text(kMaxString, '\0');
    const ssize_t got = ::pread(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text.substr(0, std::min(text.find('\0'), text.size()));
  }

private:
  int descriptor_;
};

std::vector<Elf64_Phdr> read_segments(const File& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(header.e_phoff + i * sizeof segment, segment)) break;
    segments.push_back(segment);
  }
  return segments;
}

void read_dynamic(const File& file, const std::vector<Elf64_Phdr>& segments, const Elf64_Phdr& dynamic,
                  ElfFacts& facts) {
  std::vector<Elf64_Dyn> entries;
  std::uint64_t strings = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(dynamic.p_filesz / sizeof(Elf64_Dyn), kMaxEntries); ++i) {
    Elf64_Dyn entry;
    if (!file.read(dynamic.p_offset + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) {
      for (const Elf64_Phdr& s : segments)
        if (s.p_type == PT_LOAD && entry.d_un.d_ptr >= s.p_vaddr && entry.d_un.d_ptr - s.p_vaddr < s.p_filesz)
          strings = entry.d_un.d_ptr - s.p_vaddr + s.p_offset;
    }
    entries.push_back(entry);
  }
  if (strings == 0) return;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(file.string(strings + entry.d_un.d_val));
    if (entry.d_tag == DT_RPATH) facts.rpath = file.string(strings + entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH) facts.runpath = file.string(strings + entry.d_un.d_val);
  }
}

bool has_device_code(const File& file, const Elf64_Ehdr& header) {
  Elf64_Shdr names;
  if (!file.read(header.e_shoff + std::uint64_t{header.e_shstrndx} * sizeof names, names)) return false;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!file.read(header.e_shoff + i * sizeof section, section)) return false;
    if (file.string(names.sh_offset + section.sh_name) == ".nv_fatbin") return true;
  }
  return false;
}

} // namespace

ElfFacts read_elf_facts(const std::string& path) {
  ElfFacts facts;
  const File file(path);
  Elf64_Ehdr header;
  if (!file.read(0, header.e_ident) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return facts;
  facts.elf = true;
  facts.bits64 = header.e_ident[EI_CLASS] == ELFCLASS64;
  facts.little_endian = header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!facts.little_endian || !file.read(offsetof(Elf64_Ehdr, e_machine), facts.machine)) return facts;
  if (!facts.bits64 || !file.read(0, header)) return facts;

  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) facts.interpreter = file.string(segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) read_dynamic(file, segments, segment, facts);
  }
  facts.device_code = has_device_code(file, header);
  return facts;
}

bool built_for_this_machine(const ElfFacts& facts) {
#if defined(__x86_64__)
  constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr std::uint16_t kMachine = EM_AARCH64;
#else
  const std::uint16_t kMachine = facts.machine;
#endif
  return facts.bits64 && facts.little_endian && facts.machine == kMachine;
}

} // namespace gmt
