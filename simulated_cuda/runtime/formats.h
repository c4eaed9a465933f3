// SPDX-License-Identifier: Apache-2.0
// Between the runtime's channel descriptions and the driver's array formats.
#pragma once

#include "simulated_cuda/runtime/driver_calls.h"

namespace gmt::sim {

struct Format {
  CUarray_format format;
  unsigned channels;
};

// False for a description no array can have.
bool format_of(const cudaChannelFormatDesc& desc, Format* out);
cudaChannelFormatDesc description_of(CUarray_format format, unsigned channels);

} // namespace gmt::sim
