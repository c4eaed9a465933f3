// SPDX-License-Identifier: Apache-2.0
// A value of an option is a pointer, or a number in a pointer's place.
#include "simulated_cuda/driver/code/jit_log.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gmt::sim {

JitLog::JitLog(unsigned count, const CUjit_option* options, void** values) {
  if (options == nullptr || values == nullptr) return;
  const auto set_size = [](Buffer& buffer, void** value) {
    buffer.size = value;
    buffer.room = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*value));
  };
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
    case CU_JIT_ERROR_LOG_BUFFER: errors_.bytes = static_cast<char*>(values[i]); break;
    case CU_JIT_INFO_LOG_BUFFER: remarks_.bytes = static_cast<char*>(values[i]); break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: set_size(errors_, &values[i]); break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: set_size(remarks_, &values[i]); break;
    default: break;
    }
  }
}

void JitLog::write(std::string_view errors, std::string_view remarks) const {
  fill(errors_, errors);
  fill(remarks_, remarks);
}

void JitLog::fill(const Buffer& buffer, std::string_view text) {
  std::size_t used = 0;
  if (buffer.bytes != nullptr && buffer.room != 0) {
    used = std::min<std::size_t>(text.size(), buffer.room - 1);
    std::memcpy(buffer.bytes, text.data(), used);
    buffer.bytes[used] = '\0';
  }
  if (buffer.size != nullptr) *buffer.size = reinterpret_cast<void*>(used);
}

} // namespace gmt::sim
