// SPDX-License-Identifier: Apache-2.0
// See object_files.h. The list of noted modules is small (hundreds), sorted by nothing. Who does not get its lock within
// reason (the holder waits for the loader's lock, which the program holds) leaves the writing to the next new stack.
#include "interposer/loader/object_files.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interposer/base/fork_guard.h"
#include "interposer/loader/mapped_path.h"
#include "interposer/log/process.h"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
}

namespace gmt::interposer {

constinit std::atomic<std::uint32_t> modules_epoch{1};

namespace {

struct Noted {
  std::uint64_t start, end;
  std::uint64_t name; // hash of its path: another library of the same size may take the same place
  bool seen; // during the current scan
};
constexpr unsigned kMaxNoted = 16384;

constinit std::atomic<bool> locked{false};
constinit std::atomic<bool> missed{false}; // somebody left the writing to the next one
constinit Noted* noted = nullptr;
constinit unsigned noted_count = 0;
constinit std::uint32_t noted_epoch = 0;

struct Bounds {
  std::uint64_t start = UINT64_MAX, end = 0;
};

Bounds bounds_of(const dl_phdr_info& info) noexcept {
  Bounds b;
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type != PT_LOAD) continue;
    const std::uint64_t at = info.dlpi_addr + p.p_vaddr;
    if (at < b.start) b.start = at;
    if (at + p.p_memsz > b.end) b.end = at + p.p_memsz;
  }
  return b;
}

// What is written during relocation alone holds no variables.
struct Variables {
  Bounds segments[2]; // more are not known of any linker
  unsigned count = 0;
};
Variables variables_of(const dl_phdr_info& info) noexcept {
  Bounds relocated{0, 0};
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type == PT_GNU_RELRO) relocated = {info.dlpi_addr + p.p_vaddr, info.dlpi_addr + p.p_vaddr + p.p_memsz};
  }
  Variables found;
  for (unsigned i = 0; i < info.dlpi_phnum && found.count < sizeof found.segments / sizeof *found.segments; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type != PT_LOAD || (p.p_flags & PF_W) == 0) continue;
    Bounds b{info.dlpi_addr + p.p_vaddr, info.dlpi_addr + p.p_vaddr + p.p_memsz};
    if (b.start >= relocated.start && b.start < relocated.end) b.start = relocated.end;
    if (b.start < b.end) found.segments[found.count++] = b;
  }
  return found;
}

// The value of the note with this owner and type, null if the object has none.
const char* find_note(const dl_phdr_info& info, const char* owner, std::uint32_t type, std::uint32_t& length) noexcept {
  const std::size_t owner_bytes = std::strlen(owner) + 1;
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type != PT_NOTE) continue;
    const std::uint64_t step = p.p_align == 8 ? 7 : 3;
    const char* at = reinterpret_cast<const char*>(info.dlpi_addr + p.p_vaddr);
    const char* end = at + p.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof *note;
      const char* value = name + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == type && note->n_namesz == owner_bytes && std::memcmp(name, owner, owner_bytes) == 0) {
        return length = note->n_descsz, value;
      }
      at = value + ((note->n_descsz + step) & ~step);
    }
  }
  return nullptr;
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

const char* path_of(const dl_phdr_info& info, char* buffer, std::size_t size) noexcept {
  if (info.dlpi_name != nullptr && info.dlpi_name[0] != '\0') return info.dlpi_name;
  const ssize_t n = readlink("/proc/self/exe", buffer, size - 1);
  buffer[n > 0 ? n : 0] = '\0';
  return buffer;
}

// Names such as "./libx.so" (LD_LIBRARY_PATH=., dlopen, LD_PRELOAD) hold only as long as the program stays where it is.
bool is_relative(const char* name) noexcept { return name[0] != '/' && std::strchr(name, '/') != nullptr; }

