// SPDX-License-Identifier: Apache-2.0
// Only the library's own entries (its GOT) are changed, so calls of other libraries stay as they
// are.
//
// To know whether an address is readable libunwind writes a byte from it into a pipe of its own and
// reads it back. In a program that closes all descriptors and opens files under their numbers,
// those would be the program's files. So the pipe has no descriptors, and the question is put to
// the kernel without any. Its lock and the loader's are entered by the rules of fork_guard.h.
#include "interposer/log/unwinder_imports.h"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer/base/fork_guard.h"
#include "interposer/base/readable.h"

namespace gmt::interposer {

namespace {

constexpr int kNoDescriptor = -1;

int no_pipe(int descriptors[2], int) noexcept {
  descriptors[0] = descriptors[1] = kNoDescriptor;
  return 0;
}

int close_if_any(int descriptor) noexcept {
  return descriptor == kNoDescriptor ? 0 : close(descriptor);
}

ssize_t read_if_any(int descriptor, void* buffer, std::size_t size) noexcept {
  if (descriptor != kNoDescriptor) return read(descriptor, buffer, size);
  errno = EAGAIN; // an empty pipe
  return -1;
}

ssize_t write_or_test(int descriptor, const void* buffer, std::size_t size) noexcept {
  if (descriptor != kNoDescriptor) return write(descriptor, buffer, size);
  if (is_readable(buffer)) return static_cast<ssize_t>(size);
  errno = EFAULT;
  return -1;
}

long system_call(long number, ...) noexcept {
  long a[6];
  va_list list;
  va_start(list, number);
  for (long& word : a) word = va_arg(list, long);
  va_end(list);
  if (number == SYS_write) {
    return write_or_test(static_cast<int>(a[0]), reinterpret_cast<const void*>(a[1]),
                         static_cast<std::size_t>(a[2]));
  }
  return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

using Visit = int (*)(dl_phdr_info*, std::size_t, void*);
int walk_for_unwinder(Visit visit, void* data) noexcept {
  const InsideLocks guard;
  return dl_iterate_phdr(visit, data);
}

int lock_mutex(pthread_mutex_t* mutex) noexcept {
  enter_locks();
  return pthread_mutex_lock(mutex);
}
int unlock(pthread_mutex_t* mutex) noexcept {
  const int result = pthread_mutex_unlock(mutex);
  leave_locks();
  return result;
}

struct Replacement {
  const char* name;
  void* function;
};

void replace(const char* name, void** slot) noexcept {
  const Replacement replacements[] = {
    {"pipe2", reinterpret_cast<void*>(&no_pipe)},
    {"close", reinterpret_cast<void*>(&close_if_any)},
    {"read", reinterpret_cast<void*>(&read_if_any)},
    {"write", reinterpret_cast<void*>(&write_or_test)},
    {"dl_iterate_phdr", reinterpret_cast<void*>(&walk_for_unwinder)},
    {"pthread_mutex_lock", reinterpret_cast<void*>(&lock_mutex)},
    {"pthread_mutex_unlock", reinterpret_cast<void*>(&unlock)},
    {"syscall", reinterpret_cast<void*>(&system_call)}};
  for (const Replacement& r : replacements) {
    if (std::strcmp(name, r.name) != 0) continue;
    const auto page = reinterpret_cast<std::uintptr_t>(slot) & ~std::uintptr_t{4095};
    if (mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE) == 0)
      *slot = r.function;
  }
}

} // namespace

void redirect_unwinder_imports(void* library) noexcept {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  struct Table {
    const ElfW(Rela) * first;
    std::size_t bytes;
  } tables[2] = {};
  // Glibc has made these addresses absolute
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_JMPREL) tables[0].first = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_PLTRELSZ) tables[0].bytes = d->d_un.d_val;
    if (d->d_tag == DT_RELA) tables[1].first = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_RELASZ) tables[1].bytes = d->d_un.d_val;
  }
  if (symbols == nullptr || names == nullptr) return;
  for (const Table& table : tables) {
    for (std::size_t i = 0; table.first != nullptr && i < table.bytes / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& r = table.first[i];
      const auto type = ELF64_R_TYPE(r.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      replace(names + symbols[ELF64_R_SYM(r.r_info)].st_name,
              reinterpret_cast<void**>(map->l_addr + r.r_offset));
    }
  }
}

} // namespace gmt::interposer
