// SPDX-License-Identifier: Apache-2.0
// The words of --kernel-checks by their numbers, as trace/interposer_options.def lists them, and of
// which of them the reason of a record "unchecked" is.
#pragma once

#include <cstdint>

namespace gmt::trace {

enum KernelCheckWords : std::uint64_t {
  kKernelChecksOff,
  kKernelChecksMemory,
  kKernelChecksTensors,
  kKernelChecksLibraries,
  kKernelChecksTensorsAndLibraries,
  kKernelChecksInit,
  kKernelChecksMemoryHeapAndInit, // the same
  kKernelChecksTensorsAndInit,
};

// Whether PyTorch and JAX shall take each tensor from CUDA itself.
constexpr bool checks_tensors(std::uint64_t words) {
  return words == kKernelChecksTensors || words == kKernelChecksTensorsAndLibraries ||
         words == kKernelChecksTensorsAndInit;
}
// Whether machine code that has no PTX is patched.
constexpr bool patches_code(std::uint64_t words) {
  return words == kKernelChecksLibraries || words == kKernelChecksTensorsAndLibraries;
}

// Whether reads of bytes that nothing wrote are found.
constexpr bool checks_written(std::uint64_t words) {
  return words == kKernelChecksInit || words == kKernelChecksMemoryHeapAndInit ||
         words == kKernelChecksTensorsAndInit;
}

// How a reason begins that is about such reads alone: accesses are checked otherwise.
inline constexpr char kInitReason[] = "init: ";

} // namespace gmt::trace
