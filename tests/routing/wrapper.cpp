// SPDX-License-Identifier: Apache-2.0
// Another tool's preload, placed after ours: wraps cuMemAlloc_v2 and cudaMalloc and forwards as
// WRAPPER says (next, handle, or early: by handle, looked up in its constructor). Says on stderr,
// at the end, how often it was called. With -DWRAP_DLSYM it exports dlsym too and hands out its
// wrapper, as memory limiters do.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include "cuda_calls.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

int calls = 0;
int depth = 0;
MemAlloc early = nullptr;

#ifdef WRAP_DLSYM
using Dlsym = void* (*)(void*, const char*);
Dlsym loader_dlsym() {
  static const auto real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
  return real != nullptr ? real
                         : reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
}
#define LOOK_UP loader_dlsym()
#else
#define LOOK_UP dlsym
#endif

bool way_is(const char* way) {
  const char* chosen = std::getenv("WRAPPER");
  return chosen != nullptr && std::strcmp(chosen, way) == 0;
}

MemAlloc by_handle() {
  return reinterpret_cast<MemAlloc>(LOOK_UP(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2"));
}

__attribute__((constructor)) void begin() {
  if (way_is("early")) early = by_handle();
}
__attribute__((destructor)) void end() { std::fprintf(stderr, "wrapper called %d\n", calls); }

} // namespace

API int cuMemAlloc_v2(u64* address, u64 bytes) {
  ++calls;
  if (++depth > 3) std::abort(); // going round in a circle
  MemAlloc real = early != nullptr ? early
                  : way_is("next") ? reinterpret_cast<MemAlloc>(LOOK_UP(RTLD_NEXT, "cuMemAlloc_v2"))
                                   : by_handle();
  u64 own = 0; // its own out-parameter, as such tools have
  const int result = real(&own, bytes);
  if (result == 0) *address = own;
  --depth;
  return result;
}

API int cudaMalloc(void** address, u64 bytes) {
  ++calls;
  if (++depth > 3) std::abort();
  void* handle = way_is("next") ? RTLD_NEXT : dlopen("libcudart.so.13", RTLD_NOW);
  void* own = nullptr;
  const int result =
    reinterpret_cast<int (*)(void**, u64)>(LOOK_UP(handle, "cudaMalloc"))(&own, bytes);
  if (result == 0) *address = own;
  --depth;
  return result;
}

#ifdef WRAP_DLSYM
API void* dlsym(void* handle, const char* name) {
  void* answer = loader_dlsym()(handle, name);
  if (answer == nullptr || std::strcmp(name, "cuMemAlloc_v2") != 0) return answer;
  return reinterpret_cast<void*>(&cuMemAlloc_v2);
}
#endif
