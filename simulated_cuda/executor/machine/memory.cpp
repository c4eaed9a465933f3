// SPDX-License-Identifier: Apache-2.0
// The shadow behind memory.h. It is reserved without being committed: a page of it costs memory
// when it is first written. Bytes at the ends of a range change nibble by nibble.
#include "simulated_cuda/executor/machine/memory.h"

#include "simulated_cuda/common/memory_file.h"
#include "simulated_cuda/executor/machine/device_bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace gmt::executor {
namespace {

constexpr std::size_t kWord = 4;

std::size_t shadow_bytes(std::uint64_t bytes) { return bytes / kWord + 64; }

// A mapping of its own costs two calls of the system, and a process has only so many of them.
constexpr std::size_t kSmallShadow = 4096;

// Bits of a word's nibble for bytes [from, to) of the word.
unsigned nibble(std::uint64_t from, std::uint64_t to) { return ((1u << (to - from)) - 1) << from; }

// Large ranges of the shadow are not written: pages of a small file that holds the value over and
// over are mapped there, which costs no memory until a part of them changes.
constexpr std::size_t kMappedBytes = std::size_t{2} << 20; // of the file, and the least range
constexpr std::size_t kHostPage = 4096;

struct PatternFile {
  int fd = -1;
  dev_t device = 0;
  ino_t inode = 0;

  // The program may have closed the descriptor, and another file may have its number now.
  bool is_ours() const {
    struct stat now{};
    return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == device && now.st_ino == inode;
  }
  bool make(unsigned value) {
    fd = memory_file("gpumemtrace-shadow", kMappedBytes);
    if (fd < 0) return false;
    const std::vector<char> bytes(kMappedBytes, static_cast<char>(value));
    struct stat made{};
    const bool whole =
      write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      fstat(fd, &made) == 0;
    device = made.st_dev;
    inode = made.st_ino;
    if (whole) return true;
    close(fd);
    fd = -1;
    return false;
  }
};

int pattern_file(unsigned value) {
  static std::map<unsigned, PatternFile> files;
  PatternFile& file = files[value];
  return file.is_ours() || file.make(value) ? file.fd : -1;
}

bool map_pattern(std::uint8_t* from, std::size_t bytes, unsigned value) {
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (value == 0) return mmap(from, bytes, kProtection, kAnonymous, -1, 0) != MAP_FAILED;
  const int fd = pattern_file(value);
  if (fd < 0) return false;
  for (std::size_t at = 0; at < bytes; at += kMappedBytes) {
    const std::size_t part = std::min(kMappedBytes, bytes - at);
    constexpr int kFile = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED;
    if (mmap(from + at, part, kProtection, kFile, fd, 0) == MAP_FAILED) {
      // There are only so many mappings: the rest is written
      if (mmap(from + at, bytes - at, kProtection, kAnonymous, -1, 0) == MAP_FAILED) return false;
      std::memset(from + at, static_cast<int>(value), bytes - at);
      return true;
    }
  }
  return true;
}

// The heap of a running kernel changes its part while other workers look at theirs.
void store_all(std::uint8_t* from, std::size_t bytes, unsigned value) {
  const auto byte = static_cast<std::uint8_t>(value);
  const std::uint64_t eight = value * 0x0101010101010101ull;
  for (; bytes != 0 && reinterpret_cast<std::uintptr_t>(from) % 8 != 0; --bytes)
    __atomic_store_n(from++, byte, __ATOMIC_RELAXED);
  for (; bytes >= 8; bytes -= 8, from += 8)
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(from), eight, __ATOMIC_RELAXED);
  for (; bytes != 0; --bytes) __atomic_store_n(from++, byte, __ATOMIC_RELAXED);
}

void fill(std::uint8_t* from, std::size_t bytes, unsigned value) {
  if (bytes >= kMappedBytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(from);
    const std::size_t lead = (kHostPage - begin % kHostPage) % kHostPage;
    const std::size_t whole = (bytes - lead) / kHostPage * kHostPage;
    if (map_pattern(from + lead, whole, value)) {
      store_all(from, lead, value);
      store_all(from + lead + whole, bytes - lead - whole, value);
      return;
    }
  }
  store_all(from, bytes, value);
}

