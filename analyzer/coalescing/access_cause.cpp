// SPDX-License-Identifier: Apache-2.0
// Figures to causes, see access_cause.h. All formulas are for whole warps of 32 threads that access
// w bytes each, the address of a thread d bytes behind that of its neighbour, from an aligned base:
//   d = w           w sectors of 32 bytes (the ideal)
//   d = w, off      w + 1 sectors, or w + w/4 where the hardware splits it into requests of 128
//   bytes w < d < 32      d sectors, since the warp spans 32 * d bytes without a gap of a whole
//   sector d >= 32         32 sectors, one a thread
// So the sectors of one execution are the distance in bytes, up to 32.

#include "analyzer/coalescing/access_cause.h"

#include <algorithm>
#include <cmath>

#include "analyzer/base/text_format.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

// Most kernels have a last warp with a few threads that sit out.
constexpr double kWholeWarp = 0.98 * kWarpThreads;

double per_execution(std::uint64_t figure, const AccessCounts& sums) {
  return sums.executions == 0 ? 0
                              : static_cast<double>(figure) / static_cast<double>(sums.executions);
}

bool is_near(double value, double target) {
  return std::abs(value - target) <= std::min(0.25, 0.02 * target);
}

bool is_global(const MeasuredInstruction& i) {
  return i.code != nullptr &&
         (i.code->space == MemorySpace::kGlobal || i.code->space == MemorySpace::kGeneric);
}

// The same line's other side takes whole warps' worth of adjacent elements.
bool has_coalesced_side(const AccessLine& line, const MemoryAccess& access) {
  const SourceLine* source = line.source();
  if (source == nullptr) return false;
  const auto is_side = [&](const AccessLine& other) {
    if (other.function != line.function || other.source() == nullptr) return false;
    if (other.source()->file != source->file || other.source()->line != source->line) return false;
    const Instruction& code = *other.worst->code;
    const bool opposite = (code.op == MemoryOp::kLoad) != (line.worst->code->op == MemoryOp::kLoad);
    return opposite && other.worst->width() != 0 &&
           has_whole_warps(other.sums, other.worst->width()) &&
           is_near(per_execution(other.sums.sectors, other.sums), other.worst->width());
  };
  return std::ranges::any_of(access.global_lines(), is_side);
}

// Of threads of which each takes a sector of its own.
AccessCause cause_of_far_threads(const AccessLine& line, const MemoryAccess& access,
                                 std::uint32_t object) {
  if (object != 0) return AccessCause::kStruct;
  return has_coalesced_side(line, access) ? AccessCause::kTransposed : AccessCause::kApart;
}

// The bytes that this and other instructions reach from the same address register, if they cost the
// same: the members of one object. 0 if there are no others.
std::uint32_t object_bytes(const MeasuredInstruction& one, const MeasuredFunction& function) {
  constexpr std::int64_t kFar = 128; // farther apart they are elements of an unrolled loop
  if (!is_global(one) || one.code->address_register == Instruction::kNoRegister) return 0;
  const double sectors = per_execution(one.sums.sectors, one.sums);
  std::int64_t begin = one.code->address_offset, end = begin + one.width();
  bool any = false;
  for (const MeasuredInstruction& other : function.instructions) {
    if (&other == &one || !is_global(other)) continue;
    if (other.code->address_register != one.code->address_register || other.sums.sectors == 0)
      continue;
    const std::int64_t at = other.code->address_offset;
    if (at == one.code->address_offset || std::abs(at - one.code->address_offset) >= kFar) continue;
    if (!is_near(per_execution(other.sums.sectors, other.sums), sectors)) continue;
    any = true;
    begin = std::min(begin, at);
    end = std::max(end, at + static_cast<std::int64_t>(other.width()));
  }
  return any ? static_cast<std::uint32_t>(std::min<std::int64_t>(end - begin, 2 * kFar)) : 0;
}

AccessFigures figures_of(const AccessLine& line, const MemoryAccess& access) {
  const MeasuredFunction& function = *line.function;
  AccessFigures f;
  f.kernel = function.name;
  f.is_kernel = function.is_kernel();
  if (const SourceLine* source = line.source()) {
    f.function = demangle(source->function);
    f.file = source->file;
    f.line = source->line;
  }
  f.offset = line.worst->offset;
  f.operation = operation_of(line);
  f.width = line.worst->width();
  f.executions = line.sums.executions;
  f.thread_executions = line.sums.thread_executions;
  f.launches = function.launches;
  f.measured = function.measured;
  const std::uint64_t all = access.sectors_in_all();
  f.share = all == 0 ? 0 : static_cast<double>(line.wasted_in_all()) / static_cast<double>(all);
  return f;
}

