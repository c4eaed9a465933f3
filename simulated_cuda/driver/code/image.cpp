// SPDX-License-Identifier: Apache-2.0
// Chooses what to execute of an image, and reads what it declares; see image.h.
#include "simulated_cuda/driver/code/image.h"

#include "ptx/opcodes/validity.h"
#include "simulated_cuda/driver/code/declarations.h"
#include "simulated_cuda/driver/code/fat_binary.h"
#include "simulated_cuda/driver/code/linked_code.h"
#include "simulated_cuda/driver/code/ptx_header.h"
#include "simulated_cuda/driver/execution/capability.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <optional>

namespace gmt::sim {
namespace {

constexpr char kNoPtx[] =
  "the program holds no PTX of it, only machine code: build it with -gencode "
  "arch=compute_90,code=compute_90 (CMake: CUDA_ARCHITECTURES 90, not 90-real)";

// Where a program has PTX for it and for a newer device, tensor cores of the newer one are not
// executed, and those of this one are.
constexpr unsigned kExecuted = 90;

// The best PTX for a device: the newest that is not newer than the device, else the oldest. Of two
// for one architecture that which may use all of it (sm_90a), as a GPU takes its machine code.
bool is_better(const ptx::FatbinEntry& candidate, const ptx::FatbinEntry& best,
               unsigned capability) {
  if (best.code == nullptr) return true;
  const unsigned it = candidate.header.architecture, known = best.header.architecture;
  const auto is_whole = [](const ptx::FatbinEntry& entry) {
    return (entry.header.flags & ptx::kFatbinOneArchitecture) != 0;
  };
  if (it == known) return is_whole(candidate) && !is_whole(best);
  if ((it <= capability) != (known <= capability)) return it <= capability;
  return it <= capability ? it > known : it < known;
}

ptx::FatbinEntry choose(const void* container, unsigned capability, bool ptx) {
  ptx::FatbinEntry best;
  for_each_entry(container, [&](const ptx::FatbinEntry& entry) {
    if (entry.is_ptx() != ptx || (!ptx && !entry.is_cubin())) return;
    if (is_better(entry, best, capability)) best = entry;
  });
  return best;
}

// The PTX of a container, and of those it was linked from; false if one has none.
bool gather_ptx(const void* container, unsigned capability, std::vector<std::string>* ptx) {
  const ptx::FatbinEntry entry = choose(container, capability, true);
  std::string text;
  if (entry.code == nullptr || !unpack(entry, &text)) return false;
  ptx->push_back(std::move(text));
  return true;
}

bool is_word(const std::string& text, std::size_t at, std::size_t length) {
  const auto inside = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                               text[i] == '_' || text[i] == '$');
  };
  return (at == 0 || !inside(at - 1)) && !inside(at + length);
}

bool mentions(const std::string& text, const char* word) {
  const std::size_t length = std::strlen(word);
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + length)) {
    if (is_word(text, at, length)) return true;
  }
  return false;
}

void take_declarations(const executor::Module& module, Image* image) {
  for (const executor::Kernel& kernel : module.kernels())
    image->kernels[kernel.name] = kernel.parameters;
  for (const executor::Variable& variable : module.variables()) {
    if (!variable.is_named) continue;
    Variable& known = image->variables[variable.name];
    known.size = variable.size;
    known.managed = variable.managed;
  }
}

// Takes the texts if the executor can read them.
bool take_ptx(std::vector<std::string> texts, Image* image) {
  if (texts.empty()) return false;
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  image->first_use = executor::Module::load(views, &image->why);
  if (image->first_use == nullptr) return false;
  image->why.clear();
  image->ptx = std::move(texts);
  take_declarations(*image->first_use, image);
  for (const std::string& text : image->ptx)
    image->uses_device_heap = image->uses_device_heap || mentions(text, "malloc");
  return true;
}

// Declarations of code that is not executed.
void read_declarations(const void* container, unsigned capability, Image* image) {
  std::string code;
  const ptx::FatbinEntry cubin = choose(container, capability, false);
  if (cubin.code != nullptr && unpack(cubin, &code)) return read_cubin(code.data(), image);
  const ptx::FatbinEntry ptx = choose(container, capability, true);
  if (ptx.code != nullptr && unpack(ptx, &code)) return read_ptx_declarations(code, image);
  image->opaque = true;
}

