// SPDX-License-Identifier: Apache-2.0
// See unwinder.h. The header's types are libunwind's own; its functions are looked up by the names that the header's
// macros make of them on x86-64 (_U generic, _UL local unwinding only).
#include "interposer/log/unwinder.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <atomic>
#include <cstring>
#include <dlfcn.h>

#include "interposer/loader/object_files.h"
#include "interposer/log/process.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/unwinder_imports.h"

namespace gmt::interposer {

namespace {

struct Functions {
  int (*backtrace)(void**, int);
  int (*get_context)(unw_context_t*);
  int (*init_local)(unw_cursor_t*, unw_context_t*);
  int (*step)(unw_cursor_t*);
  int (*get_reg)(unw_cursor_t*, unw_regnum_t, unw_word_t*);
  void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
  unw_addr_space_t space;
};

constinit Functions functions{};
constinit std::atomic<bool> ready{false};

template <class Function> void look_up(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(real_dlsym(library, name));
}

} // namespace

void open_unwinder() noexcept {
  if (ready.load()) return; // a forked child has it already
  char path[1100];
  if (!own_folder(path, sizeof path - 32)) return;
  std::strcat(path, "/libunwind.so.8");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    Process::notify_command("nounwinder", path);
    return;
  }
  redirect_unwinder_imports(library);
  look_up(library, "unw_backtrace", functions.backtrace);
  look_up(library, "_Ux86_64_getcontext", functions.get_context);
  look_up(library, "_ULx86_64_init_local", functions.init_local);
  look_up(library, "_ULx86_64_step", functions.step);
  look_up(library, "_ULx86_64_get_reg", functions.get_reg);
  look_up(library, "_ULx86_64_flush_cache", functions.flush_cache);
  if (const auto* space = static_cast<unw_addr_space_t*>(real_dlsym(library, "_ULx86_64_local_addr_space"))) {
    functions.space = *space;
  }
  ready.store(functions.backtrace != nullptr, std::memory_order_release);
}

unsigned unwind(void** frames, unsigned size) noexcept {
  if (!ready.load(std::memory_order_acquire)) return 0;
  const int n = functions.backtrace(frames, static_cast<int>(size));
  return n > 0 ? static_cast<unsigned>(n) : 0;
}

void unwind_with_stack_pointers(bool (*visit)(void*, std::uint64_t, std::uint64_t), void* context) noexcept {
  if (!ready.load() || functions.get_context == nullptr || functions.init_local == nullptr ||
      functions.step == nullptr || functions.get_reg == nullptr) {
    return;
  }
  unw_context_t machine;
  unw_cursor_t cursor;
  functions.get_context(&machine);
  if (functions.init_local(&cursor, &machine) != 0) return;
  do {
    unw_word_t address = 0, stack_pointer = 0;
    if (functions.get_reg(&cursor, UNW_REG_IP, &address) != 0) return;
    if (functions.get_reg(&cursor, UNW_REG_SP, &stack_pointer) != 0) return;
    if (!visit(context, address, stack_pointer)) return;
  } while (functions.step(&cursor) > 0);
}

void flush_unwinder() noexcept {
  if (ready.load() && functions.flush_cache != nullptr) functions.flush_cache(functions.space, 0, 0);
}

} // namespace gmt::interposer
