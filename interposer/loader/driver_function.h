// SPDX-License-Identifier: Apache-2.0
// A function of the driver's own, unrecorded, by name: looked up at its first use and kept, because
// a look-up takes the loader's lock. One that was not found is looked up again at the next use. No
// lock, no constructor at run time: two threads that look it up at once find the same.
#pragma once

#include <atomic>

namespace gmt::interposer {

// A driver function that is no row (pure queries), null if there is none or the driver is not known
// yet.
void* driver_symbol(const char* name) noexcept;
using DriverLookUp = void* (*)(const char* name) noexcept;
void set_driver_look_up(DriverLookUp look_up) noexcept; // how it is found, once the driver is known

// CUDA_ERROR_NOT_FOUND: what a function answers that the driver lacks
inline constexpr int kNoSuchFunction = 500;

template <auto LookUp, class... Args> class DriverFunctionBy {
public:
  constexpr explicit DriverFunctionBy(const char* name) noexcept : name_(name) {}
  int operator()(Args... args) noexcept {
    void* f = address();
    return f != nullptr ? reinterpret_cast<int (*)(Args...)>(f)(args...) : kNoSuchFunction;
  }
  bool is_there() noexcept { return address() != nullptr; }

private:
  void* address() noexcept {
    void* f = function_.load(std::memory_order_relaxed);
    return f != nullptr ? f : find();
  }
  [[gnu::noinline, gnu::cold]] void* find() noexcept {
    void* f = LookUp(name_);
    function_.store(f, std::memory_order_relaxed);
    return f;
  }

  const char* name_;
  std::atomic<void*> function_{nullptr};
};

// Whether the driver has all of them. What were half made for want of one would stay so.
template <class... Functions> bool are_there(Functions&... functions) noexcept {
  return (functions.is_there() && ...);
}

// Its arguments; handles are words.
template <class... Args> using DriverFunction = DriverFunctionBy<driver_symbol, Args...>;

} // namespace gmt::interposer
