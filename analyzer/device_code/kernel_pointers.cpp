// SPDX-License-Identifier: Apache-2.0
// Looks for kernels' PTX, see kernel_pointers.h. Only texts that have a wanted name are parsed.
#include "analyzer/device_code/kernel_pointers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/device_code/fatbin.h"
#include "analyzer/symbols/elf_file.h"

namespace gmt {
namespace {

constexpr std::chrono::seconds kSearchTime{10};
constexpr std::size_t kLargestSection = std::size_t{512} << 20;
constexpr std::size_t kLargestText = std::size_t{32} << 20;

PointerUses both(const PointerUses& a, const PointerUses& b) {
  PointerUses joined(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < joined.size(); ++i) {
    joined[i] = {.is_read = a[i].is_read && b[i].is_read,
                 .is_written = a[i].is_written && b[i].is_written,
                 .is_by_position = a[i].is_by_position && b[i].is_by_position};
  }
  return joined;
}

class Search {
public:
  explicit Search(std::span<const std::string> kernels)
      : kernels_(kernels), found_(kernels.size()) {}

  Deadline deadline() const { return deadline_; }
  bool is_over() const { return std::chrono::steady_clock::now() > deadline_; }

  void look_in_fatbin(const CodeSections& sections) {
    visit_entries(sections, deadline_, [&](const FatbinEntry& entry) {
      if (entry.kind == FatbinEntry::Kind::kPtx && entry.plain_bytes <= kLargestText)
        look_in_text(unpack(entry, buffer_));
      return !is_over();
    });
  }

  void look_in_text(std::span<const char> code) {
    const std::string_view text(code.data(), code.size());
    const bool is_wanted = std::ranges::any_of(
      kernels_, [&](const std::string& name) { return text.find(name) != std::string_view::npos; });
    if (!is_wanted) return;
    try {
      const ptx::Module module = ptx::parse_module(std::string(text));
      for (std::size_t i = 0; i < kernels_.size(); ++i) {
        const ptx::Function* kernel = module.find_function(kernels_[i]);
        if (kernel != nullptr && kernel->is_entry && kernel->has_body && !is_over())
          add(i, ptx::pointer_uses_of(module, *kernel, ptx::parse_body(module, *kernel)));
      }
    } catch (const ptx::ParseError&) { // it stays unknown
    }
  }

  std::vector<PointerUses> take() { return std::move(found_); }

private:
  void add(std::size_t kernel, PointerUses uses) {
    PointerUses& known = found_[kernel];
    known = known.empty() ? std::move(uses) : both(known, uses);
  }

  std::span<const std::string> kernels_;
  std::vector<PointerUses> found_;
  std::vector<char> buffer_;
  Deadline deadline_ = std::chrono::steady_clock::now() + kSearchTime;
};

} // namespace

std::vector<PointerUses> pointer_uses_of_kernels(const TraceDir& trace,
                                                 std::span<const std::string> kernels) {
  Search search(kernels);
  for (const std::filesystem::path& image : images_of(trace.path)) {
    if (search.is_over() || bytes_of(open_in_folder(image)) > kLargestText) continue;
    const std::string code = read_in_folder(image, kLargestText).value_or("");
    if (is_fatbin(code)) search.look_in_fatbin({code});
    else search.look_in_text(code);
  }
  std::set<std::string_view> seen; // loaded anew, or several times
  for (const Module& module : trace.modules) {
    if (search.is_over()) break;
    if (!seen.insert(module.path).second) continue;
    const std::optional<ElfFile> file = ElfFile::open(module.path);
    if (!file || file->build_id() != module.build_id) continue;
    CodeSections sections = device_texts_of(file->image());
    std::erase_if(sections, [](const auto& section) { return section.size() > kLargestSection; });
    search.look_in_fatbin(sections);
  }
  return search.take();
}

} // namespace gmt
