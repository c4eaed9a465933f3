// SPDX-License-Identifier: Apache-2.0
// Loads, stores and reductions of surfaces.
#pragma once

#include "simulated_cuda/executor/machine/textures/texture.h"
#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

// The first coordinate counts bytes, unless the surface says what an element is. Layers lie in the
// last one.
struct SurfacePoint {
  std::int64_t at[3] = {};
};

// Where the bytes lie; null: outside, by the instruction's mode, which has been reported if it must
// be.
std::byte* surface_bytes(Warp& w, const Instruction* in, std::uint32_t lane, const Texture& t,
                         const SurfacePoint& point, std::uint32_t bytes, Access access);

// Four values become a texel of the surface's format.
void store_formatted(const Texture& t, std::byte* to, const std::uint32_t* values,
                     std::uint32_t count);

// What sured does: `operation` is an index of texture_form::kOperations.
void reduce_surface(std::byte* at, std::uint32_t operation, std::uint64_t value);

} // namespace gmt::executor
