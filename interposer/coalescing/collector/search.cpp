// SPDX-License-Identifier: Apache-2.0
// Where libcupti may be: see find_cupti() in cupti.h. A library that is named by GPUMEMTRACE_CUPTI
// is the only one tried; one that the program has loaded itself comes before any other, because a
// process should have one CUPTI.
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>

#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/cupti.h"

namespace gmt::interposer::collector {

namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};

// From the folder of a libcudart, which is a toolkit's lib64 or a wheel's nvidia/cuda_runtime/lib
// (CUDA 12) or nvidia/cu13/lib.
constexpr const char* kBesideRuntime[] = {"", "/../extras/CUPTI/lib64",
                                          "/../../../extras/CUPTI/lib64", "/../../cuda_cupti/lib",
                                          "/../../cu13/lib"};
constexpr const char* kInToolkit[] = {"/lib64", "/extras/CUPTI/lib64", "/lib"};

void* open_name(const char* folder, const char* inside) noexcept {
  for (const char* name : kNames) {
    char path[4200];
    const int length = std::snprintf(path, sizeof path, "%s%s/%s", folder, inside, name);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) continue;
    if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

void* beside_runtime() noexcept {
  char folder[2048] = {};
  core->each_object(
    "libcudart.so",
    [](void* context, const char* path) {
      const char* slash = std::strrchr(path, '/');
      if (slash == nullptr || static_cast<std::size_t>(slash - path) >= 2048) return true;
      std::memcpy(context, path, static_cast<std::size_t>(slash - path));
      return false;
    },
    folder);
  for (const char* inside : kBesideRuntime) {
    if (folder[0] == '\0') break;
    if (void* library = open_name(folder, inside)) return library;
  }
  return nullptr;
}

void* in_toolkit(const char* folder) noexcept {
  for (const char* inside : kInToolkit) {
    if (void* library = open_name(folder, inside)) return library;
  }
  return nullptr;
}

bool is_set(const char* variable) noexcept {
  char value[4096];
  return core->initial_environment(variable, value, sizeof value) && value[0] != '\0';
}

} // namespace

void* find_cupti() noexcept {
  char path[4096];
  if (core->initial_environment("GPUMEMTRACE_CUPTI", path, sizeof path) && path[0] != '\0') {
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  for (const int how : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* name : kNames) {
      if (void* library = dlopen(name, how)) return library;
    }
  }
  if (void* library = beside_runtime()) return library;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (!core->initial_environment(variable, path, sizeof path) || path[0] == '\0') continue;
    if (void* library = in_toolkit(path)) return library;
  }
  return in_toolkit("/usr/local/cuda");
}

// The command puts our library in NVTX's place and keeps what was there under a name of its own.
bool other_profiler_is_set() noexcept {
  char value[4096];
  if (is_set("CUDA_INJECTION64_PATH") || is_set("GPUMEMTRACE_NVTX_NEXT")) return true;
  return core->initial_environment("NVTX_INJECTION64_PATH", value, sizeof value) &&
         value[0] != '\0' && std::strstr(value, "libgpumemtrace") == nullptr;
}

} // namespace gmt::interposer::collector
