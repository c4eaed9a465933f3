// SPDX-License-Identifier: Apache-2.0
// A driver of which a test says what kernels it knows: it answers the questions of the interposer
// and counts them. Handles are the keys of driver_kernels. One thread sets, any may ask.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "interposer/loader/driver_function.h"

namespace gmt::interposer {

struct Kernel {
  std::string name;
  std::vector<std::pair<std::size_t, std::size_t>> parameters; // offset, size
  bool is_function = true;                                     // else a CUkernel
  bool is_instrumented = false;
};
extern std::map<std::uint64_t, Kernel> driver_kernels;
extern std::atomic<unsigned> questions; // about parameters
extern std::atomic<std::uint64_t> context_now;
// By module, of instrumented kernels: what the module was given
extern std::map<std::uint64_t, std::uint64_t> variables;
extern unsigned module_questions, variable_writes;

// The function of this name; null if the driver has none.
extern const DriverLookUp made_up_driver;

} // namespace gmt::interposer
