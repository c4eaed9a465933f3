// SPDX-License-Identifier: Apache-2.0
// Launches that ran without checks, counted by kernel and reason.
#include <algorithm>

#include "interposer/kernel_checks/library/code_store.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/tables.h"

namespace gmt::interposer::kernel_checks {

namespace {

const char* words(const Kernel& kernel, PlainReason reason) noexcept {
  switch (reason) {
  case PlainReason::kCapture: return "CUDA did not say whether its stream captures";
  case PlainReason::kHostMemory: return "the host had no memory for its arguments";
  case PlainReason::kEnough:
    return "--checked-launches lets the first ones of each kernel be checked";
  case PlainReason::kLaunches: return "left out, as --launches asks";
  case PlainReason::kRange: return "left out, as --range asks";
  case PlainReason::kContext:
    return may_be_several()
             ? "its context has no table of valid bytes: kernels of another one might "
               "run when it was used first, the device had no memory, or 16 have one"
             : "its context is not the first one: one at a time is checked";
  case PlainReason::kVariables: return "variables of its checked form were not found";
  case PlainReason::kDevice:
    return "the device could not launch its checked form, which needs more registers";
  default: return kernel.why_plain.c_str();
  }
}

} // namespace

void count_plain(const Kernel& kernel, PlainReason reason) noexcept {
  // Until a module is ready its code does not know the HeapTable.
  const bool may_use_heap = kernel.module != nullptr && reason != PlainReason::kContext &&
                            kernel.module->heap_use == HeapUse::kMarked;
  const bool is_first = &table() == &first_table(); // one context has a HeapTable
  if (may_use_heap && is_first && kernel.module->slots[0].counts.load() == 0) distrust_heap();
  kernel.plain[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

void note_unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept {
  if (launches == 0) {
    const Locked lock;
    std::vector<std::string>& noted = code().noted;
    if (std::ranges::find(noted, reason) != noted.end()) return;
    noted.emplace_back(reason);
  }
  core->unchecked(kernel, reason, launches);
}

namespace {

// Of all launches that could have been checked.
std::string share_of_sample(const std::vector<const Kernel*>& asked) {
  std::uint64_t launches = 0, offered = 0;
  std::size_t seen = 0, all = 0;
  for (const Kernel* kernel : asked) {
    const std::uint64_t could = kernel->offered.load();
    if (could == 0) continue;
    offered += could;
    launches += kernel->launches.load();
    seen += kernel->launches.load() != 0 ? 1 : 0;
    ++all;
  }
  return "--kernel-checks-sample had " + std::to_string(launches) + " of " +
         std::to_string(offered) + " launches checked, of " + std::to_string(seen) + " of " +
         std::to_string(all) + " kernels";
}

} // namespace

void report_plain_launches() noexcept {
  std::vector<const Kernel*> kernels;
  {
    const Locked lock;
    for (const auto& kernel : code().all_kernels) kernels.push_back(kernel.get());
  }
  const std::string share = share_of_sample(kernels);
  for (const Kernel* kernel : kernels) {
    for (std::size_t i = 0; i < kernel->plain.size(); ++i) {
      const std::uint64_t launches = kernel->plain[i].exchange(0);
      const auto reason = static_cast<PlainReason>(i);
      const char* why = reason == PlainReason::kSample ? share.c_str() : words(*kernel, reason);
      if (launches != 0) core->unchecked(kernel->name.c_str(), why, launches);
    }
  }
}

} // namespace gmt::interposer::kernel_checks
