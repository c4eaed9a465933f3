// SPDX-License-Identifier: Apache-2.0
// The list of noted modules is small (hundreds), sorted by nothing. A thread that does not get its
// lock (the holder waits for the loader's lock, which the program holds) leaves the writing to the
// next new stack.
#include "interposer/log/module_list.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/text_file.h"
#include "interposer/loader/loaded_object.h"
#include "interposer/loader/mapped_path.h"
#include "interposer/loader/object_files.h"
#include "interposer/log/process.h"
#include "interposer/log/python/python_session.h"

namespace gmt::interposer {
namespace {

struct Noted {
  std::uint64_t start, end;
  std::uint64_t name; // hash of its path: another library of the same size may take the same
                      // addresses
  bool seen;          // during the current scan
};
constexpr unsigned kMaxNoted = 16384;

constinit std::atomic<bool> list_is_locked{false};
constexpr int kListLockMilliseconds = 50;
constinit std::atomic<bool> missed{false}; // a thread left the writing to the next one
constinit Noted* noted_modules = nullptr;
constinit unsigned noted_count = 0;
constinit std::uint32_t noted_epoch = 0;

// What is written during relocation alone holds no variables.
struct Variables {
  Bounds segments[2]; // more are not known of any linker
  unsigned count = 0;
};
Variables variables_of(const dl_phdr_info& info) noexcept {
  Bounds relocated{0, 0};
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type == PT_GNU_RELRO)
      relocated = {info.dlpi_addr + p.p_vaddr, info.dlpi_addr + p.p_vaddr + p.p_memsz};
  }
  Variables found;
  for (unsigned i = 0;
       i < info.dlpi_phnum && found.count < sizeof found.segments / sizeof *found.segments; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type != PT_LOAD || (p.p_flags & PF_W) == 0) continue;
    Bounds b{info.dlpi_addr + p.p_vaddr, info.dlpi_addr + p.p_vaddr + p.p_memsz};
    if (b.start >= relocated.start && b.start < relocated.end) b.start = relocated.end;
    if (b.start < b.end) found.segments[found.count++] = b;
  }
  return found;
}

// The build id as hex into `text` (at least 129 bytes), "-" if there is none.
void build_id_of(const dl_phdr_info& info, char* text) noexcept {
  std::strcpy(text, "-");
  std::uint32_t length = 0;
  const char* value = find_note(info, "GNU", NT_GNU_BUILD_ID, length);
  for (unsigned b = 0; value != nullptr && b < length && b < 64; ++b) {
    std::snprintf(text + 2 * b, 3, "%02x", static_cast<unsigned char>(value[b]));
  }
}

// The kernel names the file itself; the program's name for it may be a link beside it ("libx.so" to
// "libx.so.1.2"), and what rules and suppressions match is that name.
void put_name_back(const char* name, char* path, std::size_t size) noexcept {
  static char beside[4096]; // under the lock
  struct stat theirs{}, ours{};
  const char* last = std::strrchr(name, '/');
  const auto folder = static_cast<int>(std::strrchr(path, '/') - path);
  const int n = std::snprintf(beside, sizeof beside, "%.*s%s", folder, path, last);
  if (n <= 0 || static_cast<std::size_t>(n) >= (size < sizeof beside ? size : sizeof beside))
    return;
  if (stat(beside, &theirs) != 0 || stat(path, &ours) != 0) return;
  if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev) std::strcpy(path, beside);
}

const char* absolute_path_of(const dl_phdr_info& info, std::uint64_t start, char* buffer,
                             std::size_t size) noexcept {
  const char* path = path_of(info, buffer, size);
  if (path == buffer || !is_relative(path)) return path;
  if (!mapped_path(reinterpret_cast<const void*>(start), buffer, size)) return path;
  put_name_back(path, buffer, size);
  return buffer;
}

