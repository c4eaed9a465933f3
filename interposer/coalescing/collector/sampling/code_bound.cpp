// SPDX-License-Identifier: Apache-2.0
// From the images that the program loads to a table of its kernels.
#include "interposer/coalescing/collector/sampling/code_bound.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <elf.h>
#include <sys/mman.h>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/driver.h"
#include "interposer/log/interned_text.h"
#include "ptx/fatbin/reader.h"
#include "ptx/fatbin/unpack.h"

namespace gmt::interposer::collector {

namespace {

constexpr std::size_t kMostBytes = 32 << 20; // of one cubin, and of an image in a file
// Of an image that has to be read when it is loaded
constexpr std::size_t kMostBytesInMemory = 4 << 20;
constexpr std::uint64_t kMostTime = 100'000'000; // nanoseconds, of a process
constexpr unsigned kMostImages = 1 << 12, kKernels = 1 << 13;

struct Entry {
  std::uint64_t name; // hash, 0 is free
  CodeBound bound;
};
// All under `reading`.
constinit const void* images[kMostImages] = {}; // not read yet
constinit unsigned image_count = 0;
constinit Entry kernels[kKernels] = {};
constinit std::uint64_t time_taken = 0;
constinit std::atomic<bool> reading{false};

// Memory from mmap: there may be no other in a program's allocation hooks.
class Buffer {
public:
  explicit Buffer(std::size_t bytes) noexcept
      : bytes_(bytes),
        memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Buffer() {
    if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* get() const noexcept {
    return memory_ != MAP_FAILED ? static_cast<char*>(memory_) : nullptr;
  }

private:
  std::size_t bytes_;
  void* memory_;
};

// Two kernels of one name have the looser bound.
void enter_kernel(std::uint64_t name, const CodeBound& bound) noexcept {
  for (unsigned i = 0; i < 64; ++i) {
    Entry& entry = kernels[(name + i) % kKernels];
    if (entry.name == 0) {
      entry = {name, bound};
      return;
    }
    if (entry.name != name) continue;
    if (!bound.is_bounded() || !entry.bound.is_bounded()) {
      entry.bound = {};
    } else if (bound.cost(1) > entry.bound.cost(1)) {
      entry.bound = bound;
    }
    return;
  }
}

const Entry* find_kernel(std::uint64_t name) noexcept {
  for (unsigned i = 0; i < 64; ++i) {
    const Entry& entry = kernels[(name + i) % kKernels];
    if (entry.name == name) return &entry;
    if (entry.name == 0) return nullptr;
  }
  return nullptr;
}

// ---- a cubin: an ELF file with a section .text.<kernel> for each function

class Cubin {
public:
  Cubin(const char* file, std::size_t bytes) noexcept : file_(file), bytes_(bytes) {}

  void read() noexcept {
    if (bytes_ < sizeof header_) return;
    std::memcpy(&header_, file_, sizeof header_);
    constexpr unsigned kCuda = 190; // EM_CUDA
    const bool sound = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                       header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_machine == kCuda &&
                       header_.e_shentsize == sizeof(Elf64_Shdr);
    Elf64_Shdr names;
    if (!sound || !section(header_.e_shstrndx, names)) return;
    constexpr char kText[] = ".text.";
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      Elf64_Shdr text;
      if (!section(i, text) || text.sh_type != SHT_PROGBITS) continue;
      const char* name = name_of(names, text);
      if (name == nullptr || std::strncmp(name, kText, sizeof kText - 1) != 0) continue;
      Function function{this, i};
      const auto* code = reinterpret_cast<const unsigned char*>(file_ + text.sh_offset);
      enter_kernel(text_id(name + sizeof kText - 1),
                   bound_of_code(code, text.sh_size, is_relocated, &function));
    }
  }

private:
  struct Function {
    const Cubin* cubin;
    unsigned section;
  };

  bool section(unsigned index, Elf64_Shdr& result) const noexcept {
    if (index >= header_.e_shnum || header_.e_shoff > bytes_) return false;
    const std::size_t at = header_.e_shoff + std::size_t{index} * sizeof result;
    if (at + sizeof result > bytes_) return false;
    std::memcpy(&result, file_ + at, sizeof result);
    if (result.sh_type == SHT_NOBITS) return true;
    return result.sh_offset <= bytes_ && result.sh_size <= bytes_ - result.sh_offset;
  }
  const char* name_of(const Elf64_Shdr& names, const Elf64_Shdr& one) const noexcept {
    if (one.sh_name >= names.sh_size) return nullptr;
    const char* name = file_ + names.sh_offset + one.sh_name;
    return std::memchr(name, 0, names.sh_size - one.sh_name) != nullptr ? name : nullptr;
  }
  static bool is_relocated(void* data, std::uint64_t offset) noexcept {
    const auto& function = *static_cast<const Function*>(data);
    const Cubin& cubin = *function.cubin;
    for (unsigned i = 0; i < cubin.header_.e_shnum; ++i) {
      Elf64_Shdr list;
      if (!cubin.section(i, list) || list.sh_info != function.section) continue;
      if (list.sh_type != SHT_REL && list.sh_type != SHT_RELA) continue;
      const std::size_t bytes = list.sh_type == SHT_REL ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
      for (std::size_t at = 0; at + bytes <= list.sh_size; at += bytes) {
        Elf64_Rel one;
        std::memcpy(&one, cubin.file_ + list.sh_offset + at, sizeof one);
        if (one.r_offset / 16 == offset / 16) return true;
      }
    }
    return false;
  }

