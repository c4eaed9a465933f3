// SPDX-License-Identifier: Apache-2.0
// Which calls wait, and which make work, is the column `order` of trace/cuda_api.def.
#define __CUDA_API_VERSION_INTERNAL // the oldest driver types too
#define CUDA_ENABLE_DEPRECATED
#include "interposer/core_dump/waits.h"

#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <atomic>
#include <cstdlib>

#include "interposer/core_dump/core_dump.h"
#include "interposer/core_dump/device_probe.h"
#include "interposer/loader/real_dlsym.h"
#include "trace/api_id.h"
#include "trace/ordering.h"

namespace gmt::interposer {

namespace {

using trace::Ordering;

constinit std::atomic<bool> unconfirmed{false};
constinit std::atomic<void*> functions_behind[trace::kDriverApiCount] = {}; // what a row's calls
                                                                            // went to before

constexpr bool makes_work(Ordering order) { return order == Ordering::kStream; }
constexpr bool waits(Ordering order) {
  return order == Ordering::kHost || order == Ordering::kBlocking || order == Ordering::kContext;
}

// The driver's own handler of the process's end destroys contexts, and says nothing of a fault. It
// was registered before the first work, so handlers that are registered now run before it.
void hold_at_exit() noexcept {
  static constinit std::atomic<bool> holds{false};
  if (holds.load(std::memory_order_relaxed) || holds.exchange(true)) return;
  on_exit([](int, void*) noexcept { hold_for_core_dump(); }, nullptr);
}

void confirm() noexcept {
  if (core_dump_is_on() && take_unconfirmed_work()) wait_for_device_probe();
}

template <std::uint16_t Row, Ordering Order, class Function> struct Front;

template <std::uint16_t Row, Ordering Order, class... Args>
struct Front<Row, Order, CUresult (*)(Args...)> {
  static CUresult call(Args... args) noexcept {
    auto* const next = reinterpret_cast<CUresult (*)(Args...)>(
      functions_behind[Row].load(std::memory_order_relaxed));
    const CUresult result = next(args...);
    if (result != CUDA_SUCCESS) return result;
    if constexpr (makes_work(Order)) {
      hold_at_exit();
      unconfirmed.store(true, std::memory_order_relaxed);
    } else {
      confirm();
    }
    return result;
  }
};

// Only what waits or makes work is made: rows of other kinds need not have a type that fits.
template <std::uint16_t Row, Ordering Order, class Function> void install() noexcept {
  if constexpr (makes_work(Order) || waits(Order))
    precede_driver_function(Row, reinterpret_cast<void*>(&Front<Row, Order, Function>::call),
                            functions_behind[Row]);
}

} // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void install_dump_waits() noexcept {
  driver_function(trace::kApi_cuInit); // so that it is known which functions there are
#define DRV(symbol, base, introduced, order, ...)                                                  \
  install<trace::kApi_##symbol, Ordering::k##order, PFN_##base##_v##introduced>();
#define RT(symbol, declared, ...)
#include "trace/cuda_api.def"
}
#pragma GCC diagnostic pop

bool take_unconfirmed_work() noexcept {
  return unconfirmed.load(std::memory_order_relaxed) && unconfirmed.exchange(false);
}
void forget_unconfirmed_work() noexcept { unconfirmed.store(false); }

} // namespace gmt::interposer
