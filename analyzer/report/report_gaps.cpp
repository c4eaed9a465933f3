// SPDX-License-Identifier: Apache-2.0
// Nothing here is looked for twice: a line that several processes have stands in the report once.
#include "analyzer/report/report_gaps.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "analyzer/analysis/owners.h"
#include "analyzer/device_code/malloc_scan.h"
#include "analyzer/device_code/trace_code.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kLookForMalloc{200}; // in device code, all modules together

// A mark or range of a policy that never came in one process came in another.
bool is_answered_elsewhere(const NotChecked& entry, const std::vector<Analysis>& analyses) {
  if (!entry.is_of_run) return false;
  return !std::all_of(analyses.begin(), analyses.end(), [&](const Analysis& analysis) {
    return std::any_of(
      analysis.not_checked.begin(), analysis.not_checked.end(),
      [&](const NotChecked& other) { return other.what == entry.what && other.why == entry.why; });
  });
}

// Kernels of the program's own that allocate and say nothing of it, whatever others say. Libraries
// that are known by name are left out: the user cannot build them anew. Files given to cuModuleLoad
// are not known.
void note_unlogged_malloc(const Analysis& analysis, const fs::path& trace, Deadline deadline,
                          std::vector<NotChecked>& list) {
  if (analysis.process.device == "simulated") return;
  // --kernel-checks lets what is compiled without the header log, too, and names what it could not
  // change.
  if (analysis.has_kernel_checks && analysis.process.totals.device_heap_calls != 0) return;
  const auto note = [&list](const std::string& where) {
    note_not_checked(list, {"in-kernel malloc",
                            "kernels in " + where +
                              " call malloc, new or free, and what they do is not seen: compile "
                              "them with 'gpumemtrace nvcc', or include <gpumemtrace/device.h>"});
  };
  for (const Module& module : analysis.modules) {
    if (std::chrono::steady_clock::now() > deadline) return;
    Frame frame;
    frame.module = module.path;
    if (is_cuda_frame(frame) || !owner_of_module(module.path).empty()) continue;
    if (device_malloc_in(fs::path(module.path), deadline) == DeviceMalloc::kCalled)
      note(module.path);
  }
  for (const fs::path& image : images_of(trace)) {
    if (device_malloc_in_image(image, deadline) != DeviceMalloc::kCalled) continue;
    return note("code that was loaded from memory");
  }
}

} // namespace

void note_not_checked(std::vector<NotChecked>& list, NotChecked entry) {
  const bool known = std::any_of(list.begin(), list.end(), [&](const NotChecked& n) {
    return n.what == entry.what && n.why == entry.why;
  });
  if (!known) list.push_back(std::move(entry));
}

void add_report_gaps(const std::vector<Analysis>& analyses, const std::vector<fs::path>& traces,
                     std::vector<NotChecked>& list) {
  for (const Analysis& analysis : analyses) {
    for (const NotChecked& entry : analysis.not_checked) {
      if (!is_answered_elsewhere(entry, analyses)) note_not_checked(list, entry);
    }
  }
  const Deadline deadline = std::chrono::steady_clock::now() + kLookForMalloc;
  for (std::size_t i = 0; i < analyses.size(); ++i)
    note_unlogged_malloc(analyses[i], traces[i], deadline, list);
}

} // namespace gmt