// Applies (old & keep) | set to the bytes [offset, offset + bytes) of the shadow, where `keep` and
// `set` are masks of whole words.
void change(std::uint8_t* shadow, std::uint64_t offset, std::uint64_t bytes, unsigned keep,
            unsigned set) {
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t in_word = offset % kWord;
    const std::uint64_t here = std::min(kWord - in_word, end - offset);
    if (here == kWord && keep == 0) {
      const std::uint64_t words = (end - offset) / kWord;
      fill(shadow + offset / kWord, words, set);
      offset += words * kWord;
      continue;
    }
    const unsigned bits = nibble(in_word, in_word + here) * 0x11u;
    std::uint8_t& word = shadow[offset / kWord];
    const unsigned old = shadow_at(&word);
    __atomic_store_n(&word, static_cast<std::uint8_t>((old & (~bits | keep)) | (set & bits)),
                     __ATOMIC_RELAXED);
    offset += here;
  }
}

// What is allocated becomes initialised, eight words at a time; what is so already is not written.
void initialize_words(std::uint8_t* shadow, std::uint64_t words) {
  constexpr std::uint64_t kLow = 0x0f0f0f0f0f0f0f0full;
  std::uint64_t i = 0;
  for (; i + 8 <= words; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, shadow + i, 8);
    const std::uint64_t now = eight | (eight & kLow) << 4;
    if (now != eight) std::memcpy(shadow + i, &now, 8);
  }
  for (; i < words; ++i) shadow[i] |= static_cast<std::uint8_t>((shadow[i] & 0x0f) << 4);
}

} // namespace

Memory::~Memory() {
  for (const auto& [base, region] : regions_) {
    region.races.release(region.bytes);
    release_shadow(region);
  }
}

std::uint8_t* Memory::make_shadow(std::uint64_t bytes) {
  const std::size_t size = shadow_bytes(bytes);
  if (size <= kSmallShadow)
    return static_cast<std::uint8_t*>(
      std::memset(regions_.get_allocator().resource()->allocate(size), 0, size));
  void* shadow =
    mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return shadow == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(shadow);
}

void Memory::release_shadow(const Region& region) {
  const std::size_t size = shadow_bytes(region.bytes);
  if (size <= kSmallShadow)
    return regions_.get_allocator().resource()->deallocate(region.shadow, size);
  // There are only so many mappings, and a hole in one makes it two
  if (munmap(region.shadow, size) != 0) madvise(region.shadow, size, MADV_DONTNEED);
}

Region* Memory::find(std::uint64_t address) {
  const auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  Region& region = std::prev(after)->second;
  return address - region.base < region.bytes ? &region : nullptr;
}

const Region* Memory::region_of(std::uint64_t address) const {
  return const_cast<Memory*>(this)->find(address);
}

void Memory::reserve_races(const Region& region) const {
  const bool is_done = __atomic_load_n(&region.races.stores, __ATOMIC_ACQUIRE) != nullptr ||
                       __atomic_load_n(&region.has_no_races, __ATOMIC_RELAXED);
  if (is_done) return;
  const std::lock_guard lock(races_mutex_);
  if (region.races.stores != nullptr || region.has_no_races) return;
  __atomic_store_n(&region.has_no_races, !region.races.reserve(region.bytes), __ATOMIC_RELAXED);
}

void Memory::clear_races() {
  for (const auto& [base, region] : regions_) region.races.clear(region.bytes);
  race_lines_ = 0;
}

