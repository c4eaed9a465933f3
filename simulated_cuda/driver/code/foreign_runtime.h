// SPDX-License-Identifier: Apache-2.0
// A CUDA runtime that asks this driver for NVIDIA's own tables: it is linked into a program or a
// library, and nothing could take its place. None of its calls will succeed. Lock held.
#pragma once

namespace gmt::sim {

// Says so on stderr and to the observer, once for each object file.
void refuse_foreign_runtime();

} // namespace gmt::sim
