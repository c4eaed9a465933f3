// SPDX-License-Identifier: Apache-2.0
// driver_symbol(): what knows the driver sets how its functions are found.
#include "interposer/loader/driver_function.h"

namespace gmt::interposer {

namespace {

constinit std::atomic<DriverLookUp> look_up{nullptr};

} // namespace

void set_driver_look_up(DriverLookUp chosen) noexcept {
  look_up.store(chosen, std::memory_order_release);
}

void* driver_symbol(const char* name) noexcept {
  const DriverLookUp chosen = look_up.load(std::memory_order_acquire);
  return chosen != nullptr ? chosen(name) : nullptr;
}

} // namespace gmt::interposer
