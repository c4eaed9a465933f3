// SPDX-License-Identifier: Apache-2.0
// The options of trace/interposer_options.def as the command passes them, or a user:
// GPUMEMTRACE_<NAME>=<value as on the command line, or text>. Read from the environment that the
// process was started with, because programs clear theirs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

inline constexpr std::size_t kMaxOptionText = 255;

struct Options {
#define GMT_OPTION(type, name, environment, default_value, sentence)                               \
  std::uint64_t name = default_value;
#define GMT_TEXT(name, environment, default_value, form, sentence)                                 \
  char name[kMaxOptionText + 1] = default_value;
#include "trace/interposer_options.def"
};

// Hears of a variable whose value is none of its option's.
using BadValue = void (*)(const char* variable, const char* value) noexcept;

Options read_options(BadValue report) noexcept;

// Whether blocks get mappings of their own, all or some. Kernels have no checks then.
inline bool has_guard(const Options& options) noexcept {
  return options.guard != 0 || options.guard_sample != 0;
}

// Copies the value of an environment variable as the process was started with it; false if it is
// not set or too long.
bool initial_environment(const char* name, char* value, std::size_t size) noexcept;

// Whether the command put the simulated device in the driver's place.
bool is_device_simulated() noexcept;
// The number that torchrun, mpirun or the like gave the process; false if none did.
bool launcher_rank(char* value, std::size_t size) noexcept;

} // namespace gmt::interposer
