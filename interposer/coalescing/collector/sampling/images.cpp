// SPDX-License-Identifier: Apache-2.0
// The driver has read the image before we do, so what its header claims is there.
#include "interposer/coalescing/collector/sampling/images.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/base/text_file.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/sampling/code_bound.h"
#include "ptx/fatbin/reader.h"

namespace gmt::interposer::collector {

namespace {

constexpr std::size_t kMostBytes = 64 << 20; // of one image
constexpr unsigned kMostImages = 1 << 12;
constinit std::atomic<std::uint64_t> saved[kMostImages] = {}; // hashes; 0 is free
constinit std::atomic<unsigned> images{0};
constinit std::atomic<bool> saving{false};

std::size_t size_of_elf(const char* image) noexcept {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  std::size_t end = header.e_shoff + std::size_t{header.e_shnum} * sizeof(Elf64_Shdr);
  const std::size_t segments = header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize;
  if (segments > end) end = segments;
  if (header.e_shoff > kMostBytes || end > kMostBytes) return 0;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == SHT_NOBITS || section.sh_offset > kMostBytes ||
        section.sh_size > kMostBytes)
      continue;
    if (section.sh_offset + section.sh_size > end) end = section.sh_offset + section.sh_size;
  }
  return end;
}

std::uint64_t hash_of(const char* bytes, std::size_t size) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325 ^ size;
  std::size_t i = 0;
  for (std::uint64_t word; i + sizeof word <= size; i += sizeof word) {
    std::memcpy(&word, bytes + i, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  for (; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3;
  return hash != 0 ? hash : 1;
}

bool is_saved(std::uint64_t hash) noexcept {
  for (const auto& known : saved) {
    if (known.load() == hash) return true;
    if (known.load() == 0) return false;
  }
  return true; // that many are enough
}

bool write_whole(const char* path, const char* bytes, std::size_t size) noexcept {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = fits_file_size_limit(fd, size);
  for (std::size_t done = 0; good && done < size;) {
    const ssize_t n = write(fd, bytes + done, size - done);
    good = n > 0;
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  close(fd);
  return good;
}

} // namespace

std::size_t size_of_image(const void* image) noexcept {
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) return size_of_elf(static_cast<const char*>(image));
  if (ptx::magic_of(image) != ptx::kFatbinMagic) return 0;
  const std::uint64_t bytes = ptx::fatbin_bytes(image);
  return bytes <= kMostBytes ? static_cast<std::size_t>(bytes) : 0;
}

void save_image(const void* image, std::size_t bytes) noexcept {
  if (image == nullptr) return;
  if (ptx::magic_of(image) == ptx::kFatbinWrapperMagic) {
    ptx::FatbinWrapper wrapper;
    std::memcpy(&wrapper, image, sizeof wrapper);
    image = wrapper.data;
  }
  if (image == nullptr) return;
  learn_code(image, bytes != 0 ? bytes : size_of_image(image));
  if (core->is_in_file(image)) return;
  const std::size_t size = bytes != 0 ? bytes : size_of_image(image);
  if (size == 0 || size > kMostBytes) return;
  const SignalGuard signals;
  const BoundedLock lock(saving, kLockMilliseconds);
  const auto* from = static_cast<const char*>(image);
  const std::uint64_t hash = hash_of(from, size);
  if (!lock.held() || is_saved(hash) || !core->take_budget(size)) return;
  const unsigned number = images.load();
  char name[32], unfinished[4200], path[4200];
  std::snprintf(name, sizeof name, "image-%u.new", number);
  if (!core->path_of(name, unfinished, sizeof unfinished)) return;
  std::snprintf(name, sizeof name, "image-%u", number);
  if (!core->path_of(name, path, sizeof path)) return;
  if (!write_whole(unfinished, from, size) || rename(unfinished, path) != 0) {
    unlink(unfinished);
    return;
  }
  saved[number % kMostImages].store(hash);
  images.store(number + 1);
}

void forget_images() noexcept {
  for (auto& known : saved) known.store(0);
  images.store(0);
  saving.store(false);
}

} // namespace gmt::interposer::collector
