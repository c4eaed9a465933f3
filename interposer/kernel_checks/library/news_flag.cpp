// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/news_flag.h"

#include <atomic>
#include <cstddef>

#include "interposer/kernel_checks/library/driver.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::size_t kPage = 4096;

// The page is ours, so that it can be read when the context has ended; a forked child of the
// program, which does not get registered pages, must lose nothing else with it.
struct alignas(kPage) Page {
  std::atomic<std::uint32_t> is_set{0}, are_pools_distrusted{0}, are_regions_distrusted{0};
  std::byte rest[kPage - 3 * sizeof(std::atomic<std::uint32_t>)] = {};
};
static_assert(offsetof(Page, are_pools_distrusted) == kBetweenFlags);
static_assert(offsetof(Page, are_regions_distrusted) == kRegionsFlag);
constinit Page page;
constinit std::atomic<bool> is_shared{false};

} // namespace

std::uint64_t share_flag() noexcept {
  constexpr int kRegisteredAlready = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED; // by another
                                                                                // context
  const int result =
    driver.register_host(&page, kPage, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  CUdeviceptr address = 0;
  if ((result != 0 && result != kRegisteredAlready) ||
      driver.address_on_device(&address, &page, 0) != 0 || address == 0)
    return 0;
  page.is_set.store(0);
  page.are_pools_distrusted.store(0);
  page.are_regions_distrusted.store(0);
  is_shared.store(true);
  return address;
}

bool take_flag() noexcept {
  if (!is_shared.load(std::memory_order_acquire)) return true;
  return page.is_set.load(std::memory_order_acquire) != 0 && page.is_set.exchange(0) != 0;
}

void distrust_pools() noexcept { page.are_pools_distrusted.store(1); }
void distrust_regions(bool are_distrusted) noexcept {
  page.are_regions_distrusted.store(are_distrusted ? 1 : 0);
}

void forget_flag() noexcept { is_shared.store(false); }

} // namespace gmt::interposer::kernel_checks
