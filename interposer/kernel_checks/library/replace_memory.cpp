// SPDX-License-Identifier: Apache-2.0
// What allocates, frees and describes memory; what waits, after which reports are fetched; and what
// ends contexts.
#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/patches/patches.h"
#include "interposer/kernel_checks/library/regions.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/reports.h"
#include "interposer/kernel_checks/library/sampling.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

CUresult memory_free(CUdeviceptr address) noexcept {
  CUresult result = CUDA_SUCCESS;
  if (free_block(address, &result)) return result;
  return static_cast<CUresult>(driver.free(address));
}

// ---- memory that the host may use, too

CUdeviceptr address_of(CUdeviceptr address) noexcept { return address; }
CUdeviceptr address_of(const void* address) noexcept {
  return reinterpret_cast<CUdeviceptr>(address);
}

template <Name kName, class Pointer, class... Args> struct AllocatesHost {
  static CUresult call(Pointer* pointer, std::size_t bytes, Args... args) noexcept {
    const auto from = [&](std::size_t wanted) {
      return own<kName, Pointer*, std::size_t, Args...>(pointer, wanted, args...);
    };
    const bool is_followed = is_ordinary(pointer, bytes) && !any_capture() && has_table();
    const auto with_more = [&] { return from(with_poison(bytes)); };
    if (is_followed && with_resting_released(with_more) == CUDA_SUCCESS) {
      add_host_block(address_of(*pointer), bytes);
      return CUDA_SUCCESS;
    }
    const int result = from(bytes); // without poison it may fit
    if (result == CUDA_SUCCESS && is_ordinary(pointer, bytes))
      forget_range(address_of(*pointer), bytes);
    return static_cast<CUresult>(result);
  }
};
template <Name kName, class... Args> void put_host() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&AllocatesHost<kName, Args...>::call));
}

CUresult free_host(void* pointer) noexcept {
  forget_block(address_of(pointer));
  return static_cast<CUresult>(own<"cuMemFreeHost", void*>(pointer));
}

// ---- what CUDA says of memory: the block as the program asked for it

CUresult address_range(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr address) noexcept {
  const int result = driver.address_range(begin, bytes, address);
  std::size_t asked = 0;
  if (result == CUDA_SUCCESS && bytes != nullptr && find_block(address, nullptr, &asked))
    *bytes = asked;
  return static_cast<CUresult>(result);
}

void correct(void* value, CUpointer_attribute attribute, CUdeviceptr address) noexcept {
  if (attribute != CU_POINTER_ATTRIBUTE_RANGE_SIZE || value == nullptr) return;
  std::size_t asked = 0;
  if (find_block(address, nullptr, &asked)) *static_cast<std::size_t*>(value) = asked;
}

CUresult pointer_attribute(void* value, CUpointer_attribute attribute,
                           CUdeviceptr address) noexcept {
  const int result = own<"cuPointerGetAttribute", void*, CUpointer_attribute, CUdeviceptr>(
    value, attribute, address);
  if (result == CUDA_SUCCESS) correct(value, attribute, address);
  return static_cast<CUresult>(result);
}

CUresult pointer_attributes(unsigned count, CUpointer_attribute* attributes, void** values,
                            CUdeviceptr address) noexcept {
  const int result =
    own<"cuPointerGetAttributes", unsigned, CUpointer_attribute*, void**, CUdeviceptr>(
      count, attributes, values, address);
  for (unsigned i = 0; result == CUDA_SUCCESS && i < count; ++i)
    correct(values[i], attributes[i], address);
  return static_cast<CUresult>(result);
}

// ---- waits

// For all that the table's context has to do. Without a context it is the current one.
bool is_for_context() noexcept { return is_checked_context(); }
bool is_for_context(CUcontext context) noexcept {
  return context == nullptr ? is_checked_context() : context == table().context();
}
template <class Other> bool is_for_context(Other) noexcept { return false; }

