// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/kernel_checks.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include "interposer/calls/call.h"
#include "interposer/driver_state/asked_size.h"
#include "interposer/execution/execution_observer.h"
#include "interposer/kernel_checks/interface.h"
#include "interposer/loader/driver_function.h"
#include "interposer/loader/object_files.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/loader/rows.h"
#include "interposer/log/nvtx_ranges.h"
#include "interposer/log/process.h"
#include "interposer/log/record_range.h"
#include "trace/api_id.h"
#include "trace/kernel_check_words.h"

namespace gmt::interposer {

namespace {

constinit std::atomic<const KernelChecksLibrary*> checks_library{nullptr}; // written once

bool replace(const char* name, void* function) noexcept {
  const int row = row_named(name);
  if (row < 0 || row >= static_cast<int>(trace::kDriverApiCount)) return false;
  replace_driver_function(static_cast<std::uint16_t>(row), function);
  const bool is_replaced = driver_function(static_cast<std::uint16_t>(row)) == function;
  if (is_replaced && row == trace::kApi_cuMemGetAddressRange_v2)
    ask_ranges_by(reinterpret_cast<AskRange>(function));
  return is_replaced;
}

void found(const trace::ExecutionFault* fault) noexcept { record_checked_fault(*fault); }

// What is not checked may be known before the session records anything. It is kept until the
// process exits then.
constexpr unsigned kMostEarly = 4;
struct EarlyReasons {
  char reasons[kMostEarly][512];
  unsigned count;
};
constinit EarlyReasons early{};

void record_early() noexcept {
  for (unsigned i = 0; i < early.count; ++i) record_unchecked("", early.reasons[i], 0);
  early.count = 0;
}

void note_unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept {
  if (Process::is_on()) return record_unchecked(kernel, reason, launches);
  if (early.count == kMostEarly) return;
  if (early.count == 0) on_exit([](int, void*) noexcept { record_early(); }, nullptr);
  std::snprintf(early.reasons[early.count++], sizeof early.reasons[0], "%s", reason);
}

bool is_in_range(const char* name) noexcept {
  return std::strcmp(name, "profiler") == 0 ? is_profiler_on() : thread_is_in_range(name);
}

void notify_at_exit() noexcept {
  static constinit std::atomic<bool> registered{false};
  if (registered.exchange(true)) return;
  on_exit(
    [](int, void*) noexcept {
      if (Process::is_on() && is_recorded_process()) checks_library.load()->process_exits();
    },
    nullptr);
}

constinit KernelChecksCore core{driver_symbol,
                                replace,
                                order_of_call_in_progress,
                                found,
                                note_unchecked,
                                Process::notify_command,
                                is_in_range,
                                notify_at_exit,
                                {},
                                {initial_environment, each_object_path, real_dlsym},
                                set_own_copies};

const KernelChecksLibrary* open_checks() noexcept {
  char path[1100];
  if (!own_folder(path, sizeof path - sizeof kKernelChecksLibrary - 1)) return nullptr;
  std::strcat(path, "/");
  std::strcat(path, kKernelChecksLibrary);
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = handle != nullptr ? real_dlsym(handle, kKernelChecksSymbol) : nullptr;
  const auto begin = reinterpret_cast<OpenKernelChecks>(symbol);
  const Options& options = Process::options();
  core.settings = {options.only_kernels,
                   options.skip_kernels,
                   options.checked_launches,
                   options.launches,
                   options.range,
                   options.processes,
                   options.kernel_checks_sample != 0,
                   trace::patches_code(options.kernel_checks),
                   trace::checks_written(options.kernel_checks),
                   options.capture,
                   options.capture_limit,
                   static_cast<unsigned>(options.capture_wait)};
  return begin != nullptr ? begin(&core) : nullptr;
}

} // namespace

void begin_kernel_checks() noexcept {
  early.count = 0; // a forked child has what its parent kept
  const Options& options = Process::options();
  // The command sets kernel_checks for samples, too.
  if (options.kernel_checks == 0 && options.capture[0] == '\0') return;
  if (has_guard(options))
    return note_unchecked("", "--guard gives blocks mappings of their own: use one of both", 0);
  driver_function(trace::kApi_cuInit); // so that it is known which functions there are
  if (any_wrapper.load())
    return note_unchecked("", "another preloaded library stands in front of the driver", 0);
  if (checks_library.load() == nullptr)
    checks_library.store(open_checks()); // a forked child has it open
  if (checks_library.load() == nullptr)
    note_unchecked("", "libgpumemtrace_checks.so could not be opened", 0);
}

void forget_kernel_checks() noexcept {
  if (const KernelChecksLibrary* there = checks_library.load()) there->forget();
}

void note_pool(std::uint64_t pool, std::uint64_t begin, std::uint64_t bytes) noexcept {
  if (const KernelChecksLibrary* there = checks_library.load())
    there->pool_begins(pool, begin, bytes);
}

void note_end_of_pool(std::uint64_t pool) noexcept {
  if (const KernelChecksLibrary* there = checks_library.load()) there->pool_ends(pool);
}

void note_reset_of_pool(std::uint64_t pool) noexcept {
  if (const KernelChecksLibrary* there = checks_library.load()) there->pool_is_reset(pool);
}

void note_region_given_out(std::uint64_t pool, std::uint64_t address,
                           std::uint64_t bytes) noexcept {
  if (const KernelChecksLibrary* there = checks_library.load())
    there->region_given_out(pool, address, bytes);
}

void note_region_given_back(std::uint64_t address) noexcept {
  if (const KernelChecksLibrary* there = checks_library.load()) there->region_given_back(address);
}

} // namespace gmt::interposer
