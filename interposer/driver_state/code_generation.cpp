// SPDX-License-Identifier: Apache-2.0
#include "interposer/driver_state/code_generation.h"

namespace gmt::interposer {

constinit std::atomic<std::uint64_t> code_state{kNextGeneration};

std::uint64_t code_generation() noexcept {
  const std::uint64_t now = code_state.load();
  return (now & (kNextGeneration - 1)) == 0 ? now >> kGenerationShift : 0;
}

UnloadingCode::UnloadingCode() noexcept { code_state.fetch_add(kNextGeneration + 1); }
UnloadingCode::~UnloadingCode() { code_state.fetch_add(kNextGeneration - 1); }

void forget_code() noexcept {
  code_state.store(((code_state.load() >> kGenerationShift) + 1) << kGenerationShift);
}

} // namespace gmt::interposer