  const char* file_;
  std::size_t bytes_;
  Elf64_Ehdr header_{};
};

// ---- a fat binary

void read_entry(const ptx::FatbinEntry& entry) noexcept {
  const ptx::FatbinEntryHeader& header = entry.header;
  const ptx::FatbinPacking packing = ptx::packing_of(header);
  if (packing == ptx::FatbinPacking::kPlain) return Cubin(entry.code, entry.bytes).read();
  if (header.plain_bytes == 0 || header.plain_bytes > kMostBytes) return;
  if (header.compressed_bytes > entry.bytes) return;
  const Buffer plain(header.plain_bytes);
  if (plain.get() == nullptr) return;
  std::size_t bytes = 0;
  if (ptx::unpack_code(packing, entry.code, header.compressed_bytes, plain.get(),
                       header.plain_bytes, &bytes))
    Cubin(plain.get(), bytes).read();
}

// Calls visit(entry) for each cubin. The driver has read the container: its header tells its size.
template <class Visit> void each_cubin(const char* image, Visit visit) noexcept {
  const std::uint64_t bytes = ptx::fatbin_bytes(image);
  if (bytes > kMostBytes) return;
  ptx::FatbinReader reader(image, static_cast<std::size_t>(bytes));
  for (ptx::FatbinEntry entry; reader.next(entry) && entry.is_whole();) {
    if (entry.is_cubin()) visit(entry);
  }
}

int architecture() noexcept {
  constexpr int kMajor = 75, kMinor = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
  int device = 0, major = 0, minor = 0;
  if (ask_device(&device) != 0 || ask_attribute(&major, kMajor, device) != 0) return 0;
  return ask_attribute(&minor, kMinor, device) == 0 ? major * 10 + minor : 0;
}

// Of the architectures that run on the device without being compiled anew, the driver takes the
// latest.
void read_fatbin(const char* image) noexcept {
  const auto device = static_cast<unsigned>(architecture());
  unsigned best = 0;
  const auto fits = [device](unsigned sm) { return sm / 10 == device / 10 && sm <= device; };
  each_cubin(image, [&](const ptx::FatbinEntry& entry) {
    const unsigned sm = entry.header.architecture;
    if (fits(sm)) best = std::max(best, sm);
  });
  each_cubin(image, [&](const ptx::FatbinEntry& entry) {
    if (best != 0 && entry.header.architecture == best) read_entry(entry);
  });
}

// Under `reading`.
void read_image(const void* image, std::size_t bytes) noexcept {
  if (time_taken > kMostTime) return;
  const std::uint64_t began = core->now();
  const auto* from = static_cast<const char*>(image);
  if (ptx::magic_of(from) == ptx::kFatbinMagic) {
    read_fatbin(from);
  } else if (std::memcmp(from, ELFMAG, SELFMAG) == 0) {
    Cubin(from, bytes).read();
  }
  time_taken += core->now() - began;
}

} // namespace

void learn_code(const void* image, std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > kMostBytes) return;
  const SignalGuard signals;
  const BoundedLock lock(reading, kLockMilliseconds);
  if (!lock.held()) return;
  if (!core->is_in_file(image)) {
    if (bytes <= kMostBytesInMemory) read_image(image, bytes);
  } else if (ptx::magic_of(image) == ptx::kFatbinMagic && image_count < kMostImages) {
    images[image_count++] = image;
  }
}

CodeBound code_bound_of(const char* kernel) noexcept {
  const SignalGuard signals;
  const BoundedLock lock(reading, kLockMilliseconds);
  if (!lock.held()) return {};
  const std::uint64_t name = text_id(kernel);
  const Entry* found = find_kernel(name);
  while (found == nullptr && image_count != 0 && time_taken <= kMostTime) {
    const void* image = images[--image_count];         // what was loaded last is what is needed
    if (core->is_in_file(image)) read_image(image, 0); // the file may be gone
    found = find_kernel(name);
  }
  return found != nullptr ? found->bound : CodeBound{};
}

void forget_code() noexcept {
  image_count = 0;
  time_taken = 0;
  for (Entry& entry : kernels) entry = {};
  reading.store(false);
}

} // namespace gmt::interposer::collector
