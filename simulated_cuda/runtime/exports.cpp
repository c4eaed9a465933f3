// SPDX-License-Identifier: Apache-2.0
// The runtime's symbol table: one jump stub an exported name, made from runtime_api.def and
// unsupported_api.def. exports.map gives every export the version libcudart.so.13, as in NVIDIA's
// library. Invariant: an implementation has exactly the type of the vendor's declaration; api.h
// sees to that.
#include "simulated_cuda/runtime/export_macros.h"

#include "simulated_cuda/runtime/runtime_api.def"
#include "simulated_cuda/runtime/unsupported_api.def"
