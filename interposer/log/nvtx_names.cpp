// SPDX-License-Identifier: Apache-2.0
// An open-addressed table of pointers into chunks of mapped memory; both only ever grow.
#include "interposer/log/nvtx_names.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include "interposer/log/interned_text.h"

namespace gmt::interposer {

namespace {

constexpr std::size_t kChunkBytes = 256 << 10;

struct Chunk {
  std::atomic<std::size_t> used;
  alignas(16) char bytes[kChunkBytes - 16];
};

constinit std::atomic<const Name*> interned_names[kNameEntries] = {};
constinit std::atomic<unsigned> name_count{0};
constinit std::atomic<Chunk*> chunk{nullptr};

struct Foreign {
  std::atomic<std::uint64_t> handle;
  std::atomic<const Name*> name;
};
constexpr unsigned kForeignEntries = 8192;
constexpr unsigned kForeignProbes = 64;
constinit Foreign foreign[kForeignEntries] = {};

Foreign& foreign_entry(std::uint64_t handle, unsigned probe) noexcept {
  return foreign[((handle * 0x9e3779b97f4a7c15 >> 32) + probe) % kForeignEntries];
}

Chunk* add_chunk(Chunk* full) noexcept {
  const int saved = errno;
  void* memory =
    mmap(nullptr, sizeof(Chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  if (memory == MAP_FAILED) return nullptr;
  if (chunk.compare_exchange_strong(full, static_cast<Chunk*>(memory)))
    return static_cast<Chunk*>(memory);
  munmap(memory, sizeof(Chunk)); // another thread was faster
  return full;
}

void* take_bytes(std::size_t bytes) noexcept {
  bytes = (bytes + 15) / 16 * 16;
  Chunk* now = chunk.load(std::memory_order_acquire);
  for (;;) {
    if (now != nullptr) {
      const std::size_t at = now->used.fetch_add(bytes, std::memory_order_relaxed);
      if (at + bytes <= sizeof now->bytes) return now->bytes + at;
    }
    now = add_chunk(now);
    if (now == nullptr) return nullptr;
  }
}

// Bytes of the longest beginning that fits and ends with a whole UTF-8 character.
std::size_t kept_length(const char* text) noexcept {
  std::size_t n = strnlen(text, kMaxNameBytes + 1);
  if (n <= kMaxNameBytes) return n;
  for (n = kMaxNameBytes; n != 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80;) --n;
  return n;
}

const Name* add_name(std::atomic<const Name*>& entry, std::uint64_t id,
                     std::string_view text) noexcept {
  auto* name = static_cast<Name*>(take_bytes(sizeof(Name) + text.size()));
  if (name == nullptr) return nullptr;
  name->id = id;
  name->length = static_cast<std::uint32_t>(text.size());
  std::memcpy(name + 1, text.data(), text.size());
  const Name* known = nullptr;
  if (!entry.compare_exchange_strong(known, name, std::memory_order_acq_rel)) return known;
  name_count.fetch_add(1, std::memory_order_relaxed);
  return name;
}

const Name* keep(std::string_view text) noexcept {
  const std::uint64_t id = text_id(text);
  for (std::uint64_t at = id;; ++at) {
    std::atomic<const Name*>& entry = interned_names[at % kNameEntries];
    const Name* name = entry.load(std::memory_order_acquire);
    if (name == nullptr) {
      constexpr std::string_view kOneTooMany = "(names beyond the first 196,608 are not kept)";
      const bool full = name_count.load(std::memory_order_relaxed) >= kMaxNames;
      if (full && text != kOneTooMany) return keep(kOneTooMany);
      name = add_name(entry, id, text);
    }
    if (name == nullptr || name->id == id) return name;
  }
}

// Appends one character, or U+FFFD for what is none; false if it does not fit.
bool append_utf8(char* out, std::size_t& n, char32_t c) noexcept {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  unsigned more = 0; // bytes behind the first
  if (c >= 0x80) ++more;
  if (c >= 0x800) ++more;
  if (c >= 0x10000) ++more;
  if (n + more + 1 > kMaxNameBytes) return false;
  constexpr unsigned char kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out[n++] = static_cast<char>(kFirst[more] | c >> (6 * more));
  for (unsigned i = more; i-- > 0;) out[n++] = static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
  return true;
}

} // namespace

const Name* keep_name(const char* text) noexcept {
  return text != nullptr ? keep({text, kept_length(text)}) : nullptr;
}

const Name* keep_name(const wchar_t* text) noexcept {
  if (text == nullptr) return nullptr;
  char utf8[kMaxNameBytes];
  std::size_t n = 0;
  while (*text != L'\0' && append_utf8(utf8, n, static_cast<char32_t>(*text))) ++text;
  return keep({utf8, n});
}

std::uint64_t handle_of(const Name* name) noexcept {
  if (name == nullptr) return 0;
  for (std::uint64_t at = name->id;; ++at) {
    if (interned_names[at % kNameEntries].load(std::memory_order_relaxed) == name)
      return at % kNameEntries + 1;
  }
}

const Name* name_of_handle(std::uint64_t handle) noexcept {
  return handle - 1 < kNameEntries ? interned_names[handle - 1].load(std::memory_order_acquire)
                                   : nullptr;
}

void remember_foreign_handle(std::uint64_t handle, const Name* name) noexcept {
  if (handle == 0) return;
  for (unsigned i = 0; i < kForeignProbes; ++i) {
    Foreign& entry = foreign_entry(handle, i);
    std::uint64_t known = 0;
    if (!entry.handle.compare_exchange_strong(known, handle) && known != handle) continue;
    entry.name.store(name, std::memory_order_release);
    return;
  }
}

const Name* name_of_foreign_handle(std::uint64_t handle) noexcept {
  for (unsigned i = 0; i < kForeignProbes && handle != 0; ++i) {
    const Foreign& entry = foreign_entry(handle, i);
    const std::uint64_t known = entry.handle.load(std::memory_order_acquire);
    if (known == handle) return entry.name.load(std::memory_order_acquire);
    if (known == 0) break;
  }
  return nullptr;
}

} // namespace gmt::interposer
