// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share. Each uses one of NVIDIA's libraries as its documentation
// shows, frees all it made and returns the status given as its first word. With the word "leak" it
// keeps 12,345 bytes of its own: the one block that gpumemtrace has to call a leak, whatever the
// library keeps.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define MUST(call)                                                                                 \
  do {                                                                                             \
    const auto status_ = (call);                                                                   \
    if (static_cast<int>(status_) != 0) {                                                          \
      std::fprintf(stderr, "%s:%d: %s answered %d\n", __FILE__, __LINE__, #call,                   \
                   static_cast<int>(status_));                                                     \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

// Exits with 77 where there is no GPU.
inline void need_gpu() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
  std::puts("skipped: no GPU");
  std::exit(77);
}

// The program's last step.
inline int finish(int argc, char** argv) {
  void* kept = nullptr;
  if (argc > 1 && std::strcmp(argv[1], "leak") == 0) {
    MUST(cudaMalloc(&kept, 12345)); // the planted leak
    MUST(cudaMemset(kept, 0, 12345));
    return 0;
  }
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