// The kernel names the file itself; the program's name for it may be a link beside it ("libx.so" to "libx.so.1.2"), and
// what rules and suppressions match is that name.
void put_name_back(const char* name, char* path, std::size_t size) noexcept {
  static char beside[4096]; // under the lock
  struct stat theirs{}, ours{};
  const char* last = std::strrchr(name, '/');
  const auto folder = static_cast<int>(std::strrchr(path, '/') - path);
  const int n = std::snprintf(beside, sizeof beside, "%.*s%s", folder, path, last);
  if (n <= 0 || static_cast<std::size_t>(n) >= (size < sizeof beside ? size : sizeof beside)) return;
  if (stat(beside, &theirs) != 0 || stat(path, &ours) != 0) return;
  if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev) std::strcpy(path, beside);
}

const char* absolute_path_of(const dl_phdr_info& info, std::uint64_t start, char* buffer, std::size_t size) noexcept {
  const char* path = path_of(info, buffer, size);
  if (path == buffer || !is_relative(path)) return path;
  if (!mapped_path(reinterpret_cast<const void*>(start), buffer, size)) return path;
  put_name_back(path, buffer, size);
  return buffer;
}

std::uint64_t hash_of(const char* text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (; text != nullptr && *text != '\0'; ++text) h = (h ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return h;
}

Noted* find_noted(std::uint64_t start) noexcept {
  for (unsigned i = 0; i < noted_count; ++i) {
    if (noted[i].start == start) return &noted[i];
  }
  return nullptr;
}

// Text files of a trace escape these four.
void escape(const char* in, char* result, std::size_t size) noexcept {
  std::size_t n = 0;
  for (; *in != '\0' && n + 2 < size; ++in) {
    const char letter = *in == '\\' ? '\\' : *in == '\n' ? 'n' : *in == '\r' ? 'r' : *in == '\t' ? 't' : '\0';
    if (letter != '\0') result[n++] = '\\';
    result[n++] = letter != '\0' ? letter : *in;
  }
  result[n] = '\0';
}

int note_one(dl_phdr_info* info, std::size_t, void*) noexcept {
  const Bounds b = bounds_of(*info);
  if (b.end == 0) return 0;
  const std::uint64_t name = hash_of(info->dlpi_name);
  if (Noted* known = find_noted(b.start)) {
    known->seen = known->end == b.end && known->name == name; // else another library has taken its place: the old one is written off first
    return 0;
  }
  if (noted_count == kMaxNoted) return 1;
  noted[noted_count++] = {b.start, b.end, name, true};
  static char id[130], own[4096], path[4200], line[4800]; // under the lock; a thread's stack may be small
  build_id_of(*info, id);
  escape(absolute_path_of(*info, b.start, own, sizeof own), path, sizeof path);
  int n = std::snprintf(line, sizeof line, "+\t%lx\t%lx\t%lx\t%lx\t%s\t%s\n", Process::current_order(), b.start, b.end,
                        static_cast<std::uint64_t>(info->dlpi_addr), id, path);
  const Variables variables = variables_of(*info);
  for (unsigned i = 0; i < variables.count; ++i) {
    n += std::snprintf(line + n, sizeof line - static_cast<std::size_t>(n), "=\t%lx\t%lx\t%lx\n", b.start,
                       variables.segments[i].start, variables.segments[i].end);
  }
  Process::append_line("modules", line, static_cast<std::size_t>(n));
  return 0;
}

void drop_unseen() noexcept {
  for (unsigned i = 0; i < noted_count;) {
    if (noted[i].seen) {
      ++i;
      continue;
    }
    char line[64];
    const int n = std::snprintf(line, sizeof line, "-\t%lx\t%lx\n", Process::current_order(), noted[i].start);
    Process::append_line("modules", line, static_cast<std::size_t>(n));
    noted[i] = noted[--noted_count];
  }
}

// The host's lock of the list is not held by us when it forks.
int walk_objects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) noexcept {
  const InsideLocks guard;
  return dl_iterate_phdr(visit, data);
}

