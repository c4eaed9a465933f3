// SPDX-License-Identifier: Apache-2.0
// The objects that kernels name by their handles.
#pragma once

#include "simulated_cuda/executor/machine/textures/texture.h"
#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

// Null: it is none that this instruction can use, which is reported.
const Texture* find_texture(Warp& w, const Instruction* in, std::uint32_t lane,
                            std::uint64_t handle);
const Texture* find_surface(Warp& w, const Instruction* in, std::uint32_t lane,
                            std::uint64_t handle);

} // namespace gmt::executor
