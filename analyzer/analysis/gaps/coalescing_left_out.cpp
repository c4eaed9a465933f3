// SPDX-License-Identifier: Apache-2.0
// Launches that were left out to save time, and what measuring took beyond its time. See
// coalescing_left_out.h; the rules are those of
// interposer/coalescing/collector/sampling/sampling_policy.h.

#include "analyzer/analysis/gaps/coalescing_left_out.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/symbols/demangle.h"
#include "trace/costly_kernels.h"

namespace gmt {
namespace {

std::string seconds(std::uint64_t nanoseconds) {
  char text[32];
  const double value = static_cast<double>(nanoseconds) / 1e9;
  std::snprintf(text, sizeof text, value < 10 ? "%.1f s" : "%.0f s", value);
  return text;
}

// Kernels of which no launch was measured, by what kept it off.
struct Unmeasured {
  std::vector<std::string> once, costly, others;
  std::uint64_t other_launches = 0, longest = 0, of_nccl = 0;
  bool any_measured = false;
};

Unmeasured find_unmeasured(const MemoryAccess& access) {
  Unmeasured found;
  // Before 1.5 every kernel was due at its first launch.
  const bool has_times = std::ranges::any_of(
    access.logs(), [](const AccessLog& log) { return log.windows.elapsed_nanoseconds != 0; });
  for (const auto& [name, use] : access.uses().all()) {
    const auto row = std::ranges::find(access.functions(), name, &MeasuredFunction::linked);
    const bool has_row = row != access.functions().end();
    const std::uint64_t launches = has_row ? row->launches : use.launches;
    const std::string shown = shorten_function(demangle(name), 40);
    if (has_row && row->measured != 0) {
      found.any_measured = true;
    } else if (trace::is_costly_kernel(std::string(name).c_str())) {
      found.of_nccl += launches;
    } else if (has_row && row->too_costly != 0) {
      found.costly.push_back(shown);
      found.longest = std::max(found.longest, row->plain_nanoseconds);
    } else if (launches == 1 && has_times) {
      found.once.push_back(shown);
    } else if (launches != 0) {
      found.others.push_back(shown);
      found.other_launches += launches;
    }
  }
  return found;
}

} // namespace

// "a, b and 3 others"
std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 2;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += cat({i != 0 ? ", " : "", names[i]});
  if (names.size() > kShown) text += cat({" and ", format_plural(names.size() - kShown, "other")});
  return text;
}

bool report_unmeasured(const MemoryAccess& access, Findings& findings) {
  const Unmeasured found = find_unmeasured(access);
  if (found.of_nccl != 0) {
    findings.not_checked(
      {kMemoryAccesses,
       cat({format_count(found.of_nccl), found.of_nccl == 1 ? " launch" : " launches",
            " of NCCL's kernels: CUPTI takes up to half a minute to prepare one of them "
            "(--kernel nccl measures them all the same)"})});
  }
  if (!found.costly.empty()) {
    std::string plain;
    if (found.longest != 0)
      plain = cat({", where one takes up to ", seconds(found.longest), " by itself"});
    findings.not_checked(
      {kMemoryAccesses,
       cat({"measuring a launch of ", list_names(found.costly),
            " would have taken longer than the 2 s and 30 % of "
            "the time that measuring may take",
            plain,
            ": it is up to 60 times slower "
            "(--coalescing-launches 1 measures one of each kernel all the same)"})});
  }
  if (!found.once.empty()) {
    findings.not_checked(
      {kMemoryAccesses,
       cat(
         {"kernels that were launched once and whose code and grid do not say how long that takes were not "
          "measured: ",
          list_names(found.once),
          " (--coalescing-launches 1 measures one launch of each kernel all the same)"})});
  }
  if (!found.others.empty() && found.any_measured) {
    findings.not_checked({kMemoryAccesses, cat({"of ", format_plural(found.others.size(), "kernel"),
                                                " with ", format_count(found.other_launches),
                                                found.other_launches == 1 ? " launch" : " launches",
                                                " in all no launch was measured"})});
  }
  return !found.costly.empty() || !found.once.empty();
}

// Shared memory is measured where there is more time: its instructions are the dearest.
void report_shared(const MemoryAccess& access, Findings& findings) {
  std::vector<std::string> without;
  for (const MeasuredFunction& function : access.functions()) {
    if (function.is_kernel() && function.measured != 0 && function.shared_measured == 0) {
      without.push_back(shorten_function(function.name, 40));
    }
  }
  if (without.empty()) return;
  findings.not_checked({"bank-conflict", cat({"shared memory of ", list_names(without),
                                              " was not measured, to save time "
                                              "(--coalescing-launches 1 measures it)"})});
}

// What measuring took beyond what it may take
// (interposer/coalescing/collector/sampling/sampling_policy.h), where the user set no number of
// launches.
void report_budget(const MemoryAccess& access, const TraceDir& trace, Findings& findings) {
  const auto launches = trace.info.options.find("coalescing_launches");
  if (launches != trace.info.options.end() && !launches->second.empty() &&
      launches->second != "auto")
    return;
  std::uint64_t spent = 0, elapsed = 0;
  for (const AccessLog& log : access.logs()) {
    spent = std::max(spent, log.windows.measuring_nanoseconds);
    elapsed = std::max(elapsed, log.windows.elapsed_nanoseconds);
  }
  constexpr std::uint64_t kFree = 2'000'000'000, kTolerance = 500'000'000;
  const std::uint64_t allowed = kFree + (elapsed > spent ? elapsed - spent : 0) * 3 / 10;
  if (spent < allowed + kTolerance) return;
  const auto slowest =
    std::ranges::max_element(access.functions(), {}, &MeasuredFunction::longest_nanoseconds);
  std::string why;
  if (slowest != access.functions().end() && slowest->plain_nanoseconds != 0) {
    const std::uint64_t factor = slowest->longest_nanoseconds / slowest->plain_nanoseconds;
    why = cat({": a launch of ", shorten_function(slowest->name, 40), " took ",
               seconds(slowest->longest_nanoseconds), " while it was measured, ",
               format_count(factor), " times as long as by itself"});
  }
  findings.not_checked(
    {kMemoryAccesses, cat({"measuring took ", seconds(spent), ", which is ",
                           seconds(spent - allowed), " more than it may take", why,
                           ". All figures are good; --kernel leaves such a kernel out"})});
}

} // namespace gmt
