// SPDX-License-Identifier: Apache-2.0
// What allocates, frees and describes memory; what waits, after which reports are fetched; and what
// ends contexts.
#include <string_view>

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
      note();
      return CUDA_SUCCESS;
    }
    const int result = from(bytes); // without poison it may fit
    if (result == CUDA_SUCCESS) note();
    if (result == CUDA_SUCCESS && is_ordinary(pointer, bytes))
      forget_range(address_of(*pointer), bytes);
    return static_cast<CUresult>(result);
  }

private:
  static void note() noexcept {
    if constexpr (std::string_view(kName.text) == "cuMemAllocManaged")
      note_not_followed("managed memory counts as written: the host may write it unseen");
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

// For all that a table's context has to do. Without a context it is the current one.
const Table* waited_for(CUcontext context = nullptr) noexcept {
  if (context == nullptr && (!is_any_table() || driver.current(&context) != 0)) return nullptr;
  return table_of(context);
}

template <Name kName, bool kForAll, class... Args> struct Waits {
  static CUresult call(Args... args) noexcept {
    std::uint64_t given = 0, ended = 0;
    unsigned index = 0;
    if constexpr (kForAll) {
      if (const Table* const waited = waited_for(args...)) {
        index = waited->index();
        given = given_launches(index);
        ended = launch_count();
      }
    }
    const int result = own<kName, Args...>(args...);
    if (result == CUDA_SUCCESS) end_launches(given, index);
    else ended = 0;
    // Behind a fault, too: the program may end at once.
    if (!any_capture()) try_fetch_reports(ended, index);
    return static_cast<CUresult>(result);
  }
};
template <Name kName, bool kForAll, class... Args> void put_wait() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&Waits<kName, kForAll, Args...>::call));
}

// ---- ends of contexts

// What one context alone can have goes with the first one's table; launches are forgotten when no
// context has a table any more.
void context_has_ended(Table& ended) noexcept {
  const CUcontext context = ended.context();
  if (&ended == &first_table()) {
    forget_heap();
    forget_regions();
    forget_written();
    leave_patches();
  }
  forget_samples();
  pass_on_writing(ended);
  forget_blocks_of(ended);
  forget_code_of(ended);
  end_launches(begun_launches(ended.index()), ended.index());
  leave_table(context);
  if (is_any_table()) return;
  forget_reports();
  forget_released();
}

// Another context may get its handle.
CUresult destroy_green(CUgreenCtx context) noexcept {
  const int result = own<"cuGreenCtxDestroy", CUgreenCtx>(context);
  if (result == CUDA_SUCCESS) forget_green_contexts();
  return static_cast<CUresult>(result);
}

template <Name kName> CUresult destroy(CUcontext context) noexcept {
  Table* const ours = table_of(context);
  if (ours != nullptr) finish();
  const int result = own<kName, CUcontext>(context);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  if (ours != nullptr) context_has_ended(*ours);
  else leave_table(context);
  return CUDA_SUCCESS;
}

// The primary context of a device, which it is the only one to lose.
template <Name kName> CUresult end_primary(CUdevice device) noexcept {
  unsigned flags = 0;
  int before = 0, after = 0;
  const bool may_be_ours =
    is_any_table() && driver.primary_state(device, &flags, &before) == 0 && before != 0;
  if (may_be_ours) finish();
  const int result = own<kName, CUdevice>(device);
  const bool has_ended =
    result == CUDA_SUCCESS && driver.primary_state(device, &flags, &after) == 0 && after == 0;
  if (!has_ended) return static_cast<CUresult>(result);
  for_each_table([device](Table& one) {
    if (one.is_primary_of(device)) context_has_ended(one);
  });
  leave_table(nullptr); // it may be one that got none
  return CUDA_SUCCESS;
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
  replace("cuGreenCtxDestroy", reinterpret_cast<void*>(&destroy_green));
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
