// SPDX-License-Identifier: Apache-2.0
// Where a library of NVIDIA's toolkit may be, for what is opened with an option alone. One that a
// variable of ours names is the only one tried; one that the program has loaded itself comes before
// any other, because a process should have one.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <span>

namespace gmt::interposer {

// What the core has for it.
struct ToolkitSearch {
  // The value that the process was started with; false: there is none.
  bool (*initial_environment)(const char* name, char* value, std::size_t size) = nullptr;
  // Calls visit(context, path) for loaded objects whose file name begins with `prefix`, until it
  // answers false.
  void (*each_object)(const char* prefix, bool (*visit)(void* context, const char* path),
                      void* context) = nullptr;
  void* (*find_symbol)(void* library, const char* name) = nullptr;
};

struct ToolkitFolders {
  const char* variable;               // of ours, such as GPUMEMTRACE_CUPTI
  std::span<const char* const> names; // the newest first
  // From the folder of a libcudart, which is a toolkit's lib64 or a wheel's nvidia/cuda_runtime/lib
  // (CUDA 12) or nvidia/cu13/lib; and from a toolkit's own.
  std::span<const char* const> beside_runtime, in_toolkit;
};

namespace toolkit {

inline void* open_in(const char* folder, const char* inside,
                     const ToolkitFolders& folders) noexcept {
  for (const char* name : folders.names) {
    char path[4200];
    const int length = std::snprintf(path, sizeof path, "%s%s/%s", folder, inside, name);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) continue;
    if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

inline void* open_in_any(const char* folder, std::span<const char* const> insides,
                         const ToolkitFolders& folders) noexcept {
  for (const char* inside : insides) {
    if (folder[0] == '\0') break;
    if (void* library = open_in(folder, inside, folders)) return library;
  }
  return nullptr;
}

inline void* beside_runtime(const ToolkitSearch& search, const ToolkitFolders& folders) noexcept {
  char folder[2048] = {};
  search.each_object(
    "libcudart.so",
    [](void* context, const char* path) {
      const char* slash = std::strrchr(path, '/');
      if (slash == nullptr || static_cast<std::size_t>(slash - path) >= 2048) return true;
      std::memcpy(context, path, static_cast<std::size_t>(slash - path));
      return false;
    },
    folder);
  return open_in_any(folder, folders.beside_runtime, folders);
}

} // namespace toolkit

// Null: there is none.
inline void* find_in_toolkits(const ToolkitSearch& search, const ToolkitFolders& folders) noexcept {
  char path[4096];
  if (search.initial_environment(folders.variable, path, sizeof path) && path[0] != '\0')
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (const int how : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* name : folders.names) {
      if (void* library = dlopen(name, how)) return library;
    }
  }
  if (void* library = toolkit::beside_runtime(search, folders)) return library;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (!search.initial_environment(variable, path, sizeof path)) continue;
    if (void* library = toolkit::open_in_any(path, folders.in_toolkit, folders)) return library;
  }
  return toolkit::open_in_any("/usr/local/cuda", folders.in_toolkit, folders);
}

// Whether the process was started with a tool of another's for the driver or for NVTX. The command
// puts our library in NVTX's place and keeps what was there under a name of its own.
inline bool is_other_tool_injected(const ToolkitSearch& search) noexcept {
  char value[4096];
  const auto is_set = [&](const char* variable) {
    return search.initial_environment(variable, value, sizeof value) && value[0] != '\0';
  };
  if (is_set("CUDA_INJECTION64_PATH") || is_set("GPUMEMTRACE_NVTX_NEXT")) return true;
  return is_set("NVTX_INJECTION64_PATH") && std::strstr(value, "libgpumemtrace") == nullptr;
}

} // namespace gmt::interposer
