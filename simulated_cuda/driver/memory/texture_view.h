// SPDX-License-Identifier: Apache-2.0
// What the descriptions of a texture or surface object mean for kernels.
#pragma once

#include "simulated_cuda/executor/machine/textures/texture.h"

#include <cuda.h>

#include <cstdint>
#include <optional>

namespace gmt::sim {

struct Array;

// The arrays and formats have been checked. Null: it is not simulated.
std::optional<executor::Texture> view_of_texture(const CUDA_RESOURCE_DESC& resource,
                                                 const CUDA_TEXTURE_DESC& description,
                                                 const CUDA_RESOURCE_VIEW_DESC* view);
executor::Texture view_of_surface(const Array& array);

// The object that a kernel names.
executor::FoundTexture texture_at(std::uint64_t handle);

} // namespace gmt::sim
