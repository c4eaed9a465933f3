// SPDX-License-Identifier: Apache-2.0
// The modules whose machine code has patches: asked at each launch, without a lock. At most 16,384
// at a time; the others count as not patched.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gmt::interposer::kernel_checks {

class PatchedModules {
public:
  bool add(CUmodule module) noexcept {
    for (std::size_t i = 0; i < kMost; ++i) {
      CUmodule there = slot(module, i).load();
      const bool is_free = there == nullptr || there == gone();
      if (is_free && slot(module, i).compare_exchange_strong(there, module)) return true;
      if (there == module) return true;
    }
    return false;
  }
  bool has(CUmodule module) const noexcept { return find(module) != nullptr; }
  void remove(CUmodule module) noexcept {
    if (auto* found = find(module)) found->store(gone());
  }

private:
  static constexpr std::size_t kMost = 16384;
  using Slot = std::atomic<CUmodule>;
  static CUmodule gone() noexcept { return reinterpret_cast<CUmodule>(1); } // NOLINT: no handle
  Slot& slot(CUmodule module, std::size_t i) const noexcept {
    return all_[(reinterpret_cast<std::uintptr_t>(module) / 64 + i) % kMost];
  }
  Slot* find(CUmodule module) const noexcept {
    for (std::size_t i = 0; i < kMost; ++i) {
      const CUmodule there = slot(module, i).load();
      if (there == module) return &slot(module, i);
      if (there == nullptr) return nullptr;
    }
    return nullptr;
  }
  mutable std::array<Slot, kMost> all_{};
};

} // namespace gmt::interposer::kernel_checks
