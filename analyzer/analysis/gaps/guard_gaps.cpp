// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/gaps/gaps.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

using trace::GuardPlain;

constexpr std::string_view kFencedKind = "kernel-out-of-bounds";

std::string_view why_plain(GuardPlain why) {
  switch (why) {
  case GuardPlain::kInCapture: return "while a stream captured";
  case GuardPlain::kNoMemory: return "because the device had no room for mappings of 2 MiB";
  case GuardPlain::kNoAddresses: return "because the reservation of addresses was full";
  case GuardPlain::kOverLimit: return "above --guard-limit";
  case GuardPlain::kTooSmall: return "below --guard-min";
  case GuardPlain::kNotSampled: return "not in the sample";
  case GuardPlain::kExported:
    return "from call sites that had given memory to other processes (--guard-exclude names such "
           "sites)";
  case GuardPlain::kExcluded: return "by --guard-exclude";
  case GuardPlain::kSharedPool: return "from pools that can be shared or have a largest size";
  case GuardPlain::kNotSupported: return "because the device or the driver cannot map memory so";
  case GuardPlain::kCount: break;
  }
  return "for other reasons";
}

// "12 of 20 allocations of device memory were not fenced: 3 while a stream captured, ..."
void report_plain(const GuardUse& use, Findings& findings) {
  const std::uint64_t plain = std::accumulate(use.plain.begin(), use.plain.end(), std::uint64_t{0});
  if (plain == 0) return;
  std::string causes;
  for (std::size_t i = 0; i < use.plain.size(); ++i) {
    if (use.plain[i] == 0) continue;
    causes += cat({causes.empty() ? "" : ", ", format_count(use.plain[i]), " ",
                   why_plain(static_cast<GuardPlain>(i))});
  }
  findings.not_checked(
    {std::string(kFencedKind),
     cat({"--guard left ", format_count(plain), " of ",
          format_plural(plain + use.fenced, "allocation"), " of device memory plain: ", causes})});
}

// Memory that is never fenced.
void report_other_memory(const Heap& heap, Findings& findings) {
  std::uint64_t blocks = 0;
  for (const trace::MemoryKind kind :
       {trace::MemoryKind::kManaged, trace::MemoryKind::kVmmMapping, trace::MemoryKind::kIpc,
        trace::MemoryKind::kPoolImport, trace::MemoryKind::kExternal, trace::MemoryKind::kGraph})
    for (const MemoryUse::Device& device : heap.use().devices())
      blocks += device.memory_kinds[static_cast<std::size_t>(kind)].allocations;
  if (blocks == 0) return;
  findings.not_checked(
    {std::string(kFencedKind),
     cat({"--guard does not fence managed, imported and graph memory, nor what the program maps "
          "itself: ",
          format_plural(blocks, "allocation")})});
}

// Libraries that cut arrays out of segments, and what makes each array a block.
void report_pools(const ProcessModel& model, Findings& findings) {
  struct Pool {
    std::string_view library, name, remedy;
  };
  constexpr Pool kPools[] = {
    {"libc10_cuda.so", "PyTorch", "--guard tensors turns its cache off"},
    {"/xla_cuda", "JAX", "--guard tensors turns its allocator off"},
    {"/cupy/", "CuPy", "cupy.cuda.set_allocator(None) turns its pool off"},
    {"librmm.so", "RMM", "rmm.reinitialize(pool_allocator=False) turns its pool off"},
  };
  for (const Pool& pool : kPools) {
    if (!model.is_loaded(pool.library)) continue;
    if (model.fences_tensors() && pool.remedy.starts_with("--guard")) continue;
    findings.not_checked(
      {std::string(kFencedKind), cat({pool.name,
                                      " cuts arrays out of larger blocks, which are fenced as a "
                                      "whole: ",
                                      pool.remedy})});
  }
}

} // namespace

void report_guard_gaps(const ProcessModel& model, const Heap& heap, Findings& findings) {
  const GuardUse& use = model.guard_use();
  if (!use.asked) return;
  report_plain(use, findings);
  report_other_memory(heap, findings);
  report_pools(model, findings);
  if (use.unchecked != 0) {
    findings.not_checked({std::string(kFencedKind),
                          cat({"the bytes beside ", format_plural(use.unchecked, "fenced block"),
                               " could not be looked at"})});
  }
  if (use.reused != 0) {
    findings.not_checked(
      {"kernel-use-after-free",
       cat({"addresses of freed blocks were given out again ", format_plural(use.reused, "time"),
            ": a use of the older block there does not fault"})});
  }
}

} // namespace gmt
