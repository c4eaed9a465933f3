// SPDX-License-Identifier: Apache-2.0
// CUDA's results by the vendor's names, for code that is built without CUDA's headers. Driver and
// runtime share all numbers that both have.
#pragma once

#include <cstdint>

namespace gmt::cuda {

enum Result : std::uint16_t {
#define ERROR_BOTH(number, driver_name, runtime_name, text) driver_name = number,
#define ERROR_DRIVER(number, name, text) name = number,
#define ERROR_RUNTIME(number, name, text) name = number,
#include "trace/cuda_results.def"
#undef ERROR_BOTH
#undef ERROR_DRIVER
#undef ERROR_RUNTIME
};

} // namespace gmt::cuda
