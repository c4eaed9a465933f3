// SPDX-License-Identifier: Apache-2.0
// Looks for kernels' code, see kernel_code_search.h. Of a library's fat binaries only what is for
// the right architecture is unpacked, and only functions whose names are wanted are decoded.
#include "analyzer/device_code/kernel_code_search.h"

#include <algorithm>
#include <string>

#include "analyzer/base/folder_files.h"
#include "analyzer/symbols/elf_file.h"

namespace gmt {
namespace {

constexpr std::size_t kLargestImage = std::size_t{256} << 20;

// What the driver takes of a container for a device: the same architecture, else the nearest before
// it in the same generation. 0 if there is none and PTX must do.
unsigned chosen_architecture(std::span<const FatbinEntry> entries, unsigned device) {
  unsigned best = 0;
  for (const FatbinEntry& entry : entries) {
    const unsigned offered = entry.architecture;
    if (entry.kind == FatbinEntry::Kind::kCubin && offered / 10 == device / 10 && offered <= device)
      best = std::max(best, offered);
  }
  return best;
}

bool same_access(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.space == b.space && a.bytes == b.bytes &&
         a.address_register == b.address_register && a.address_offset == b.address_offset;
}

const Instruction* at_offset(const FunctionCode& code, std::uint32_t offset) {
  const auto found = std::ranges::lower_bound(code.instructions, offset, {}, &Instruction::offset);
  return found != code.instructions.end() && found->offset == offset ? &*found : nullptr;
}

} // namespace

KernelCodeSearch::KernelCodeSearch(std::span<const WantedFunction> wanted,
                                   std::span<const unsigned> architectures, Deadline deadline)
    : wanted_(wanted), architectures_(architectures.begin(), architectures.end()),
      deadline_(deadline), found_(wanted.size()) {
  for (std::size_t i = 0; i < wanted.size(); ++i) by_name_.emplace(wanted[i].name, i);
}

bool KernelCodeSearch::timed_out() const { return std::chrono::steady_clock::now() > deadline_; }

void KernelCodeSearch::look_in_image(const std::filesystem::path& path) {
  if (bytes_of(open_in_folder(path)) > kLargestImage) return;
  const std::string image = read_in_folder(path, kLargestImage).value_or("");
  if (is_fatbin(image)) look_in_fatbin({image}, path.string());
  else look_in_cubin(image, path.string());
}

void KernelCodeSearch::look_in_module(const Module& module) {
  if (timed_out()) return;
  const std::optional<ElfFile> file = ElfFile::open(module.path);
  if (!file) return;
  const CodeSections code = device_code_of(file->image());
  if (!code.empty() && file->build_id() == module.build_id) look_in_fatbin(code, module.path);
}

void KernelCodeSearch::look_in_fatbin(const CodeSections& sections, const std::string& path) {
  std::vector<FatbinEntry> container; // its entries, looked at when it is whole
  visit_entries(sections, deadline_, [&](const FatbinEntry& entry) {
    if (!container.empty() && container.front().container != entry.container) {
      look_in_container(container, path);
      container.clear();
    }
    container.push_back(entry);
    return true;
  });
  look_in_container(container, path);
}

void KernelCodeSearch::look_in_container(std::span<const FatbinEntry> entries,
                                         const std::string& path) {
  std::vector<unsigned> chosen;
  for (const unsigned device : architectures_)
    chosen.push_back(chosen_architecture(entries, device));
  for (const FatbinEntry& entry : entries) {
    const bool wanted = std::ranges::find(chosen, entry.architecture) != chosen.end();
    if (entry.kind != FatbinEntry::Kind::kCubin || !wanted) continue;
    if (timed_out()) return;
    look_in_cubin(unpack(entry, buffer_), path);
  }
}

void KernelCodeSearch::look_in_cubin(std::span<const char> image, const std::string& path) {
  const std::optional<Cubin> cubin = Cubin::open(image);
  if (!cubin) return;
  for (const std::string_view name : cubin->functions()) {
    const auto [first, last] = by_name_.equal_range(name);
    if (first == last) continue;
    std::optional<FunctionCode> code = cubin->function(name);
    if (!code) continue;
    code->module = path;
    for (auto wanted = first; wanted != last; ++wanted) {
      if (fits(*code, wanted_[wanted->second])) merge(found_[wanted->second], *code);
    }
  }
}

bool KernelCodeSearch::fits(const FunctionCode& code, const WantedFunction& wanted) {
  return std::ranges::all_of(
    wanted.offsets, [&](std::uint32_t offset) { return at_offset(code, offset) != nullptr; });
}

void KernelCodeSearch::merge(FunctionCode& known, FunctionCode other) {
  if (known.name.empty() || (other.has_lines && !known.has_lines)) {
    known = std::move(other);
    return;
  }
  if (known.has_lines && !other.has_lines) return;
  std::erase_if(known.instructions, [&](const Instruction& instruction) {
    const Instruction* same = at_offset(other, instruction.offset);
    return same == nullptr || !same_access(instruction, *same);
  });
  for (Instruction& instruction : known.instructions) {
    if (instruction.lines != at_offset(other, instruction.offset)->lines) instruction.lines.clear();
  }
}

} // namespace gmt
