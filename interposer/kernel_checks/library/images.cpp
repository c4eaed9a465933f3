// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/images.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <exception>
#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/auxv.h>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/register_limits.h"
#include "ptx/fatbin/unpack.h"
#include "ptx/print/join.h"
#include "ptx/syntax/ptx.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr char kNoPtx[] =
  "there is no PTX of it, only machine code: build it with -gencode "
  "arch=compute_XX,code=compute_XX too (CMake: CUDA_ARCHITECTURES 90, not 90-real), or let "
  "--kernel-checks=libraries check the machine code";
constexpr char kOtherCode[] =
  "the device has machine code for itself alone (as sm_90a), but its PTX is for others: build it "
  "with -gencode arch=compute_XXa,code=compute_XXa too";
constexpr std::string_view kOfVendor[] = {"libcublas",   "libcudnn",    "libcufft",    "libcurand",
                                          "libcusolver", "libcusparse", "libcutensor", "libnccl",
                                          "libnpp",      "libnvjpeg",   "libnvshmem"};
constexpr std::uint64_t kMostPlain = std::uint64_t{1} << 30;

bool unpack(const ptx::FatbinEntry& entry, std::string& text) { // or machine code
  const ptx::FatbinPacking packing = ptx::packing_of(entry.header);
  if (packing == ptx::FatbinPacking::kPlain) {
    text.assign(entry.code, entry.bytes);
  } else {
    std::size_t bytes = 0;
    if (entry.header.plain_bytes == 0 || entry.header.plain_bytes > kMostPlain) return false;
    text.resize(entry.header.plain_bytes);
    if (!ptx::unpack_code(packing, entry.code, ptx::packed_bytes(entry), text.data(), text.size(),
                          &bytes))
      return false;
    text.resize(bytes);
  }
  if (entry.is_ptx()) text.resize(text.find_last_not_of('\0') + 1);
  return !text.empty();
}

bool is_of_one(const ptx::FatbinEntry& entry) {
  return (entry.header.flags & ptx::kFatbinOneArchitecture) != 0;
}

// What sm_90a's code does, that of sm_80 may leave out or refuse to do.
bool is_newer(const ptx::FatbinEntry& entry, const ptx::FatbinEntry& than) {
  return std::pair(entry.header.architecture, is_of_one(entry)) >
         std::pair(than.header.architecture, is_of_one(than));
}

// nvcc's -maxrregcount, with which ptxas is to compile the text; 0: there is none.
std::uint32_t most_registers(const ptx::FatbinEntry& entry) {
  const ptx::FatbinEntryHeader& header = entry.header;
  const char* begin = entry.code - header.header_bytes;
  ptx::FatbinOptions options{};
  if (header.options_offset < sizeof header || header.options_offset > header.header_bytes ||
      header.header_bytes - header.options_offset < sizeof options)
    return 0;
  std::memcpy(&options, begin + header.options_offset, sizeof options);
  if (options.offset > header.header_bytes || options.bytes > header.header_bytes - options.offset)
    return 0;
  const std::string_view words(begin + options.offset, options.bytes);
  constexpr std::string_view kOption = "-maxrregcount=";
  const std::size_t at = words.find(kOption);
  std::uint32_t most = 0;
  if (at == std::string_view::npos) return most;
  std::from_chars(words.data() + at + kOption.size(), words.data() + words.size(), most);
  return most;
}

// The device would run the machine code: its text, compiled here, must be launched with as many
// threads, whatever is put into it.
std::string with_limits(std::string text, std::uint32_t most, const RegisterCounts& counts) {
  if (text.empty() || (most == 0 && counts.empty())) return text;
  return limit_registers(text, [&](std::string_view kernel) {
    const auto count = counts.find(kernel);
    if (count == counts.end()) return most;
    const std::uint32_t limit = most_for_equal_threads(count->second);
    return most == 0 ? limit : std::min(limit, most);
  });
}

