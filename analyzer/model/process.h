// SPDX-License-Identifier: Apache-2.0
// What is known of a recorded process beside its calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gmt {

// How a process ended, as its parent and its own last words say.
struct Ending {
  enum class How : std::uint8_t { kUnknown, kExited, kSignalled, kExec, kRunning };
  How how = How::kUnknown;
  int status = 0;            // exit status
  int signal = 0;            // with kSignalled
  bool at_run_limit = false; // the simulated device ended it (--run-time)
};

// A kernel as the driver describes it.
struct Kernel {
  struct Parameter {
    std::uint32_t offset = 0, bytes = 0; // in the parameter block
  };
  std::string name; // as linked: mangled; empty if unknown
  std::vector<Parameter> parameters;
};

// A device's limits, as its driver gave them (cuDeviceGetAttribute).
struct DeviceFacts {
  std::string name;
  std::uint64_t bytes = 0; // of memory
  std::uint64_t texture_alignment = 0, texture_pitch_alignment = 0, surface_alignment = 0;
  std::uint64_t largest_pitch = 0;
  std::uint32_t compute_capability = 0; // 90 is 9.0
  bool reads_pageable_memory = false;   // kernels may use pointers from malloc
  bool uses_host_page_tables = false;
  bool concurrent_managed = false;
};

// The code that made a CUDA call: the first frame of its stack that is not CUDA's.
struct Caller {
  std::string_view module; // path of the executable or library, empty if unknown
  std::string_view owner;  // "cuBLAS", empty if it is no library that is known by name
  bool has_python = false; // a line of Python led there
};

// A variable of the program, or of a library that it has loaded, in the host's memory.
struct StaticVariable {
  enum class Kind : std::uint8_t {
    kUnknown, // the file could not be asked
    kHost,
    kShadow, // what the host has instead of a __device__ or __constant__ variable of this name
  };
  Kind kind = Kind::kUnknown;
  std::string name; // demangled, empty if unknown
};

} // namespace gmt
