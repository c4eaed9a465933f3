// SPDX-License-Identifier: Apache-2.0
// Tensor maps among the arguments of a captured launch: a GPU's driver has a form of its own for
// them, so each is made anew.
#pragma once

#include "trace/capture_file.h"

#include <cuda.h>

#include <string>

namespace gmt::replay {

// In the place that it has among the arguments. What the encoder answers; its memory is there.
CUresult write_map(const trace::CapturedMap& map, std::string& arguments);

} // namespace gmt::replay
