// SPDX-License-Identifier: Apache-2.0
// Kernels by the handles that launches name. Each launch looks one up, so that takes no lock;
// changes are made under the library's.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace gmt::interposer::kernel_checks {

struct Kernel;

class KernelTable {
public:
  const Kernel* find(CUfunction handle) const noexcept; // null: it is not there
  // The kernel that is there from now on: this one, or the one that was.
  const Kernel* add(CUfunction handle, const Kernel* kernel);
  void clear() noexcept;

private:
  struct Slot {
    std::atomic<CUfunction> handle{nullptr};
    std::atomic<const Kernel*> kernel{nullptr}; // null: the handle is none any more
  };
  struct Slots {
    explicit Slots(std::size_t count) : mask(count - 1), slots(new Slot[count]) {}
    // The one that has the handle, or the empty one where it belongs: at least half are empty.
    Slot& at(CUfunction handle) const noexcept;
    std::size_t mask;
    std::unique_ptr<Slot[]> slots;
  };
  void grow();

  std::atomic<const Slots*> slots_{nullptr};
  std::vector<std::unique_ptr<const Slots>> all_; // a thread may still read one that was replaced
  std::size_t used_ = 0;
};

} // namespace gmt::interposer::kernel_checks