// Of single bytes two sectors a request are either.
bool may_be_misaligned_bytes(const CauseFound& c) {
  return c.cause == AccessCause::kStride && c.width == 1 && c.bytes == 2;
}

} // namespace

// A thread whose predicate is off executes the instruction and asks for nothing.
bool has_whole_warps(const AccessCounts& sums, std::uint32_t width) {
  const std::uint64_t bytes = sums.bytes != 0 ? sums.bytes : sums.shared_bytes;
  std::uint64_t threads = sums.thread_executions;
  if (bytes != 0 && width != 0) threads = std::min(threads, bytes / width);
  return per_execution(threads, sums) >= kWholeWarp;
}

double severity_ratio(const AccessLine& line) {
  if (line.sums.ideal_sectors == 0) return 0;
  auto ideal = static_cast<double>(line.sums.ideal_sectors);
  const std::uint32_t width = line.worst->width();
  if (!has_whole_warps(line.sums, width)) {
    constexpr std::uint32_t kWidest = 16;
    ideal =
      std::max(ideal, static_cast<double>(line.sums.executions) * (width != 0 ? width : kWidest));
  }
  return static_cast<double>(line.sums.sectors) / ideal;
}

double conflict_ratio(const AccessLine& line) {
  if (line.sums.ideal_wavefronts == 0) return 0;
  return static_cast<double>(line.sums.wavefronts) /
         static_cast<double>(line.sums.ideal_wavefronts);
}

CauseFound cause_of(const AccessLine& line, const MemoryAccess& access) {
  const MeasuredInstruction& worst = *line.worst;
  const std::uint32_t width = worst.width();
  CauseFound found{.width = width};
  // An ideal of less than the width: threads of the warp share addresses, and no formula holds.
  if (width == 0 || is_atomic(line) || !has_whole_warps(worst.sums, width) ||
      !is_near(per_execution(worst.sums.ideal_sectors, worst.sums), width)) {
    return found;
  }
  const double sectors = per_execution(worst.sums.sectors, worst.sums);
  const auto nearest = static_cast<std::uint32_t>(std::min(std::round(sectors), 64.0));
  const bool is_whole = is_near(sectors, nearest);
  const std::uint32_t object = object_bytes(worst, *line.function);
  if (is_near(sectors, width + 1.0) ? width > 1 : is_near(sectors, width * 1.25) && width > 4) {
    found.cause = AccessCause::kMisaligned;
    found.bytes = width;
  } else if (is_whole && nearest >= kWarpThreads) {
    found.cause = cause_of_far_threads(line, access, object);
    found.bytes = std::max(kWarpThreads, object);
    found.is_least = true;
  } else if (is_whole && nearest > width && nearest % width <= (width > 1 ? 1u : 0u)) {
    found.bytes = nearest - nearest % width; // one more is a base off a sector
    found.cause =
      object != 0 && object <= found.bytes ? AccessCause::kStruct : AccessCause::kStride;
  } else if (sectors > width) {
    found.cause = AccessCause::kScattered;
  }
  return found;
}

std::string_view id_of(AccessCause cause) {
  switch (cause) {
  case AccessCause::kMisaligned: return "misaligned";
  case AccessCause::kStride: return "stride";
  case AccessCause::kStruct: return "array-of-structs";
  case AccessCause::kApart: return "far-apart";
  case AccessCause::kTransposed: return "transposed";
  case AccessCause::kScattered: return "scattered";
  case AccessCause::kUnknown: break;
  }
  return {};
}

std::string brief(const CauseFound& c) {
  const std::string more = c.is_least ? " or more" : "";
  switch (c.cause) {
  case AccessCause::kMisaligned: return "misaligned";
  case AccessCause::kStride:
  case AccessCause::kApart: {
    std::string_view or_else;
    if (c.cause == AccessCause::kApart) or_else = ", or no order";
    else if (may_be_misaligned_bytes(c)) or_else = ", or misaligned";
    return cat({"stride of ", std::to_string(c.bytes / c.width), more, or_else});
  }
  case AccessCause::kStruct: return cat({"structs of ", format_exact_bytes(c.bytes), more});
  case AccessCause::kTransposed: return "transposed";
  case AccessCause::kScattered: return "scattered";
  case AccessCause::kUnknown: break;
  }
  return {};
}

