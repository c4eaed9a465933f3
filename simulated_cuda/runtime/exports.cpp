// SPDX-License-Identifier: Apache-2.0
// The runtime's symbol table: one jump stub an exported name, made from runtime_api.def and
// unsupported_api.def. exports.map gives every export the version libcudart.so.13, as in NVIDIA's
// library. Invariant: an implementation has exactly the type of the vendor's declaration; api.h
// sees to that.
#include "simulated_cuda/common/jump_stub.h"
#include "simulated_cuda/runtime/api.h"
#include "simulated_cuda/runtime/registration.h"

#include <cstddef>

namespace gmt::sim {
namespace {

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

} // namespace
} // namespace gmt::sim

#define RECORDED(per_thread, implementation)                                                       \
  (&gmt::sim::Recorded<per_thread, &gmt::sim::implementation>::call)
#define FORWARD(per_thread, needs_context, name, member)                                           \
  (&gmt::sim::Forward<per_thread, needs_context, decltype(&::name),                                \
                      &gmt::sim::DriverCalls::member>::call)

#define RT(name, implementation) GMT_JUMP_STUB(name, RECORDED(false, implementation))
#define RT_PTDS(name, implementation)                                                              \
  RT(name, implementation) GMT_JUMP_STUB(name##_ptds, RECORDED(true, implementation))
#define RT_PTSZ(name, implementation)                                                              \
  RT(name, implementation) GMT_JUMP_STUB(name##_ptsz, RECORDED(true, implementation))
#define RT_PLAIN(name, implementation) GMT_JUMP_STUB(name, &gmt::sim::implementation)
#define RT_DEVICE(name, member) GMT_JUMP_STUB(name, FORWARD(false, false, name, member))
#define RT_FORWARD(name, member) GMT_JUMP_STUB(name, FORWARD(false, true, name, member))
#define RT_FORWARD_PTSZ(name, member)                                                              \
  RT_FORWARD(name, member) GMT_JUMP_STUB(name##_ptsz, FORWARD(true, true, name, member))
#define RT_NONE(name) GMT_JUMP_STUB(name, &gmt::sim::unsupported<#name>)
#define RT_NONE_PTSZ(name) RT_NONE(name) GMT_JUMP_STUB(name##_ptsz, &gmt::sim::unsupported<#name>)
#include "simulated_cuda/runtime/runtime_api.def"
#include "simulated_cuda/runtime/unsupported_api.def"

#undef RT
#undef RT_PTDS
#undef RT_PTSZ
#undef RT_PLAIN
#undef RT_DEVICE
#undef RT_FORWARD
#undef RT_FORWARD_PTSZ
#undef RT_NONE
#undef RT_NONE_PTSZ
