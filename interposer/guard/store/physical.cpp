// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/store/physical.h"

#include "interposer/guard/driver.h"
#include "interposer/guard/store/blocks.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostKeptPieces = 256;
constexpr std::uint64_t kMostKeptBytes = 256 << 20; // of all devices
constexpr int kOutOfMemory = CUDA_ERROR_OUT_OF_MEMORY;

struct Kept {
  CUmemGenericAllocationHandle memory;
  std::uint64_t bytes;
  int device;
};
constinit Kept kept_pieces[kMostKeptPieces] = {};
constinit unsigned kept_count = 0;
constinit std::uint64_t all_kept_bytes = 0;

void remove_kept(unsigned i) noexcept {
  all_kept_bytes -= kept_pieces[i].bytes;
  for (--kept_count; i < kept_count; ++i) kept_pieces[i] = kept_pieces[i + 1];
}

bool take_kept(int device, std::uint64_t bytes, CUmemGenericAllocationHandle* memory) noexcept {
  const GuardLock lock;
  if (!lock.held()) return false;
  for (unsigned i = kept_count; i-- > 0;) {
    if (kept_pieces[i].device != device || (bytes != 0 && kept_pieces[i].bytes != bytes)) continue;
    *memory = kept_pieces[i].memory;
    remove_kept(i);
    return true;
  }
  return false;
}

} // namespace

int take_physical(const CUmemAllocationProp& properties, std::uint64_t bytes,
                  CUmemGenericAllocationHandle* memory) noexcept {
  const int device = properties.location.id;
  if (take_kept(device, bytes, memory)) return 0;
  const int result = guard_driver.create(memory, bytes, &properties, 0);
  if (result != kOutOfMemory || kept_bytes(device) == 0) return result;
  release_kept(device);
  return guard_driver.create(memory, bytes, &properties, 0);
}

void give_physical(int device, std::uint64_t bytes, CUmemGenericAllocationHandle memory) noexcept {
  {
    const GuardLock lock;
    if (lock.held() && kept_count < kMostKeptPieces && all_kept_bytes + bytes <= kMostKeptBytes) {
      kept_pieces[kept_count++] = {memory, bytes, device};
      all_kept_bytes += bytes;
      return;
    }
  }
  guard_driver.release(memory);
}

std::uint64_t kept_bytes(int device) noexcept {
  const GuardLock lock;
  std::uint64_t bytes = 0;
  if (!lock.held()) return 0;
  for (unsigned i = 0; i < kept_count; ++i) {
    if (kept_pieces[i].device == device) bytes += kept_pieces[i].bytes;
  }
  return bytes;
}

void release_kept(int device) noexcept {
  CUmemGenericAllocationHandle memory = 0;
  while (take_kept(device, 0, &memory)) guard_driver.release(memory);
}

void forget_kept() noexcept {
  kept_count = 0;
  all_kept_bytes = 0;
}

} // namespace gmt::interposer
