// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/choice.h"

#include "ptx/names/kernel_choice.h"
#include "ptx/names/launch_choice.h"
#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/state/state.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
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

ptx::LaunchChoice read_launches() {
  try {
    return ptx::LaunchChoice(text_of("GPUMEMTRACE_LAUNCHES"));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gpumemtrace: simulated device: GPUMEMTRACE_LAUNCHES: %s\n", error.what());
    return {};
  }
}

std::atomic<bool> profiler_is_on{false};

bool is_chosen(const std::string& kernel) {
  static const ptx::KernelChoice* const choice = new ptx::KernelChoice(read()); // never destroyed
  if (choice->is_all()) return true;
  static auto* const known = new std::map<std::string, bool>;
  const auto found = known->find(kernel);
  if (found != known->end()) return found->second;
  return (*known)[kernel] = choice->includes(kernel);
}

} // namespace

bool is_in_chosen_range() {
  static const std::string* const range = new std::string(text_of("GPUMEMTRACE_RANGE"));
  if (range->empty()) return true;
  if (this_thread().runs_late) return this_thread().late_in_range;
  if (*range == "profiler") return profiler_is_on.load();
  const trace::ExecutionObserver* observer = execution_observer();
  return observer != nullptr && observer->size > offsetof(trace::ExecutionObserver, is_in_range) &&
         observer->is_in_range(range->c_str()) != 0;
}

namespace {

// Why nothing is said of it; empty: it is wanted.
std::string why_unwanted(const std::string& kernel, std::uint64_t number) {
  static const bool is_in_process = ptx::is_own_program_among(text_of("GPUMEMTRACE_PROCESSES"));
  if (!is_in_process) return "left out, as --processes asks";
  static const ptx::LaunchChoice launches = read_launches();
  if (!launches.includes(number)) return "left out, as --launches asks";
  if (!is_in_chosen_range()) return "left out, as --range asks";
  return is_chosen(kernel) ? "" : "left out, as --only-kernels or --skip-kernels ask";
}

} // namespace

void note_profiler(bool is_on) { profiler_is_on.store(is_on); }

bool is_wanted(const std::string& kernel, std::uint64_t number) {
  return why_unwanted(kernel, number).empty();
}

std::string why_unchecked(const std::string& kernel, std::uint64_t number) {
  if (std::string why = why_unwanted(kernel, number); !why.empty()) return why;
  const unsigned long long most = checked_launches();
  return most != 0 && number > most
           ? "--checked-launches lets the first ones of each kernel be checked"
           : "";
}

} // namespace gmt::sim
