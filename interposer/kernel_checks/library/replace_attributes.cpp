// SPDX-License-Identifier: Apache-2.0
// What CUDA says of a kernel's form that a program relies on when it launches: how many threads a
// block may have, and how many blocks or clusters fit at once. Either form may run, so the answer
// is the smaller one of both. A form that cannot run at all is launched plain, and does not count.
#include <algorithm>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The checked form, if launches in the current context may get it; its attributes are those of the
// plain one.
CUfunction checked_form_of(CUfunction function) noexcept {
  const Kernel* kernel = function != nullptr ? kernel_of(function) : nullptr;
  if (kernel == nullptr || kernel->checked == nullptr) return nullptr;
  if (is_any_table() && !may_be_several() && !is_checked_context()) return nullptr;
  const Relaxed relaxed;
  copy_attributes(*kernel, function);
  return kernel->checked;
}

template <class T> void take_smaller(T* value, const T& of_checked) noexcept {
  if (of_checked > 0) *value = std::min(*value, of_checked);
}

// `ask(&value, form)` is the driver's.
template <class T, class Ask> CUresult ask_both(T* value, CUfunction function, Ask ask) noexcept {
  const int result = ask(value, function);
  if (result != CUDA_SUCCESS || value == nullptr) return static_cast<CUresult>(result);
  T of_checked{};
  const CUfunction checked = checked_form_of(function);
  if (checked != nullptr && ask(&of_checked, checked) == CUDA_SUCCESS)
    take_smaller(value, of_checked);
  return CUDA_SUCCESS;
}

// Of functions that give one number.
template <Name kName, class T, class... Args> struct AsksOne {
  static CUresult call(T* value, CUfunction function, Args... args) noexcept {
    return ask_both(value, function, [=](T* to, CUfunction form) {
      return own<kName, T*, CUfunction, Args...>(to, form, args...);
    });
  }
};
template <Name kName, class T, class... Args> void put_asks() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&AsksOne<kName, T, Args...>::call));
}

// The block that lets most threads run at once, and the least grid that fills the device so.
template <Name kName, class... Args> struct AsksBlock {
  static CUresult call(int* grid, int* block, CUfunction function, Args... args) noexcept {
    const auto ask = [=](int* blocks, int* threads, CUfunction form) {
      return own<kName, int*, int*, CUfunction, Args...>(blocks, threads, form, args...);
    };
    const int result = ask(grid, block, function);
    if (result != CUDA_SUCCESS || grid == nullptr || block == nullptr)
      return static_cast<CUresult>(result);
    int blocks = 0, threads = 0;
    const CUfunction checked = checked_form_of(function);
    if (checked != nullptr && ask(&blocks, &threads, checked) == CUDA_SUCCESS) {
      take_smaller(grid, blocks);
      take_smaller(block, threads);
    }
    return CUDA_SUCCESS;
  }
};
template <Name kName, class... Args> void put_asks_block() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&AsksBlock<kName, Args...>::call));
}

CUresult function_attribute(int* value, CUfunction_attribute what, CUfunction function) noexcept {
  const auto ask = [what](int* to, CUfunction form) {
    return driver.function_attribute(to, what, form);
  };
  if (what != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    return static_cast<CUresult>(ask(value, function));
  return ask_both(value, function, ask);
}

CUresult kernel_attribute(int* value, CUfunction_attribute what, CUkernel kernel,
                          CUdevice device) noexcept {
  const auto ask = [=](int* to, CUfunction form) {
    return driver.kernel_attribute(to, what, reinterpret_cast<CUkernel>(form), device);
  };
  const auto function = reinterpret_cast<CUfunction>(kernel);
  if (what != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    return static_cast<CUresult>(ask(value, function));
  return ask_both(value, function, ask);
}

} // namespace

void replace_attributes() noexcept {
  replace("cuFuncGetAttribute", reinterpret_cast<void*>(&function_attribute));
  replace("cuKernelGetAttribute", reinterpret_cast<void*>(&kernel_attribute));
  put_asks<"cuOccupancyMaxActiveBlocksPerMultiprocessor", int, int, std::size_t>();
  put_asks<"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", int, int, std::size_t,
           unsigned>();
  put_asks<"cuOccupancyAvailableDynamicSMemPerBlock", std::size_t, int, int>();
  put_asks<"cuOccupancyMaxPotentialClusterSize", int, const CUlaunchConfig*>();
  put_asks<"cuOccupancyMaxActiveClusters", int, const CUlaunchConfig*>();
  put_asks_block<"cuOccupancyMaxPotentialBlockSize", CUoccupancyB2DSize, std::size_t, int>();
  put_asks_block<"cuOccupancyMaxPotentialBlockSizeWithFlags", CUoccupancyB2DSize, std::size_t, int,
                 unsigned>();
}

} // namespace gmt::interposer::kernel_checks