// The newest that the device can take, of each kind.
struct Best {
  ptx::FatbinEntry text, machine_code; // `code` is null if there is none
};
Best best_of_container(const void* container, unsigned capability) {
  ptx::FatbinReader reader(static_cast<const char*>(container), ptx::fatbin_bytes(container));
  ptx::FatbinEntry entry;
  Best best;
  while (reader.next(entry)) {
    const std::uint32_t architecture = entry.header.architecture;
    if (architecture > capability || (is_of_one(entry) && architecture != capability)) continue;
    ptx::FatbinEntry& known = entry.is_ptx() ? best.text : best.machine_code;
    if (known.code == nullptr || is_newer(entry, known)) known = entry;
  }
  return best;
}

RegisterCounts registers_in(const Best& best) {
  std::string code;
  if (best.machine_code.code == nullptr || !unpack(best.machine_code, code)) return {};
  return registers_of(code);
}

ImageText text_of_container(const void* container, unsigned capability) {
  const Best best = best_of_container(container, capability);
  ImageText text;
  if (best.text.code == nullptr) text.why_none = kNoPtx;
  else if (best.machine_code.code != nullptr && is_of_one(best.machine_code) &&
           !is_of_one(best.text))
    text.why_none = kOtherCode;
  else if (!unpack(best.text, text.ptx)) text.why_none = "its PTX cannot be unpacked";
  else text.ptx = with_limits(std::move(text.ptx), most_registers(best.text), registers_in(best));
  return text;
}

// Of what nvcc -rdc compiled: a container for each file. The driver gets one text of all.
ImageText text_of_parts(const void* const* parts, unsigned capability) {
  std::vector<std::string> texts;
  for (; parts != nullptr && *parts != nullptr; ++parts) {
    ImageText text;
    if (ptx::magic_of(*parts) == ptx::kFatbinMagic) text = text_of_container(*parts, capability);
    else text.why_none = kNoPtx;
    if (!text.why_none.empty())
      return {{}, "it is linked from several files (-rdc=true), and of one " + text.why_none};
    texts.push_back(std::move(text.ptx));
  }
  if (texts.empty()) return {{}, "it is linked from several files (-rdc=true) that are not in it"};
  try {
    return {ptx::join_modules(texts), {}};
  } catch (const std::exception& error) { // of one file, such as that it is damaged
    return {{}, std::string("it is linked from several files (-rdc=true): ") + error.what()};
  }
}

bool is_text(const char* image) {
  const auto first = static_cast<unsigned char>(*image);
  return first == '.' || first == '/' || std::isspace(first) != 0;
}

} // namespace

ImageText text_of_image(const void* image, unsigned capability) {
  constexpr std::uint32_t kLinkedVersion = 2;
  const std::uint32_t magic = ptx::magic_of(image);
  if (magic == ptx::kFatbinWrapperMagic) {
    const auto* wrapper = static_cast<const ptx::FatbinWrapper*>(image);
    if (wrapper->version == kLinkedVersion) {
      ImageText text = text_of_parts(static_cast<const void* const*>(wrapper->more), capability);
      const RegisterCounts linked = registers_in(best_of_container(wrapper->data, capability));
      text.ptx = with_limits(std::move(text.ptx), 0, linked);
      return text;
    }
    return text_of_container(wrapper->data, capability);
  }
  if (magic == ptx::kFatbinMagic) return text_of_container(image, capability);
  const auto* bytes = static_cast<const char*>(image);
  if (!is_text(bytes)) return {{}, kNoPtx};
  std::string text(bytes);
  if (text.find(".version") == std::string::npos) return {{}, kNoPtx};
  return {std::move(text), {}};
}

std::string library_of_image(const void* image) {
  const void* memory = image;
  if (ptx::magic_of(image) == ptx::kFatbinWrapperMagic)
    memory = static_cast<const ptx::FatbinWrapper*>(image)->data;
  Dl_info found{}, program{};
  const auto entry = reinterpret_cast<void*>(getauxval(AT_ENTRY)); // NOLINT: the kernel's number
  if (dladdr(memory, &found) == 0 || found.dli_fname == nullptr) return {};
  if (dladdr(entry, &program) != 0 && program.dli_fbase == found.dli_fbase) return {};
  const std::string_view path = found.dli_fname;
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_of_vendor(std::string_view library) {
  return std::ranges::any_of(
    kOfVendor, [library](std::string_view name) { return library.starts_with(name); });
}

std::string read_image_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (image.empty()) return image;
  image.append(8, '\0'); // behind a text
  return image;
}

} // namespace gmt::interposer::kernel_checks
