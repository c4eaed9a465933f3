// SPDX-License-Identifier: Apache-2.0
// Whether the device code in an executable or library calls malloc or free. Such calls are not
// checked unless the code is instrumented, and a report must say so. What cannot be read in time
// counts as "does not call".
#pragma once

#include <cstdint>
#include <filesystem>

#include "analyzer/device_code/fatbin.h"

namespace gmt {

// kLogged: all that calls them was built with gpumemtrace/device.h, which records them. kCalled:
// some was not.
enum class DeviceMalloc : std::uint8_t { kNone, kLogged, kCalled };

DeviceMalloc device_malloc_in(const CodeSections& code, Deadline deadline);
DeviceMalloc device_malloc_in(const std::filesystem::path& module, Deadline deadline);
// Of code that the driver was given: a fat binary, a cubin or PTX.
DeviceMalloc device_malloc_in_image(const std::filesystem::path& image, Deadline deadline);

} // namespace gmt
