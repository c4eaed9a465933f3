// SPDX-License-Identifier: Apache-2.0
// Between the core and libgpumemtrace_host.so, which the command preloads for --host-races alone:
// there the C library's calls go through it that use memory in the kernel, or change what becomes
// of SIGSEGV. The core finds kHostCallsSymbol and says where they report to.
#pragma once

#include <cstddef>

namespace gmt::interposer {

struct HostCalls {
  // Before the system uses the bytes: it would answer EFAULT, where a load or store faults.
  // `caller` is the program's return address.
  void (*use)(void* memory, std::size_t bytes, bool writes, const void* caller) noexcept;
  // Before the program gets a handler of SIGSEGV of its own.
  void (*leave)() noexcept;
};
using TakeHostCalls = void(const HostCalls*);
inline constexpr char kHostCallsSymbol[] = "gpumemtrace_take_host_calls";

} // namespace gmt::interposer
