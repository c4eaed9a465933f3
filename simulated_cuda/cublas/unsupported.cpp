// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/cublas/blas.h"

// Whatever the arguments are: they are left alone.
#define NONE(name)                                                                                 \
  extern "C" gmt::blas::Status name() { return gmt::blas::not_supported(#name); }
#include "simulated_cuda/cublas/unsupported.def"
