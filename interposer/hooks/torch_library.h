// SPDX-License-Identifier: Apache-2.0
// PyTorch's own functions, behind ours of the same names.
#pragma once

#include <atomic>

#include "interposer/base/own_stack.h"

namespace gmt::interposer {

// The function of this name in a loaded object whose file's name begins with `library`, or else in
// any other one but ours, without the loader's lock; null if none exports it.
void* torch_function(const char* library, const char* name) noexcept;

// Looked for at the first call, in which the library is loaded, and never again: the search is
// long.
template <class Function> struct TorchFunction {
  const char* library;
  const char* name;
  std::atomic<Function*> function{nullptr};
  std::atomic<bool> was_looked_for{false};

  Function* get() noexcept {
    if (was_looked_for.load(std::memory_order_acquire)) [[likely]]
      return function.load(std::memory_order_relaxed);
    Function* found = nullptr;
    with_room(
      [&](bool) noexcept { found = reinterpret_cast<Function*>(torch_function(library, name)); });
    function.store(found, std::memory_order_relaxed);
    was_looked_for.store(true, std::memory_order_release);
    return found;
  }
};

} // namespace gmt::interposer
