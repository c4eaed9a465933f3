// SPDX-License-Identifier: Apache-2.0
// An object of the library's that is made at its first use and never destroyed: other threads may
// use it while the process ends.
#pragma once

#include <atomic>

namespace gmt::interposer::kernel_checks {

template <class T> class Lasting {
public:
  constexpr Lasting() noexcept = default;

  T& operator*() noexcept {
    Instance* there = made_.load(std::memory_order_acquire);
    if (there != nullptr) return there->object;
    auto* const made = new Instance;
    if (made_.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return made->object;
    delete made; // another thread was quicker
    return there->object;
  }

  // In a forked child: a thread that it does not have may have been changing the object, so that it
  // is left as it is, and another one stands in its place.
  void begin_anew() noexcept {
    auto* const made = new Instance;
    made->before = made_.load(std::memory_order_acquire);
    made_.store(made, std::memory_order_release);
  }

private:
  struct Instance {
    T object;
    Instance* before = nullptr;
  };
  std::atomic<Instance*> made_{nullptr};
};

} // namespace gmt::interposer::kernel_checks
