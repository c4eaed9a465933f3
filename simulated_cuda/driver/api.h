// SPDX-License-Identifier: Apache-2.0
// Declarations of every function that implements a driver entry point, made from driver_api.def
// with the vendor's own types. Each file that defines one of them includes this, so that a
// definition that differs from the header does not link. Invariant: an implementation runs with the
// driver lock held, after entry.h has checked what its row needs.
#pragma once

#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <type_traits>

namespace gmt::sim {

#define DRV(base, suffix, version, need, implementation)                                           \
  std::remove_pointer_t<PFN_##base##_v##version> implementation;
#define DRV_PTDS(base, suffix, version, pt, need, implementation)                                  \
  DRV(base, suffix, version, need, implementation)
#define DRV_PTSZ(base, suffix, version, pt, need, implementation)                                  \
  DRV(base, suffix, version, need, implementation)
#include "simulated_cuda/driver/driver_api.def"
#undef DRV
#undef DRV_PTDS
#undef DRV_PTSZ

} // namespace gmt::sim
