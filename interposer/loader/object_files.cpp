// SPDX-License-Identifier: Apache-2.0
#include "interposer/loader/object_files.h"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include "interposer/base/fork_guard.h"
#include "interposer/loader/loaded_object.h"
#include "interposer/loader/mapped_path.h"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
}

namespace gmt::interposer {

constinit std::atomic<std::uint32_t> modules_epoch{1};

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

const char* find_note(const dl_phdr_info& info, const char* owner, std::uint32_t type,
                      std::uint32_t& length) noexcept {
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
      if (note->n_type == type && note->n_namesz == owner_bytes &&
          std::memcmp(name, owner, owner_bytes) == 0) {
        length = note->n_descsz;
        return value;
      }
      at = value + ((note->n_descsz + step) & ~step);
    }
  }
  return nullptr;
}

const char* path_of(const dl_phdr_info& info, char* buffer, std::size_t size) noexcept {
  if (info.dlpi_name != nullptr && info.dlpi_name[0] != '\0') return info.dlpi_name;
  const ssize_t n = readlink("/proc/self/exe", buffer, size - 1);
  buffer[n > 0 ? n : 0] = '\0';
  return buffer;
}

bool is_relative(const char* name) noexcept {
  return name[0] != '/' && std::strchr(name, '/') != nullptr;
}

int walk_objects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) noexcept {
  const InsideLocks guard;
  return dl_iterate_phdr(visit, data);
}

namespace {

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

bool object_of(const void* address, ObjectFile& object) noexcept {
  Query q{reinterpret_cast<std::uint64_t>(address), &object, false};
  walk_objects(match, &q);
  return q.found;
}

void for_each_object_named(const char* prefix, bool (*visit)(void*, const char*, const void*),
                           void* context) noexcept {
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
      return w.visit(w.context, info->dlpi_name,
                     reinterpret_cast<const void*>(bounds_of(*info).start))
               ? 0
               : 1;
    },
    &walk);
}

void each_object_path(const char* prefix, bool (*visit)(void*, const char*),
                      void* context) noexcept {
  struct Visit {
    bool (*visit)(void*, const char*);
    void* context;
  } both{visit, context};
  for_each_object_named(
    prefix,
    [](void* data, const char* path, const void*) noexcept {
      const auto& v = *static_cast<const Visit*>(data);
      return v.visit(v.context, path);
    },
    &both);
}

bool is_earlier_preload(const ObjectFile& object) noexcept {
  struct Walk {
    std::uint64_t wanted;
    bool is_main, found;
  } walk{object.start, true, false};
  walk_objects(
    [](dl_phdr_info* info, std::size_t, void* data) noexcept -> int {
      auto& w = *static_cast<Walk*>(data);
      const std::uint64_t start = bounds_of(*info).start;
      if (is_own_code(reinterpret_cast<const void*>(start))) return 1;
      w.found = start == w.wanted && !w.is_main;
      w.is_main = false;
      return w.found ? 1 : 0;
    },
    &walk);
  return walk.found;
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
  return address >= static_cast<const void*>(__ehdr_start) &&
         address < static_cast<const void*>(etext);
}

bool own_folder(char* buffer, std::size_t size) noexcept {
  ObjectFile self;
  if (!object_of(__ehdr_start, self)) return false;
  if (is_relative(self.path) && !mapped_path(__ehdr_start, self.path, sizeof self.path))
    return false;
  char* slash = std::strrchr(self.path, '/');
  if (slash == nullptr) return false;
  *slash = '\0';
  if (std::strlen(self.path) >= size) return false;
  std::strcpy(buffer, self.path);
  return true;
}

} // namespace gmt::interposer