void scan() noexcept {
  if (noted == nullptr) {
    void* memory = mmap(nullptr, kMaxNoted * sizeof(Noted), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    noted = static_cast<Noted*>(memory);
  }
  const std::uint32_t now = modules_epoch.load();
  for (unsigned i = 0; i < noted_count; ++i) noted[i].seen = false;
  walk_objects(note_one, nullptr);
  const unsigned before = noted_count;
  drop_unseen();
  if (noted_count != before) walk_objects(note_one, nullptr); // what took a dropped one's place
  noted_epoch = now;
}

bool try_lock() noexcept { return !locked.exchange(true, std::memory_order_acquire); }
bool lock_within_reason() noexcept {
  for (int i = 0; i < 2500; ++i) {
    if (try_lock()) return true;
    const timespec pause{0, 20000};
    nanosleep(&pause, nullptr);
  }
  return false;
}
void unlock() noexcept { locked.store(false, std::memory_order_release); }

struct Query {
  std::uint64_t address;
  ObjectFile* object;
  bool found;
};

int match(dl_phdr_info* info, std::size_t, void* data) noexcept {
  auto& q = *static_cast<Query*>(data);
  const Bounds b = bounds_of(*info);
  if (q.address < b.start || q.address >= b.end) return 0;
  q.object->start = b.start;
  q.object->end = b.end;
  q.object->bias = info->dlpi_addr;
  const char* path = path_of(*info, q.object->path, sizeof q.object->path);
  if (path != q.object->path) {
    std::snprintf(q.object->path, sizeof q.object->path, "%s", path);
  }
  q.found = true;
  return 1;
}

} // namespace

void libraries_were_unloaded() noexcept { modules_epoch.fetch_add(1); }

void note_modules_of(void* const* addresses, unsigned count) noexcept {
  if (!lock_within_reason()) return missed.store(true);
  bool known = !missed.exchange(false) && noted_epoch == modules_epoch.load();
  for (unsigned i = 0; i < count && known; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(addresses[i]);
    known = false;
    for (unsigned m = 0; m < noted_count && !known; ++m) known = address >= noted[m].start && address < noted[m].end;
  }
  if (!known) scan();
  unlock();
}

void note_all_modules() noexcept {
  if (!lock_within_reason()) return missed.store(true);
  scan();
  unlock();
}

void forget_noted_modules() noexcept {
  noted_count = 0;
  unlock(); // a thread of the parent may have held it at the fork
}

bool object_of(const void* address, ObjectFile& object) noexcept {
  Query q{reinterpret_cast<std::uint64_t>(address), &object, false};
  walk_objects(match, &q);
  return q.found;
}

void for_each_object_named(const char* prefix, bool (*visit)(void*, const char*, const void*), void* context) noexcept {
  struct Walk {
    const char* prefix;
    bool (*visit)(void*, const char*, const void*);
    void* context;
  } walk{prefix, visit, context};
  walk_objects(
      [](dl_phdr_info* info, std::size_t, void* data) noexcept -> int {
        const auto& w = *static_cast<Walk*>(data);
        if (info->dlpi_name == nullptr) return 0;
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* base = slash != nullptr ? slash + 1 : info->dlpi_name;
        if (std::strncmp(base, w.prefix, std::strlen(w.prefix)) != 0) return 0;
        return w.visit(w.context, info->dlpi_name, reinterpret_cast<const void*>(bounds_of(*info).start)) ? 0 : 1;
      },
      &walk);
}

bool any_object_has_note(const char* owner, std::uint32_t type) noexcept {
  struct Wanted {
    const char* owner;
    std::uint32_t type;
  } wanted{owner, type};
  return walk_objects(
             [](dl_phdr_info* info, std::size_t, void* data) noexcept -> int {
               const auto& w = *static_cast<const Wanted*>(data);
               std::uint32_t length = 0;
               return find_note(*info, w.owner, w.type, length) != nullptr ? 1 : 0;
             },
             &wanted) != 0;
}

bool is_own_code(const void* address) noexcept {
  return address >= static_cast<const void*>(__ehdr_start) && address < static_cast<const void*>(etext);
}

bool own_folder(char* buffer, std::size_t size) noexcept {
  ObjectFile self;
  if (!object_of(__ehdr_start, self)) return false;
  if (is_relative(self.path) && !mapped_path(__ehdr_start, self.path, sizeof self.path)) return false;
  char* slash = std::strrchr(self.path, '/');
  if (slash == nullptr) return false;
  *slash = '\0';
  if (std::strlen(self.path) >= size) return false;
  std::strcpy(buffer, self.path);
  return true;
}

} // namespace gmt::interposer
