// SPDX-License-Identifier: Apache-2.0
// Tensor maps of a captured launch: a GPU's driver has a form of its own for them, so each is made
// anew.
#pragma once

#include "trace/capture_file.h"

#include <cuda.h>

#include <string>

namespace gmt::replay {

// Among the arguments, and in the blocks: there in what they had before the launch, and in what it
// left in them unless the kernel changed the map. Of a launch that has no map it calls nothing.
// What the encoder refuses.
CUresult write_maps(trace::Capture* capture);

} // namespace gmt::replay
