// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_fatbin.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "ptx/fatbin/section.h"
#include "ptx/fatbin/unpack.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kMostPlain = 1 << 20;

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

void unpack_entry(const ptx::FatbinEntry& entry, FatbinWalk& walk) {
  const ptx::FatbinPacking packing = ptx::packing_of(entry.header);
  const std::size_t stored = ptx::packed_bytes(entry);
  require(stored <= entry.bytes, "bytes of what is packed");
  if (packing == ptx::FatbinPacking::kPlain || entry.header.plain_bytes > kMostPlain) return;
  // Memory of that size alone: what is written behind it is seen.
  const auto room = static_cast<std::size_t>(entry.header.plain_bytes);
  const auto plain = std::make_unique<char[]>(room);
  std::size_t bytes = 0;
  const bool good = ptx::unpack_code(packing, entry.code, stored, plain.get(), room, &bytes);
  require(!good || bytes <= room, "bytes of what was unpacked");
  ++(good ? walk.unpacked : walk.damaged);
}

// As the driver is given a container: without a section around it.
void check_first_container(const char* begin, std::size_t available) {
  if (available < sizeof(ptx::FatbinContainer)) return;
  ptx::FatbinReader reader(begin, available);
  require(reader.end() <= available && reader.end() <= ptx::fatbin_bytes(begin),
          "the end of a container");
  for (ptx::FatbinEntry entry; reader.next(entry);)
    require(entry.bytes <= entry.header.bytes, "an entry that is cut off");
}

} // namespace

FatbinWalk walk_section(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::make_unique<char[]>(size);
  if (size != 0) std::memcpy(bytes.get(), data, size);
  FatbinWalk walk;
  bool any_empty = false;
  const char* at = bytes.get();
  const char* const end = at + size;
  ptx::FatbinSection section(bytes.get(), size);
  for (ptx::FatbinReader container; section.next(container); ++walk.containers) {
    std::size_t entries = 0;
    for (ptx::FatbinEntry entry; container.next(entry); ++entries) {
      require(entry.code >= at && entry.bytes <= static_cast<std::size_t>(end - entry.code),
              "where an entry lies");
      at = entry.code + entry.bytes;
      unpack_entry(entry, walk);
    }
    any_empty = any_empty || entries == 0;
    walk.entries += entries;
  }
  const bool late = ptx::parts_are_linked_late(bytes.get(), size);
  require(late == (size == 0 || any_empty), "who links");
  check_first_container(bytes.get(), size);
  return walk;
}

void read_fatbin_input(const std::uint8_t* data, std::size_t size) { walk_section(data, size); }

} // namespace gmt::test