// `parts`: with -rdc=true the containers of the program's files, which hold the PTX; else null.
void read_fat_binary(const void* container, const void* const* parts, unsigned capability,
                     Image* image) {
  std::vector<std::string> texts;
  bool all = true;
  for (; parts != nullptr && *parts != nullptr; ++parts)
    all = gather_ptx(*parts, capability, &texts) && all;
  if (texts.empty() && all) all = gather_ptx(container, capability, &texts);
  if (!all) image->why = kNoPtx;
  if (all && take_ptx(std::move(texts), image)) return;
  read_declarations(container, capability, image);
}

const void* const* parts_of(const ptx::FatbinWrapper& wrapper) {
  constexpr std::uint32_t kLinkedVersion = 2;
  return wrapper.version == kLinkedVersion ? static_cast<const void* const*>(wrapper.more)
                                           : nullptr;
}

CUresult read_text(const char* bytes, Image* image) {
  const std::string_view text(bytes, strnlen(bytes, std::size_t{1} << 30));
  if (text.find(".version") == std::string_view::npos) return CUDA_ERROR_INVALID_IMAGE;
  if (CUresult bad = check_ptx(text, &image->why); bad != CUDA_SUCCESS) return bad;
  if (!take_ptx({std::string(text)}, image)) read_ptx_declarations(text, image);
  return CUDA_SUCCESS;
}

void read_linked_code(const std::vector<std::string>& texts, Image* image) {
  if (take_ptx(texts, image)) return;
  image->opaque = texts.empty(); // machine code alone
  if (image->opaque) image->why = kNoPtx;
  for (const std::string& text : texts) read_ptx_declarations(text, image);
}

} // namespace

CUresult check_ptx(std::string_view text, std::string* errors) {
  if (CUresult bad = check_ptx_header(text, newest_target(), errors); bad != CUDA_SUCCESS)
    return bad;
  const std::optional<ptx::ParseError> wrong = ptx::why_invalid(std::string(text));
  if (!wrong) return CUDA_SUCCESS;
  std::string_view what = wrong->what(); // "line 5: ..."
  what.remove_prefix(what.find(": ") + 2);
  *errors = "ptxas application ptx input, line " + std::to_string(wrong->line()) +
            "; error   : " + std::string(what) +
            "\nptxas fatal   : Ptx assembly aborted due to errors\n";
  return CUDA_ERROR_INVALID_PTX;
}

CUresult read_image(const void* code, unsigned capability, Image* image) {
  const std::uint32_t magic = ptx::magic_of(code);
  if (magic == ptx::kFatbinWrapperMagic) {
    const auto* wrapper = static_cast<const ptx::FatbinWrapper*>(code);
    read_fat_binary(wrapper->data, parts_of(*wrapper), capability, image);
    return CUDA_SUCCESS;
  }
  if (magic == ptx::kFatbinMagic) {
    read_fat_binary(code, nullptr, capability, image);
    return CUDA_SUCCESS;
  }
  if (std::memcmp(code, ELFMAG, SELFMAG) == 0) {
    image->why = kNoPtx;
    read_cubin(static_cast<const char*>(code), image);
    return CUDA_SUCCESS;
  }
  if (is_linked_code(code)) {
    read_linked_code(linked_texts(code), image);
    return CUDA_SUCCESS;
  }
  return read_text(static_cast<const char*>(code), image);
}

unsigned highest_ptx(const void* code) {
  const std::uint32_t magic = ptx::magic_of(code);
  unsigned highest = 0;
  bool has_executed = false;
  const auto look = [&](const void* container) {
    for_each_entry(container, [&](const ptx::FatbinEntry& entry) {
      if (!entry.is_ptx()) return;
      highest = std::max(highest, entry.header.architecture);
      has_executed |= entry.header.architecture == kExecuted;
    });
  };
  const auto claimed = [&] { return has_executed ? kExecuted : highest; };
  if (magic == ptx::kFatbinMagic) look(code);
  if (magic != ptx::kFatbinWrapperMagic) return claimed();
  const auto* wrapper = static_cast<const ptx::FatbinWrapper*>(code);
  look(wrapper->data);
  const void* const* parts = parts_of(*wrapper);
  for (; parts != nullptr && *parts != nullptr; ++parts) look(*parts);
  return claimed();
}

std::unique_ptr<executor::Module> load_ptx(Image& image) {
  if (image.first_use != nullptr) return std::move(image.first_use);
  const std::vector<std::string_view> views(image.ptx.begin(), image.ptx.end());
  return views.empty() ? nullptr : executor::Module::load(views, &image.why);
}

} // namespace gmt::sim
