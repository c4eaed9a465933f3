// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/captures.h"

#include <atomic>

#include "interposer/guard/driver.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostCaptures = 256;
// The handle and 1: the NULL stream of a thread captures, too
constinit std::atomic<std::uint64_t> captures[kMostCaptures] = {};
constinit std::atomic<unsigned> capture_count{0};

std::uint64_t key_of(CUstream stream) noexcept {
  return reinterpret_cast<std::uint64_t>(stream) << 1 | 1;
}

} // namespace

bool any_capture() noexcept { return capture_count.load(std::memory_order_acquire) != 0; }

void capture_begins(CUstream stream) noexcept {
  for (auto& capture : captures) {
    std::uint64_t none = 0;
    if (!capture.compare_exchange_strong(none, key_of(stream))) continue;
    capture_count.fetch_add(1);
    return;
  }
}

void capture_ends(CUstream stream) noexcept {
  if (!any_capture()) return;
  for (auto& capture : captures) {
    std::uint64_t key = key_of(stream);
    if (!capture.compare_exchange_strong(key, 0)) continue;
    capture_count.fetch_sub(1);
    return;
  }
}

int refusal_while_capturing() noexcept {
  CUdeviceptr probe = 0;
  const int result = guard_driver.allocate(&probe, 1);
  if (result == 0) guard_driver.give_back(probe);
  return result != CUDA_ERROR_OUT_OF_MEMORY ? result : 0;
}

void forget_captures() noexcept {
  capture_count.store(0);
  for (auto& capture : captures) capture.store(0);
}

} // namespace gmt::interposer
