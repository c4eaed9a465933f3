// SPDX-License-Identifier: Apache-2.0
// Whether the device code in an executable or library calls malloc or free: what a report that saw no
// records of kernels must not be silent about. Asked by the report builder for the program's own modules.
// What cannot be read in time counts as "does not call".
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "analyzer/fatbin.h"

namespace gmt {

// kLogged: built with gpumemtrace/device.h, which records them.
enum class DeviceMalloc : std::uint8_t { kNone, kCalled, kLogged };

DeviceMalloc device_malloc_in(std::span<const char> nv_fatbin, Deadline deadline);
DeviceMalloc device_malloc_in(const std::filesystem::path& module, Deadline deadline);

} // namespace gmt
