// SPDX-License-Identifier: Apache-2.0
// Memory for the tables. Pages that nothing wrote cost none; they are given back where memory of
// the program is freed.
#include "simulated_cuda/executor/machine/race_tables.h"

#include <sys/mman.h>

#include <algorithm>

namespace gmt::executor {
namespace {

constexpr std::size_t kRunTableBytes = std::size_t{global_race::kMostRuns} * sizeof(RaceRun);
constexpr std::uintptr_t kTablePage = 4096;
constexpr std::size_t kWorthACall = 16 * kTablePage;
constexpr std::uint32_t kSpareRuns = 1024; // at least, for blocks with many barriers

void* reserve_bytes(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// Other workers may look at entries at the same time. What is 0 already is not written.
void zero(std::uint64_t* from, std::uint64_t* to) {
  const auto begin =
    (reinterpret_cast<std::uintptr_t>(from) + kTablePage - 1) / kTablePage * kTablePage;
  const auto end = reinterpret_cast<std::uintptr_t>(to) / kTablePage * kTablePage;
  const bool by_page = begin < end && end - begin >= kWorthACall &&
                       madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0;
  for (std::uint64_t* at = from; at < to; ++at) {
    if (by_page && at == reinterpret_cast<std::uint64_t*>(begin))
      at = reinterpret_cast<std::uint64_t*>(end);
    if (at == to) return;
    if (__atomic_load_n(at, __ATOMIC_RELAXED) != 0) __atomic_store_n(at, 0, __ATOMIC_RELAXED);
  }
}

} // namespace

bool RaceTable::reserve(std::uint64_t bytes) {
  auto* from = static_cast<std::uint64_t*>(reserve_bytes(size(bytes)));
  if (from == nullptr) return false;
  loads = from + words(bytes);
  lines = reinterpret_cast<std::uint16_t*>(loads + words(bytes));
  __atomic_store_n(&stores, from, __ATOMIC_RELEASE); // other workers look at it
  return true;
}

void RaceTable::release(std::uint64_t bytes) {
  if (stores != nullptr) munmap(stores, size(bytes));
  *this = {};
}

void RaceTable::clear(std::uint64_t bytes) {
  if (stores == nullptr || madvise(stores, size(bytes), MADV_DONTNEED) == 0) return;
  std::fill_n(reinterpret_cast<std::byte*>(stores), size(bytes), std::byte{0});
}

// What is said of whole lines is more than was done, which is no harm.
void RaceTable::forget(std::uint64_t offset, std::uint64_t bytes) {
  if (stores == nullptr) return;
  const std::uint64_t from = offset / 4, to = (offset + bytes + 3) / 4;
  zero(stores + from, stores + to);
  zero(loads + from, loads + to);
}

RaceRuns::~RaceRuns() {
  if (runs_ != nullptr) munmap(runs_, kRunTableBytes);
}

bool RaceRuns::begin(std::uint64_t blocks, Launch* launch, bool* must_clear) {
  constexpr std::uint64_t kMost = global_race::kMostRuns;
  *must_clear = false;
  if (is_taken_ || blocks + 2 + kSpareRuns > kMost) return false;
  if (runs_ == nullptr) runs_ = static_cast<RaceRun*>(reserve_bytes(kRunTableBytes));
  if (runs_ == nullptr) return false;
  if (next_ + blocks + 1 + kSpareRuns > kMost || ++epoch_ == global_race::kMostEpochs) {
    *must_clear = true;
    next_ = epoch_ = 1;
  }
  launch->first = next_;
  launch->next = next_ + 1 + static_cast<std::uint32_t>(blocks);
  launch->epoch = static_cast<std::uint16_t>(epoch_ << global_race::kLineFlags);
  is_taken_ = true;
  return true;
}

void RaceRuns::end(std::uint32_t next_run) {
  next_ = next_run;
  is_taken_ = false;
}

} // namespace gmt::executor
