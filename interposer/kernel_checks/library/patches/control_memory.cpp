// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/patches/control_memory.h"

#include <algorithm>
#include <memory>
#include <new>
#include <sys/mman.h>

#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/memory.h"

namespace gmt::interposer::kernel_checks {

namespace {

constinit PatchRecord* record_memory = nullptr;

// The memory of the host that records are written into, known to the current context; 0: it is not.
std::uint64_t share_records() noexcept {
  constexpr std::size_t kBytes = kPatchRecords * sizeof(PatchRecord);
  if (record_memory == nullptr) {
    void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return 0;
    record_memory = static_cast<PatchRecord*>(pages);
  }
  std::fill_n(record_memory, kPatchRecords, PatchRecord{});
  const int result = driver.register_host(
    record_memory, kBytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  CUdeviceptr address = 0;
  const bool is_known = result == 0 || result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  return is_known && driver.address_on_device(&address, record_memory, 0) == 0 ? address : 0;
}

} // namespace

CUdeviceptr make_control() noexcept {
  constexpr unsigned kUnitBits = 32; // of the windows
  const std::unique_ptr<PatchControl> made(new (std::nothrow) PatchControl);
  const CUdeviceptr begin = first_table().memory_behind();
  if (made == nullptr || !is_patch_data(begin)) return 0;
  made->records = share_records();
  made->flag = first_table().flag();
  made->table = first_table().placed().table;
  made->window = static_cast<std::uint32_t>(first_table().placed().window >> kUnitBits);
  made->window_size =
    static_cast<std::uint32_t>(rewriter::window_bytes(first_table().placed()) >> kUnitBits);
  const bool is_written =
    made->records != 0 &&
    driver.send(begin, made.get(), sizeof *made, first_table().stream()) == 0 &&
    driver.wait_for_stream(first_table().stream()) == 0;
  return is_written ? begin : 0;
}

PatchRecord* patch_records() noexcept { return record_memory; }

} // namespace gmt::interposer::kernel_checks
