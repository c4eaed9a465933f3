// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/choice.h"

#include <limits>
#include <stdexcept>

#include "interposer/kernel_checks/library/driver.h"
#include "ptx/names/kernel_choice.h"
#include "ptx/names/launch_choice.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The command refuses expressions that are none. One that came by the environment chooses nothing
// away.
ptx::KernelChoice read() {
  try {
    return {core->settings.only_kernels, core->settings.skip_kernels};
  } catch (const std::invalid_argument&) {
    core->unchecked("", "GPUMEMTRACE_ONLY_KERNELS or _SKIP_KERNELS is no list of kernels", 0);
    return {};
  }
}

ptx::LaunchChoice read_launches() {
  try {
    return ptx::LaunchChoice(core->settings.launch_numbers);
  } catch (const std::invalid_argument&) {
    core->unchecked("", "GPUMEMTRACE_LAUNCHES has no numbers of launches", 0);
    return {};
  }
}

const ptx::KernelChoice& choice() {
  static const ptx::KernelChoice* const one = new ptx::KernelChoice(read()); // never destroyed
  return *one;
}

} // namespace

bool are_all_chosen() noexcept { return choice().is_all(); }

bool is_chosen(std::string_view linked) { return choice().includes(linked); }

std::uint64_t checked_launches() noexcept {
  const std::uint64_t asked = core->settings.launches;
  return asked != 0 ? asked : std::numeric_limits<std::uint64_t>::max();
}

bool is_chosen_launch(std::uint64_t number) noexcept {
  static const ptx::LaunchChoice* const launches = new ptx::LaunchChoice(read_launches());
  return launches->includes(number);
}

bool is_in_chosen_range() noexcept {
  const char* range = core->settings.range;
  return *range == '\0' || core->is_in_range(range);
}

} // namespace gmt::interposer::kernel_checks
