// SPDX-License-Identifier: Apache-2.0
// The words of --kernel-checks by their numbers, as trace/interposer_options.def lists them.
#pragma once

#include <cstdint>

namespace gmt::trace {

enum KernelCheckWords : std::uint64_t {
  kKernelChecksOff,
  kKernelChecksMemory,
  kKernelChecksTensors,
  kKernelChecksLibraries,
  kKernelChecksTensorsAndLibraries,
};

// Whether PyTorch and JAX shall take each tensor from CUDA itself.
constexpr bool checks_tensors(std::uint64_t words) {
  return words == kKernelChecksTensors || words == kKernelChecksTensorsAndLibraries;
}
// Whether machine code that has no PTX is patched.
constexpr bool patches_code(std::uint64_t words) {
  return words == kKernelChecksLibraries || words == kKernelChecksTensorsAndLibraries;
}

} // namespace gmt::trace
