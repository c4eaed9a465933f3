// SPDX-License-Identifier: Apache-2.0
// cuLink*: gathers the PTX of what is added. The result holds the texts, and is linked again by who
// loads it. Called through driver_api.def with the lock held. Invariants: the code that
// cuLinkComplete hands out lives until cuLinkDestroy; what is no code is refused when it is added.
// Machine code, and PTX that cannot be linked, are no errors: launches that need them are skipped,
// with the reason.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/fat_binary.h"
#include "simulated_cuda/driver/code/image.h"
#include "simulated_cuda/driver/code/linked_code.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/executor/executor.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace gmt::sim {
namespace {

CUresult add_fat_binary(LinkState& link, const void* container) {
  ptx::FatbinEntry best;
  for_each_entry(container, [&](const ptx::FatbinEntry& entry) {
    const bool newer = best.code == nullptr || entry.header.architecture > best.header.architecture;
    if (entry.is_ptx() && newer) best = entry;
  });
  std::string text;
  if (best.code != nullptr && unpack(best, &text)) link.texts.push_back(std::move(text));
  return CUDA_SUCCESS;
}

// A cubin, an object file of the host, or an archive of such.
bool is_machine_code(std::string_view code) {
  return code.starts_with(ELFMAG) || code.starts_with("!<arch>\n");
}

CUresult add_text(LinkState& link, std::string_view text) {
  if (text.find(".version") == text.npos) {
    link.log.write("what was added as PTX has no line .version", {});
    return CUDA_ERROR_INVALID_PTX;
  }
  std::string errors;
  if (CUresult bad = check_ptx(text, &errors); bad != CUDA_SUCCESS) {
    link.log.write(errors, {});
    return bad;
  }
  link.texts.emplace_back(text);
  return CUDA_SUCCESS;
}

CUresult add(LinkState& link, CUjitInputType type, const void* data, std::size_t size) {
  if (data == nullptr || size < sizeof(std::uint32_t)) return CUDA_ERROR_INVALID_VALUE;
  const auto* bytes = static_cast<const char*>(data);
  switch (type) {
  case CU_JIT_INPUT_PTX: return add_text(link, {bytes, strnlen(bytes, size)});
  case CU_JIT_INPUT_CUBIN:
  case CU_JIT_INPUT_FATBINARY:
  case CU_JIT_INPUT_OBJECT:
  case CU_JIT_INPUT_LIBRARY:
    if (is_fat_binary(data)) return add_fat_binary(link, data);
    return is_machine_code({bytes, size}) ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
  default: return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
}

CUresult complete(LinkState& link, void** code, std::size_t* size) {
  std::string why;
  const std::vector<std::string_view> views(link.texts.begin(), link.texts.end());
  executor::Module::load(views, &why);
  link.log.write({}, why);
  link.code = make_linked_code(link.texts);
  if (code != nullptr) *code = link.code.data();
  if (size != nullptr) *size = link.code.size();
  return CUDA_SUCCESS;
}

} // namespace

CUresult link_create(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto link = std::make_unique<LinkState>();
  link->log = JitLog(count, options, values);
  *out = reinterpret_cast<CUlinkState>(state().links.add(std::move(link)));
  return CUDA_SUCCESS;
}

CUresult link_add_data(CUlinkState handle, CUjitInputType type, void* data, std::size_t size,
                       const char*, unsigned, CUjit_option*, void**) {
  LinkState* link = state().links.get(handle);
  return link == nullptr ? CUDA_ERROR_INVALID_HANDLE : add(*link, type, data, size);
}

CUresult link_add_file(CUlinkState handle, CUjitInputType type, const char* path, unsigned,
                       CUjit_option*, void**) {
  LinkState* link = state().links.get(handle);
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string code{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return add(*link, type, code.data(), code.size());
}

CUresult link_complete(CUlinkState handle, void** code, std::size_t* size) {
  LinkState* link = state().links.get(handle);
  return link == nullptr ? CUDA_ERROR_INVALID_HANDLE : complete(*link, code, size);
}

CUresult link_destroy(CUlinkState handle) {
  LinkState* link = state().links.get(handle);
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state().links.take(link);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