std::uint64_t hash_of_name(const char* text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (; text != nullptr && *text != '\0'; ++text)
    h = (h ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return h;
}

Noted* find_noted(std::uint64_t start) noexcept {
  for (unsigned i = 0; i < noted_count; ++i) {
    if (noted_modules[i].start == start) return &noted_modules[i];
  }
  return nullptr;
}

void escape(const char* in, char* result, std::size_t size) noexcept {
  std::size_t n = 0;
  for (; *in != '\0' && n + 2 < size; ++in) {
    const char letter = escape_letter(*in);
    if (letter != '\0') result[n++] = '\\';
    result[n++] = letter != '\0' ? letter : *in;
  }
  result[n] = '\0';
}

int note_one(dl_phdr_info* info, std::size_t, void*) noexcept {
  const Bounds b = bounds_of(*info);
  if (b.end == 0) return 0;
  const std::uint64_t name = hash_of_name(info->dlpi_name);
  if (Noted* known = find_noted(b.start)) {
    // Else another library has taken its place: the old one is written off first
    known->seen = known->end == b.end && known->name == name;
    return 0;
  }
  if (noted_count == kMaxNoted) return 1;
  noted_modules[noted_count++] = {b.start, b.end, name, true};
  // Under the lock; a thread's stack may be small
  static char id[130], own[4096], path[4200], line[4800];
  build_id_of(*info, id);
  escape(absolute_path_of(*info, b.start, own, sizeof own), path, sizeof path);
  int n =
    std::snprintf(line, sizeof line, "+\t%lx\t%lx\t%lx\t%lx\t%s\t%s\n", Process::current_order(),
                  b.start, b.end, static_cast<std::uint64_t>(info->dlpi_addr), id, path);
  const Variables variables = variables_of(*info);
  for (unsigned i = 0; i < variables.count; ++i) {
    n += std::snprintf(line + n, sizeof line - static_cast<std::size_t>(n), "=\t%lx\t%lx\t%lx\n",
                       b.start, variables.segments[i].start, variables.segments[i].end);
  }
  Process::append_line("modules", line, static_cast<std::size_t>(n));
  return 0;
}

void drop_unseen() noexcept {
  for (unsigned i = 0; i < noted_count;) {
    if (noted_modules[i].seen) {
      ++i;
      continue;
    }
    char line[64];
    const int n = std::snprintf(line, sizeof line, "-\t%lx\t%lx\n", Process::current_order(),
                                noted_modules[i].start);
    Process::append_line("modules", line, static_cast<std::size_t>(n));
    noted_modules[i] = noted_modules[--noted_count];
  }
}

void scan() noexcept {
  if (noted_modules == nullptr) {
    void* memory = mmap(nullptr, kMaxNoted * sizeof(Noted), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    noted_modules = static_cast<Noted*>(memory);
  }
  const std::uint32_t now = modules_epoch.load();
  for (unsigned i = 0; i < noted_count; ++i) noted_modules[i].seen = false;
  walk_objects(note_one, nullptr);
  const unsigned before = noted_count;
  drop_unseen();
  if (noted_count != before)
    walk_objects(note_one, nullptr); // what was loaded instead of a dropped one
  noted_epoch = now;
  look_for_python();
}

} // namespace

void note_modules_of(void* const* addresses, unsigned count) noexcept {
  const BoundedLock lock(list_is_locked, kListLockMilliseconds);
  if (!lock.held()) return missed.store(true);
  bool known = !missed.exchange(false) && noted_epoch == modules_epoch.load();
  for (unsigned i = 0; i < count && known; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(addresses[i]);
    known = false;
    for (unsigned m = 0; m < noted_count && !known; ++m)
      known = address >= noted_modules[m].start && address < noted_modules[m].end;
  }
  if (!known) scan();
}

void note_all_modules() noexcept {
  const BoundedLock lock(list_is_locked, kListLockMilliseconds);
  if (!lock.held()) return missed.store(true);
  scan();
}

void forget_noted_modules() noexcept {
  noted_count = 0;
  list_is_locked.store(false); // a thread of the parent may have held it at the fork
}

} // namespace gmt::interposer