template <Name kName, bool kForAll, class... Args> struct Waits {
  static CUresult call(Args... args) noexcept {
    const bool is_for_all = kForAll && is_for_context(args...);
    const std::uint64_t begun = is_for_all ? begun_launches() : 0;
    const std::uint64_t ended = is_for_all ? launch_count() : 0;
    const int result = own<kName, Args...>(args...);
    if (result == CUDA_SUCCESS) end_launches(begun);
    if (result == CUDA_SUCCESS && !any_capture()) try_fetch_reports(ended);
    return static_cast<CUresult>(result);
  }
};
template <Name kName, bool kForAll, class... Args> void put_wait() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&Waits<kName, kForAll, Args...>::call));
}

// ---- ends of contexts

void context_has_ended() noexcept {
  forget_marks();
  forget_heap();
  forget_samples();
  forget_regions();
  forget_all_blocks();
  forget_written();
  forget_code_of_context();
  forget_reports();
  forget_released();
  leave_patches();
  table().leave();
}

template <Name kName> CUresult destroy(CUcontext context) noexcept {
  const bool is_ours = context != nullptr && context == table().context();
  if (is_ours) finish();
  const int result = own<kName, CUcontext>(context);
  if (is_ours && result == CUDA_SUCCESS) context_has_ended();
  return static_cast<CUresult>(result);
}

// Whether the table's context is the primary one of a device, which it is the only one to lose.
template <Name kName> CUresult end_primary(CUdevice device) noexcept {
  unsigned flags = 0;
  int before = 0, after = 0;
  const bool may_be_ours = table().context() != nullptr &&
                           driver.primary_state(device, &flags, &before) == 0 && before != 0;
  if (may_be_ours) finish();
  const int result = own<kName, CUdevice>(device);
  const bool has_ended = may_be_ours && result == CUDA_SUCCESS &&
                         driver.primary_state(device, &flags, &after) == 0 && after == 0;
  if (has_ended && table().is_primary_of(device)) context_has_ended();
  return static_cast<CUresult>(result);
}

} // namespace

void replace_memory() noexcept {
  replace("cuMemAlloc_v2", reinterpret_cast<void*>(&allocate));
  replace("cuMemAllocPitch_v2", reinterpret_cast<void*>(&allocate_pitched));
  replace("cuMemFree_v2", reinterpret_cast<void*>(&memory_free));
  put_host<"cuMemAllocManaged", CUdeviceptr, unsigned>();
  put_host<"cuMemHostAlloc", void*, unsigned>();
  put_host<"cuMemAllocHost_v2", void*>();
  replace("cuMemFreeHost", reinterpret_cast<void*>(&free_host));
  replace("cuMemGetAddressRange_v2", reinterpret_cast<void*>(&address_range));
  replace("cuPointerGetAttribute", reinterpret_cast<void*>(&pointer_attribute));
  replace("cuPointerGetAttributes", reinterpret_cast<void*>(&pointer_attributes));
  put_wait<"cuCtxSynchronize", true>();
  put_wait<"cuCtxSynchronize_v2", true, CUcontext>();
  put_wait<"cuStreamSynchronize", false, CUstream>();
  put_wait<"cuStreamSynchronize_ptsz", false, CUstream>();
  put_wait<"cuEventSynchronize", false, CUevent>();
#define PUT(function, symbol) replace(symbol, reinterpret_cast<void*>(&function<symbol>))
  PUT(destroy, "cuCtxDestroy");
  PUT(destroy, "cuCtxDestroy_v2");
  PUT(end_primary, "cuDevicePrimaryCtxReset");
  PUT(end_primary, "cuDevicePrimaryCtxReset_v2");
  PUT(end_primary, "cuDevicePrimaryCtxRelease");
  PUT(end_primary, "cuDevicePrimaryCtxRelease_v2");
#undef PUT
}

} // namespace gmt::interposer::kernel_checks
