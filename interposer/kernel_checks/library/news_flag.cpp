// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/news_flag.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::size_t kPage = 4096;

// The pages are ours, so that they can be read when their contexts have ended; a forked child of
// the program, which does not get registered pages, must lose nothing else with it.
struct alignas(kPage) SharedPages {
  std::atomic<std::uint32_t> is_set{0}, are_pools_distrusted{0}, are_regions_distrusted{0};
  std::byte rest[kPage - 3 * sizeof(std::atomic<std::uint32_t>)] = {};
  rewriter::HostRecords records;
};
static_assert(offsetof(SharedPages, records) == kBehindFlags && sizeof(SharedPages) % kPage == 0);
static_assert(offsetof(SharedPages, are_pools_distrusted) == kBetweenFlags);
static_assert(offsetof(SharedPages, are_regions_distrusted) == kRegionsFlag);
struct NewsWords {
  SharedPages pages;
  std::atomic<bool> is_shared{false};
};
constinit std::array<NewsWords, kMostTables> all_news{}; // by table
constinit std::atomic<std::uint32_t> are_pools_distrusted_now{0};

} // namespace

std::uint64_t share_flag(unsigned table) noexcept {
  constexpr int kRegisteredAlready = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED; // by another
                                                                                // context
  auto& [pages, is_shared] = all_news[table];
  // Other contexts, whose kernels may run, do not get it.
  const unsigned portable = table == 0 ? CU_MEMHOSTREGISTER_PORTABLE : 0;
  const int result =
    driver.register_host(&pages, sizeof pages, portable | CU_MEMHOSTREGISTER_DEVICEMAP);
  CUdeviceptr address = 0;
  if ((result != 0 && result != kRegisteredAlready) ||
      driver.address_on_device(&address, &pages, 0) != 0 || address == 0)
    return 0;
  const bool is_any_shared =
    std::ranges::any_of(all_news, [](const NewsWords& one) { return one.is_shared.load(); });
  if (!is_any_shared) are_pools_distrusted_now.store(0);
  pages.is_set.store(0);
  pages.are_pools_distrusted.store(are_pools_distrusted_now.load());
  pages.are_regions_distrusted.store(0);
  if (pages.records.used != 0) { // of a context that has ended; one by one, for the stack is small
    pages.records.used = 0;
    std::ranges::fill(pages.records.records, rewriter::Record{});
  }
  is_shared.store(true);
  return address;
}

bool take_flag(unsigned table) noexcept {
  auto& [pages, is_shared] = all_news[table];
  if (!is_shared.load(std::memory_order_acquire)) return true;
  return pages.is_set.load(std::memory_order_acquire) != 0 && pages.is_set.exchange(0) != 0;
}

void distrust_pools() noexcept {
  are_pools_distrusted_now.store(1);
  for (NewsWords& words : all_news) words.pages.are_pools_distrusted.store(1);
}
void distrust_regions(bool are_distrusted) noexcept {
  all_news[0].pages.are_regions_distrusted.store(are_distrusted ? 1 : 0);
}

const rewriter::HostRecords* host_records(unsigned table) noexcept {
  const NewsWords& words = all_news[table];
  return words.is_shared.load(std::memory_order_acquire) ? &words.pages.records : nullptr;
}

void forget_flag(unsigned table) noexcept { all_news[table].is_shared.store(false); }

} // namespace gmt::interposer::kernel_checks
