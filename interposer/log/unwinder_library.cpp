// SPDX-License-Identifier: Apache-2.0
// Opens libunwind; see unwinder.h. Its functions are looked up by the names that the header's
// macros make of them on x86-64 (_U generic, _UL local unwinding only).
#include <cstring>
#include <dlfcn.h>

#include "interposer/loader/object_files.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/process.h"
#include "interposer/log/unwinder.h"
#include "interposer/log/unwinder_functions.h"
#include "interposer/log/unwinder_imports.h"

namespace gmt::interposer {

namespace {

template <class Function> void find_function(void* library, const char* name,
                                             Function& function) noexcept {
  function = reinterpret_cast<Function>(real_dlsym(library, name));
}

} // namespace

void open_unwinder() noexcept {
  if (unwinder_is_set()) return; // a forked child has it already
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
  UnwinderFunctions functions{};
  find_function(library, "unw_backtrace", functions.backtrace);
  find_function(library, "_Ux86_64_getcontext", functions.get_context);
  find_function(library, "_ULx86_64_init_local", functions.init_local);
  find_function(library, "_ULx86_64_step", functions.step);
  find_function(library, "_ULx86_64_get_reg", functions.get_reg);
  find_function(library, "_ULx86_64_flush_cache", functions.flush_cache);
  if (const auto* space =
        static_cast<unw_addr_space_t*>(real_dlsym(library, "_ULx86_64_local_addr_space"))) {
    functions.space = *space;
  }
  set_unwinder(functions);
}

} // namespace gmt::interposer
