// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/choice.h"

#include "ptx/names/kernel_choice.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace gmt::sim {
namespace {

// The tool's own variables, which --kernel-checks reads, too. Where checks are in the code of the
// kernels, that alone has to do with them.
std::string text_of(const char* variable) {
  const char* by_code = std::getenv("GPUMEMTRACE_SIM_KERNEL_CHECKS");
  const bool is_by_code = by_code != nullptr && *by_code == '1';
  const char* text = is_by_code ? nullptr : std::getenv(variable);
  return text != nullptr ? text : "";
}

// The command refuses expressions that are none.
ptx::KernelChoice read() {
  try {
    return {text_of("GPUMEMTRACE_ONLY_KERNELS"), text_of("GPUMEMTRACE_SKIP_KERNELS")};
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gpumemtrace: simulated device: no names of kernels: %s\n", error.what());
    return {};
  }
}

// Of each kernel; 0: all.
unsigned long long checked_launches() {
  static const unsigned long long count =
    std::strtoull(text_of("GPUMEMTRACE_CHECKED_LAUNCHES").c_str(), nullptr, 10);
  return count;
}

} // namespace

bool is_chosen(const std::string& kernel) {
  static const ptx::KernelChoice* const choice = new ptx::KernelChoice(read()); // never destroyed
  if (choice->is_all()) return true;
  static auto* const known = new std::map<std::string, bool>;
  const auto found = known->find(kernel);
  if (found != known->end()) return found->second;
  return (*known)[kernel] = choice->includes(kernel);
}

std::string why_unchecked(const std::string& kernel, std::uint64_t number) {
  if (!is_chosen(kernel)) return "left out, as --only-kernels or --skip-kernels ask";
  const unsigned long long most = checked_launches();
  return most != 0 && number > most
           ? "--checked-launches lets the first ones of each kernel be checked"
           : "";
}

} // namespace gmt::sim
