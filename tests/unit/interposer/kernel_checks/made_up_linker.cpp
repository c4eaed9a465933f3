// SPDX-License-Identifier: Apache-2.0
#include "made_up_linker.h"

#include <cstddef>
#include <string_view>

namespace gmt::interposer::kernel_checks {

MadeUpLinker linking;

namespace {

int begin_link(unsigned count, CUjit_option* options, void** values, CUlinkState* link) {
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      linking.log.copy(static_cast<char*>(values[i]), linking.log.size());
  }
  *link = reinterpret_cast<CUlinkState>(&linking);
  return CUDA_SUCCESS;
}
int add_to_link(CUlinkState, CUjitInputType, void* text, std::size_t, const char*, unsigned count,
                CUjit_option*, void**) {
  linking.tried.push_back(count);
  linking.texts.emplace_back(static_cast<const char*>(text));
  return count != 0 && !linking.knows_option ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
int complete_link(CUlinkState, void** code, std::size_t* bytes) {
  *code = linking.machine.data();
  *bytes = linking.machine.size();
  return linking.machine.empty() ? linking.refusal : CUDA_SUCCESS;
}
int end_link(CUlinkState) { return CUDA_SUCCESS; }

void* function_named(const char* name) noexcept {
  const std::string_view asked = name;
  if (asked == "cuLinkCreate_v2") return reinterpret_cast<void*>(begin_link);
  if (asked == "cuLinkAddData_v2") return reinterpret_cast<void*>(add_to_link);
  if (asked == "cuLinkComplete") return reinterpret_cast<void*>(complete_link);
  return asked == "cuLinkDestroy" ? reinterpret_cast<void*>(end_link) : nullptr;
}

} // namespace

const decltype(KernelChecksCore::driver_symbol) function_of_linker = function_named;

} // namespace gmt::interposer::kernel_checks