bool Memory::add_region(std::uint64_t base, std::uint64_t bytes, std::byte* host) {
  const std::uint64_t lead = base % kWord;
  base -= lead;
  bytes += lead;
  const auto after = regions_.upper_bound(base);
  if (after != regions_.end() && after->first - base < bytes) return false;
  if (find(base) != nullptr) return false;
  Region region;
  region.base = base;
  region.bytes = bytes;
  region.host = host - lead;
  region.shadow = make_shadow(bytes);
  if (region.shadow == nullptr) return false;
  regions_.emplace_hint(after, base, region);
  return true;
}

bool Memory::add_host_memory(std::uint64_t base, std::uint64_t bytes, std::byte* host) {
  if (!add_region(base, bytes, host)) return false;
  find(base)->is_host = true;
  allocate(base, bytes);
  mark_initialized(base, bytes);
  return true;
}

void Memory::set_devices(std::uint64_t base, std::uint64_t devices) {
  if (Region* region = find(base)) region->devices = devices;
}

void Memory::remove_region(std::uint64_t base) {
  const auto found = regions_.find(base - base % kWord);
  if (found == regions_.end()) return;
  found->second.races.release(found->second.bytes);
  release_shadow(found->second);
  regions_.erase(found);
}

template <class Visit>
void Memory::for_each_part(std::uint64_t address, std::uint64_t bytes, Visit visit) {
  auto at = regions_.upper_bound(address);
  if (at != regions_.begin()) --at;
  for (; at != regions_.end() && (at->first <= address || at->first - address < bytes); ++at) {
    Region& region = at->second;
    const std::uint64_t from = std::max(address, region.base);
    const std::uint64_t to = std::min(address + bytes, region.base + region.bytes);
    if (from < to) visit(region, from - region.base, to - from);
  }
}

void Memory::allocate(std::uint64_t address, std::uint64_t bytes) {
  forget_moved(address, bytes);
  for_each_part(address, bytes, [](Region& region, std::uint64_t offset, std::uint64_t size) {
    change(region.shadow, offset, size, 0, 0x0f);
    region.races.forget(offset, size); // a kernel may have got it from its heap
  });
}

void Memory::free(std::uint64_t address, std::uint64_t bytes) {
  for_each_part(address, bytes, [](Region& region, std::uint64_t offset, std::uint64_t size) {
    change(region.shadow, offset, size, 0, 0xf0);
    region.races.forget(offset, size);
  });
}

void Memory::forget(std::uint64_t address, std::uint64_t bytes) {
  for_each_part(address, bytes, [](Region& region, std::uint64_t offset, std::uint64_t size) {
    change(region.shadow, offset, size, 0, 0);
  });
}

// Only allocated bytes change: what is freed or in no block stays so.
void Memory::mark_initialized(std::uint64_t address, std::uint64_t bytes) {
  for_each_part(address, bytes, [](Region& region, std::uint64_t offset, std::uint64_t size) {
    std::uint8_t* shadow = region.shadow;
    const std::uint64_t end = offset + size;
    while (offset < end) {
      const std::uint64_t in_word = offset % kWord;
      const std::uint64_t here = std::min(kWord - in_word, end - offset);
      if (in_word == 0 && end - offset >= 8 * kWord) {
        initialize_words(shadow + offset / kWord, (end - offset) / kWord);
        offset += (end - offset) / kWord * kWord;
        continue;
      }
      std::uint8_t& word = shadow[offset / kWord];
      word |= static_cast<std::uint8_t>((word & nibble(in_word, in_word + here)) << 4);
      offset += here;
    }
  });
}

void Memory::mark_uninitialized(std::uint64_t address, std::uint64_t bytes) {
  for_each_part(address, bytes, [](Region& region, std::uint64_t offset, std::uint64_t size) {
    std::uint8_t* shadow = region.shadow;
    const std::uint64_t end = offset + size;
    while (offset < end) {
      const std::uint64_t in_word = offset % kWord;
      const std::uint64_t here = std::min(kWord - in_word, end - offset);
      std::uint8_t& word = shadow[offset / kWord];
      word &= static_cast<std::uint8_t>(~((word & nibble(in_word, in_word + here)) << 4));
      offset += here;
    }
  });
}

} // namespace gmt::executor
