// SPDX-License-Identifier: Apache-2.0
// Launches: the checked form runs where there is one, in the context that has the table. A form
// that the device cannot launch so is replaced by the plain one. What is captured becomes a node
// that runs the checked form.
#include <algorithm>
#include <optional>

#include "interposer/kernel_checks/library/arguments.h"
#include "interposer/kernel_checks/library/asked_launch.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/forms.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/patches/patches.h"
#include "interposer/kernel_checks/library/regions.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/sampling.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

// `why_plain`: the launch had no checks. Behind a checked form: the driver refused that, and the
// plain one is to be launched.
struct Tried {
  int result;
  std::optional<PlainReason> why_plain;
};

template <class Real>
Tried run_checked(const Kernel& kernel, Table& own, const AskedLaunch& asked, bool is_captured,
                  Real real) noexcept {
  if (!is_captured) write_regions_for(own, asked.shape.stream);
  const MeasuredLaunch measured(kernel, asked.shape.stream, false);
  const Launch launch = describe(kernel, own, asked.function, asked.shape);
  const std::uint64_t number = is_captured ? remember_node(launch) : remember_launch(launch);
  const NumberedArguments arguments(kernel.launch_parameter, number, asked.parameters, asked.extra);
  if (!arguments.are_there()) {
    forget_launch(number);
    return {CUDA_ERROR_OUT_OF_MEMORY, PlainReason::kHostMemory};
  }
  if (!is_captured && kernel.module->code.writes_unseen) mark_all_written();
  if (!is_captured) own.settle();
  int result = real(kernel.checked, arguments.parameters(), arguments.extra());
  if (is_refused(result)) {
    copy_attributes(kernel, asked.function);
    result = real(kernel.checked, arguments.parameters(), arguments.extra());
  }
  if (result != CUDA_SUCCESS) forget_launch(number);
  else if (is_captured) mark_in_graph(kernel);
  else mark_launched(kernel, own);
  return {result, is_refused(result) ? std::optional(PlainReason::kDevice) : std::nullopt};
}

std::optional<PlainReason> why_plain(const Kernel* kernel, Table* own, const AskedLaunch& asked,
                                     Capture capture) noexcept {
  if (kernel == nullptr) return PlainReason::kKernel;
  if (capture == Capture::kNone) {
    const std::optional<PlainReason> why = why_plain(*kernel, own);
    if (why) return why;
    return !is_sampling() || is_sampled(*kernel) ? std::nullopt
                                                 : std::optional(PlainReason::kSample);
  }
  if (capture == Capture::kUnknown) return PlainReason::kCapture;
  const std::optional<PlainReason> why = why_plain_in_graph(*kernel, own, asked.shape);
  if (why || !asked.is_cooperative) return why;
  const bool fits =
    can_be_cooperative(*kernel, *own, asked.shape, asked.shared_bytes, asked.cluster[0] != 0);
  return fits ? std::nullopt : std::optional(PlainReason::kDevice);
}

// The kernel has no checked form, so patches of its machine code may check this launch.
bool may_be_patched(const Kernel& kernel, const AskedLaunch& asked) noexcept {
  return core->settings.patches_code && is_chosen(kernel.name) &&
         (any_capture() ? is_checked_context() : has_table()) &&
         table_of_stream(asked.shape.stream) == &table();
}

// The driver gets what the program asked for. Why it ran without checks; none: patches check it.
template <class Real>
Tried run_plain(const Kernel& kernel, const AskedLaunch& asked, PlainReason why, Capture capture,
                Real real) noexcept {
  const auto as_asked = [&] { return real(asked.function, asked.parameters, asked.extra); };
  if (why != PlainReason::kKernel || !may_be_patched(kernel, asked)) return {as_asked(), why};
  // Kernels of a graph are patched when that is launched.
  if (capture == Capture::kActive && are_graphs_patched()) return {as_asked(), std::nullopt};
  if (capture != Capture::kNone) return {as_asked(), why};
  const std::uint64_t checked = kernel.launches.load(std::memory_order_relaxed);
  if (checked != 0 && checked >= checked_launches()) return {as_asked(), PlainReason::kEnough};
  PatchedLaunch patched(kernel, asked.function, asked.shape);
  const int result = as_asked();
  return {result, patched.end(result == CUDA_SUCCESS) ? std::nullopt : std::optional(why)};
}

// It may write anything that it finds.
void note_unseen_writer(PlainReason why) noexcept {
  if (why == PlainReason::kContext)
    stop_following_writes("memory counts as written where kernels of another context run");
  else mark_all_written();
}

struct CheckedLaunch {
  template <class Real> static CUresult run(const AskedLaunch& asked, Real real) noexcept;
};

template <class Real>
CUresult CheckedLaunch::run(const AskedLaunch& asked, Real real) noexcept {
  const LaunchCall call;
  if (asked.is_cooperative) forget_freed(); // the driver may place what blocks wait by there
  const Capture capture = capture_of(asked.shape.stream);
  const Kernel* kernel = asked.function != nullptr ? kernel_of(asked.function) : nullptr;
  if (kernel == nullptr) mark_all_written();
  if (kernel == nullptr)
    return static_cast<CUresult>(real(asked.function, asked.parameters, asked.extra));
  Table* const own = table_of_stream(asked.shape.stream);
  std::optional<PlainReason> why = why_plain(kernel, own, asked, capture);
  if (!why) {
    const Tried tried = run_checked(*kernel, *own, asked, capture == Capture::kActive, real);
    if (!tried.why_plain) return static_cast<CUresult>(tried.result);
    why = tried.why_plain;
  }
  if (capture != Capture::kActive) note_unseen_writer(*why);
  std::optional<MeasuredLaunch> measured;
  const bool may_be_measured = why == PlainReason::kSample && capture == Capture::kNone;
  if (may_be_measured && wants_measure(*kernel))
    measured.emplace(*kernel, asked.shape.stream, true);
  const Tried plain = run_plain(*kernel, asked, *why, capture, real);
  if (plain.result == CUDA_SUCCESS && plain.why_plain) count_plain(*kernel, *plain.why_plain);
  return static_cast<CUresult>(plain.result);
}

} // namespace

void replace_launches() noexcept {
  put_launches<CheckedLaunch>();
  replace_captures([]() noexcept { has_table(); }); // behind a capture's begin no context can get
                                                    // it
}

} // namespace gmt::interposer::kernel_checks
