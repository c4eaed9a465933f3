// SPDX-License-Identifier: Apache-2.0
// Jump stubs for the rows of runtime_api.def and unsupported_api.def: each macro makes the exported
// names of a row. Names are expanded first, so that the runtime of another version can give them
// other ones by macros (runtime_12/exports.cpp).
#pragma once

#include "simulated_cuda/common/jump_stub.h"
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/registration.h"

#include <cstddef>

namespace gmt::sim {

template <std::size_t size>
struct Name {
  char text[size];
  constexpr Name(const char (&given)[size]) { // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < size; ++i) text[i] = given[i];
  }
};

template <Name name>
cudaError_t unsupported() noexcept {
  note_refusal(name.text);
  return record(cudaErrorNotSupported);
}

} // namespace gmt::sim

#define RECORDED(per_thread, implementation)                                                       \
  (&gmt::sim::Recorded<per_thread, &gmt::sim::implementation>::call)
#define FORWARD(per_thread, needs_context, name, member)                                           \
  (&gmt::sim::Forward<per_thread, needs_context, decltype(&::name),                                \
                      &gmt::sim::DriverCalls::member>::call)

#define GMT_RUNTIME_STUB(name, function) GMT_JUMP_STUB(name, function)

#define RT(name, implementation) GMT_RUNTIME_STUB(name, RECORDED(false, implementation))
#define RT_PTDS(name, implementation)                                                              \
  RT(name, implementation) GMT_RUNTIME_STUB(name##_ptds, RECORDED(true, implementation))
#define RT_PTSZ(name, implementation)                                                              \
  RT(name, implementation) GMT_RUNTIME_STUB(name##_ptsz, RECORDED(true, implementation))
#define RT_PLAIN(name, implementation) GMT_RUNTIME_STUB(name, &gmt::sim::implementation)
#define RT_DEVICE(name, member) GMT_RUNTIME_STUB(name, FORWARD(false, false, name, member))
#define RT_FORWARD(name, member) GMT_RUNTIME_STUB(name, FORWARD(false, true, name, member))
#define RT_FORWARD_PTSZ(name, member)                                                              \
  RT_FORWARD(name, member) GMT_RUNTIME_STUB(name##_ptsz, FORWARD(true, true, name, member))
#define RT_NONE(name) GMT_RUNTIME_STUB(name, &gmt::sim::unsupported<#name>)
#define RT_NONE_PTSZ(name)                                                                         \
  RT_NONE(name) GMT_RUNTIME_STUB(name##_ptsz, &gmt::sim::unsupported<#name>)
