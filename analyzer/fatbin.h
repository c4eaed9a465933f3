// SPDX-License-Identifier: Apache-2.0
// Whether the device code in an executable or library calls malloc or free: what a report that saw no
// records of kernels must not be silent about. Asked by the report builder for the program's own modules.
//
// Reads the section .nv_fatbin: containers of entries, each a cubin (ELF) or PTX, plain or compressed by
// zstd. Their layout is not documented; it was learnt from nvcc 11 to 13. Trusts nothing and gives up in
// time: what cannot be read counts as "does not call".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace gmt {

enum class DeviceMalloc : std::uint8_t { kNone, kCalled, kLogged }; // kLogged: built with gpumemtrace/device.h

using Deadline = std::chrono::steady_clock::time_point;

DeviceMalloc device_malloc_in(std::span<const char> nv_fatbin, Deadline deadline);
DeviceMalloc device_malloc_in(const std::filesystem::path& module, Deadline deadline);

} // namespace gmt
