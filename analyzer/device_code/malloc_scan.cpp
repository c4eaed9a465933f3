// SPDX-License-Identifier: Apache-2.0
// In a cubin malloc and free are undefined functions, in PTX they are declared by name; new and
// delete are calls of the two. An entry is one compiled file, or all that nvcc -rdc linked, where
// files that log nothing cannot be distinguished from those that do.

#include "analyzer/device_code/malloc_scan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "analyzer/symbols/elf_file.h"
#include "trace/device_ring.h"

namespace gmt {
namespace {

// Bounds what is looked at in one module
constexpr std::size_t kMaxSection = std::size_t{256} << 20;
constexpr std::size_t kMaxEntry = std::size_t{32} << 20; // decompressed

bool contains(std::span<const char> text, std::string_view what) {
  return std::string_view(text.data(), text.size()).find(what) != std::string_view::npos;
}

// A name stands between zeros in a cubin's string table; in PTX a declaration ends its line with
// it. The last name is what __nv_aligned_device_malloc calls.
DeviceMalloc device_malloc_in_code(std::span<const char> code, bool ptx) {
  if (contains(code, trace::kControlSymbol)) return DeviceMalloc::kLogged;
  const std::string zero(1, '\0');
  for (const std::string name : {"malloc", "free", "__cuda_syscall_aligned_malloc"}) {
    const bool called =
      ptx ? contains(code, " " + name + "\n") : contains(code, zero + name + zero);
    if (called) return DeviceMalloc::kCalled;
  }
  return DeviceMalloc::kNone;
}

} // namespace

DeviceMalloc device_malloc_in(const CodeSections& sections, Deadline deadline) {
  DeviceMalloc result = DeviceMalloc::kNone;
  std::vector<char> buffer;
  visit_entries(sections, deadline, [&](const FatbinEntry& entry) {
    if (entry.kind == FatbinEntry::Kind::kOther || entry.plain_bytes > kMaxEntry) return true;
    const DeviceMalloc found =
      device_malloc_in_code(unpack(entry, buffer), entry.kind == FatbinEntry::Kind::kPtx);
    result = std::max(result, found);
    return result != DeviceMalloc::kCalled;
  });
  return result;
}

DeviceMalloc device_malloc_in(const std::filesystem::path& module, Deadline deadline) {
  const std::optional<ElfFile> file = ElfFile::open(module);
  if (!file) return DeviceMalloc::kNone;
  CodeSections sections = device_code_of(file->image());
  std::erase_if(sections, [](std::span<const char> bytes) { return bytes.size() > kMaxSection; });
  return device_malloc_in(sections, deadline);
}

DeviceMalloc device_malloc_in_image(const std::filesystem::path& image, Deadline deadline) {
  if (bytes_of(open_in_folder(image)) > kMaxEntry) return DeviceMalloc::kNone;
  const std::string code = read_in_folder(image, kMaxEntry).value_or("");
  if (is_fatbin(code)) return device_malloc_in(CodeSections{code}, deadline);
  const bool elf = code.starts_with("\177ELF");
  return device_malloc_in_code(code, !elf);
}

} // namespace gmt