std::string describe(const CauseFound& c) {
  const std::string apart = cat({c.is_least ? "at least " : "", format_exact_bytes(c.bytes)});
  const std::string count = std::to_string(c.bytes / std::max(c.width, 1u));
  const std::string elements = cat({c.is_least ? "at least " : "", count, " elements"});
  switch (c.cause) {
  case AccessCause::kMisaligned:
    return "neighbouring threads access neighbouring elements, but each warp's first one starts off a sector "
           "of 32 bytes";
  case AccessCause::kStride:
    if (may_be_misaligned_bytes(c)) {
      return "neighbouring threads access every second element, or neighbouring ones from a base off a "
             "sector of 32 bytes";
    }
    return cat({"neighbouring threads are ", apart, " apart, a stride of ", elements});
  case AccessCause::kStruct:
    return cat({"neighbouring threads are ", apart,
                " apart and each accesses several parts of its own, as in "
                "an array of structs or with a row for each thread"});
  case AccessCause::kApart:
    return cat({"neighbouring threads are ", apart, " apart, a stride of ", elements,
                ", or no order at all, so that each takes a sector of its own"});
  case AccessCause::kTransposed:
    return "the line's other side is coalesced, while here each thread takes a sector of its own, as where "
           "one of the two walks down a column";
  case AccessCause::kScattered:
    return "no fixed distance between neighbouring threads fits, so their addresses are scattered or the "
           "distance changes";
  case AccessCause::kUnknown: break;
  }
  return {};
}

std::string_view advice_for(const CauseFound& c, bool is_atomic) {
  if (is_atomic) {
    return "Add up within the warp or in shared memory first, and let neighbouring threads update "
           "neighbouring "
           "addresses.";
  }
  if (may_be_misaligned_bytes(c)) {
    return "Let neighbouring threads access neighbouring elements, and each warp begin at a multiple of 32 "
           "bytes.";
  }
  switch (c.cause) {
  case AccessCause::kMisaligned:
    return "Let each warp begin at a multiple of 32 bytes, best of 128: start the array or its rows there, "
           "or "
           "shift the index.";
  case AccessCause::kStride:
    return "Let neighbouring threads access neighbouring elements: index with threadIdx.x without a factor, "
           "or "
           "keep the elements that are used in an array of their own.";
  case AccessCause::kStruct:
    return "Keep each member in an array of its own (a struct of arrays), or copy whole structs to shared "
           "memory with neighbouring threads reading neighbouring words.";
  case AccessCause::kApart:
    return "Let threadIdx.x count along the dimension that is contiguous in memory; sort indices that have "
           "no order.";
  case AccessCause::kTransposed:
    return "Go through a tile in shared memory, __shared__ float tile[32][33], so that both sides run along "
           "rows.";
  case AccessCause::kScattered:
    return "Sort what threads work on by address, or copy the region that a block needs to shared memory "
           "first.";
  case AccessCause::kUnknown: break;
  }
  return "Let the 32 threads of a warp access neighbouring addresses.";
}

bool is_atomic(const AccessLine& line) {
  const Instruction* code = line.worst->code;
  return code != nullptr && (code->op == MemoryOp::kAtomic || code->op == MemoryOp::kReduction);
}

AccessOperation operation_of(const AccessLine& line) {
  if (line.worst->code == nullptr) return AccessOperation::kUnknown;
  switch (line.worst->code->op) {
  case MemoryOp::kLoad: return AccessOperation::kLoad;
  case MemoryOp::kStore: return AccessOperation::kStore;
  case MemoryOp::kAtomic:
  case MemoryOp::kReduction: return AccessOperation::kAtomic;
  case MemoryOp::kCopy:
  case MemoryOp::kBulkCopy: break;
  }
  return AccessOperation::kCopy;
}

AccessFigures global_figures(const AccessLine& line, const MemoryAccess& access) {
  AccessFigures f = figures_of(line, access);
  const CauseFound cause = cause_of(line, access);
  f.memory = AccessedMemory::kGlobal;
  f.actual = line.sums.sectors;
  f.ideal = line.sums.ideal_sectors;
  f.wasted_bytes = line.wasted_in_all() * kSectorBytes;
  f.cause = id_of(cause.cause);
  f.brief = brief(cause);
  return f;
}

AccessFigures shared_figures(const AccessLine& line, const MemoryAccess& access) {
  AccessFigures f = figures_of(line, access);
  f.memory = AccessedMemory::kShared;
  f.measured = line.function->shared_measured;
  f.actual = line.sums.wavefronts;
  f.ideal = line.sums.ideal_wavefronts;
  f.wasted_bytes = line.wasted_in_all() * kWavefrontBytes;
  f.share = 0; // shared memory's traffic is its own
  return f;
}

} // namespace gmt
