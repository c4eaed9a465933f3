// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/fault_advice.h"

#include <algorithm>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/fault_words.h"

namespace gmt {
namespace {

using How = StrayAddress::How;
using Where = MemoryAround::Where;

// No GPU maps addresses this low, and no array of a program begins behind a null pointer.
constexpr std::uint64_t kNullPage = 64 << 10;
constexpr std::uint64_t kIndexes = std::uint64_t{1} << 32; // of 32 bits
constexpr std::uint64_t kWarp = 32;                        // threads
// How far from the memory that was meant an index may still be, bytes
constexpr std::uint64_t kFarthestMeant = 16 << 20;

bool is_near(const MemoryAround& around) {
  if (around.block == nullptr || around.where == Where::kFreed) return false;
  const bool outside = around.where == Where::kBehind || around.where == Where::kBefore;
  return !outside || around.distance <= kFarthestMeant;
}

// An index of 32 bits that wrapped is off by 2^32 elements, or by 2^32 bytes if it counts these.
StrayAddress wrapped(std::uint64_t address, std::uint64_t bytes, const HeapAt& at) {
  for (std::uint64_t element : {bytes, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{4},
                                std::uint64_t{8}, std::uint64_t{16}}) {
    if (element == 0) continue;
    const std::uint64_t shift = kIndexes * element;
    const MemoryAround above = memory_around(address + shift, bytes, at);
    // Such an index lies in the upper half of what 32 bits can say.
    if (address + shift > address && is_near(above) &&
        above.block->bytes + kFarthestMeant >= shift / 2)
      return {How::kOverflow, element, above};
    const MemoryAround below = memory_around(address - shift, bytes, at);
    if (address > shift && below.where == Where::kBefore && is_near(below) &&
        below.distance <= kNullPage)
      return {How::kUnderflow, element, below};
  }
  return {};
}

std::uint64_t threads_of(const Extents& e) {
  return std::uint64_t{std::max(1u, e[0])} * std::max(1u, e[1]) * std::max(1u, e[2]);
}

std::string elements(std::uint64_t bytes, std::uint64_t each) {
  if (each <= 1 || bytes % each != 0) return format_exact_bytes(bytes);
  return format_plural(bytes / each, "element");
}

// Who leaves memory at its end: the threads of the last block that have nothing to do, the one that
// goes one element too far, or an index that is wrong altogether.
std::string advice_past(const FaultEvidence& e, std::uint64_t past) {
  const std::uint64_t each = std::max<std::uint64_t>(1, e.bytes);
  const std::uint64_t threads = threads_of(e.grid) * threads_of(e.block);
  if (past == 0 && e.count == 1)
    return "The access is one element behind the last one, whose index is n - 1: compare with < and "
           "not with <=, or leave out the neighbour that the last element does not have.";
  const std::uint64_t tail = std::max(kWarp, threads_of(e.block)) * each;
  if (past < tail && (threads > 1 || e.grid == Extents{}))
    return "Let threads whose index is past the end do nothing, as with if (i < n), or allocate "
           "what the kernel uses.";
  return cat({"Look how the index is computed, and in which unit: it counts elements, not bytes, "
              "and is ",
              elements(past, each), " too far at least. Or allocate what the kernel uses."});
}

std::string advice_before(const FaultEvidence& e, std::uint64_t before) {
  return cat({"Let no index be below 0: this one is ",
              elements(before, std::max<std::uint64_t>(1, e.bytes)),
              " before the first, as where i - 1 is used for i = 0."});
}

std::string advice_on_stray(const StrayAddress& stray) {
  switch (stray.how) {
  case How::kNull:
    return "The pointer was never set, or what should have given it failed: check that call's "
           "result, and what the launch and the structures in memory were given.";
  case How::kHost:
    return "Give the kernel the device's copy of the data (cudaMalloc and cudaMemcpy), or allocate "
           "it with cudaMallocManaged or cudaMallocHost.";
  case How::kLocal:
    return "Do not let a pointer to a variable of a function outlive it or reach another thread: "
           "put the data into memory of cudaMalloc, or into shared memory within a block.";
  case How::kOverflow:
    return "Compute the index in 64 bits: make the variable, and the first factor of each product, "
           "a size_t or a long long.";
  case How::kUnderflow:
    return "Test that the index is not 0 before something is subtracted from it: an unsigned one "
           "becomes 4,294,967,295.";
  case How::kUnknown: break;
  }
  return "Look where the pointer comes from: it was never set, was overwritten, or has an index "
         "that is far out of range.";
}

std::string advice_out_of_bounds(const FaultEvidence& e) {
  if (e.is_empty_array)
    return "The launch gives the kernel 0 bytes of dynamic shared memory: pass what the array needs "
           "as the third launch parameter, kernel<<<grid, block, bytes>>>.";
  if (e.space == "local")
    return "Keep the index within the array of the function, which lies in the thread's local "
           "memory: look at the bounds of the loop around the access.";
  if (e.past) return advice_past(e, *e.past);
  if (e.before) return advice_before(e, *e.before);
  if (e.around.where == Where::kAcross)
    return "The access begins inside of the memory and ends behind it: use narrower accesses for "
           "the last elements, or allocate a multiple of the access's size.";
  if (e.around.block == nullptr && !e.has_neighbour && e.address && e.space != "shared")
    return advice_on_stray(e.stray);
  return "Let threads whose index is past the end do nothing, or allocate what the kernel uses.";
}

std::string advice_uninitialized(const FaultEvidence& e) {
  if (e.is_value) return "Give the variable a value on every way that leads to its use.";
  if (e.space == "shared")
    return "Let a thread write each element before any thread reads it, with __syncthreads() "
           "between.";
  if (e.space == "local") return "Give the variable or the array a value before it is read.";
  const Block* block = e.around.block;
  if (block != nullptr && block->shape().pitch != 0 && block->shape().width != 0 &&
      e.around.distance % block->shape().pitch >= block->shape().width)
    return cat({"These bytes are padding between two rows: let the kernel read ",
                format_exact_bytes(block->shape().width),
                " of each row, and use the pitch only to get from one row to the next."});
  if (e.has_neighbour && e.neighbour_space.empty())
    return "Write what malloc or new gave before it is read: neither clears it.";
  if (e.has_neighbour)
    return "Give the variable a value before the kernel reads it: initialise it, or copy to it with "
           "cudaMemcpyToSymbol.";
  return "Write the memory before the kernel reads it: by a copy, by a kernel, or, if 0 is right, "
         "with cudaMemset.";
}

std::string advice_misaligned(const FaultEvidence& e) {
  const std::string size = std::to_string(e.bytes);
  if (e.space == "shared" || e.space == "local")
    return cat({"Declare the array with __align__(", size,
                "), let each offset into it be a multiple of ", size,
                ", or access the data in smaller pieces."});
  if (e.parameter)
    return cat({"Give the launch a pointer that is a multiple of ", size,
                ": what cudaMalloc returns is, and an offset that is added to it must be. Or let "
                "the kernel access the data in smaller pieces."});
  return cat({"Let the offset that the kernel adds be a multiple of ", size,
              " bytes, or access the data in smaller pieces."});
}

std::string advice_on_race(const FaultEvidence& e) {
  const std::string_view update =
    e.is_one_line ? "If several threads update one element there, let them use an atomic function "
                    "such as atomicAdd. Otherwise: "
                  : "";
  if (e.is_one_warp && e.block != Extents{} && threads_of(e.block) <= kWarp)
    return cat({update, "Put __syncwarp() between the two accesses, where all threads reach it."});
  if (e.is_one_warp)
    return cat({update, "Put __syncwarp() between the two accesses if only one warp executes this "
                        "code, else __syncthreads() where all threads of the block reach it."});
  return cat({update,
              "Put __syncthreads() between the two accesses, where all threads of the block "
              "reach it, or give each thread memory of its own."});
}

} // namespace

bool is_null_page(std::uint64_t address) {
  return address < kNullPage || address > UINT64_MAX - kNullPage;
}

StrayAddress stray_address(std::uint64_t address, std::uint64_t bytes, const HeapAt& at,
                           const ProcessFacts& facts) {
  if (is_null_page(address)) return {.how = How::kNull, .element = 0, .meant = {}};
  if (facts.is_plain_host_memory(address) || facts.is_static_memory(address))
    return {.how = How::kHost, .element = 0, .meant = {}};
  return wrapped(address, std::max<std::uint64_t>(1, bytes), at);
}

Text describe(const StrayAddress& stray, std::uint64_t address, const TraceNames& names) {
  constexpr std::string_view kNowhere = ", in no memory that CUDA gave out";
  switch (stray.how) {
  case How::kNull:
    if (address == 0) return {kNowhere, ": the pointer is null"};
    if (address < kNullPage)
      return {kNowhere, ": ", format_exact_bytes(address), " behind a null pointer"};
    return {kNowhere, ": ", format_exact_bytes(-address), " before a null pointer"};
  case How::kHost: return {kNowhere, ": it is ordinary memory of the host"};
  case How::kLocal:
    return {kNowhere, ": it is local memory, a variable in the stack of some thread"};
  case How::kOverflow:
  case How::kUnderflow: {
    const bool over = stray.how == How::kOverflow;
    return {kNowhere,
            cat({"; 2^32 elements of ", format_exact_bytes(stray.element),
                 over ? " later" : " earlier", " it would be "}),
            describe(stray.meant, names),
            over ? ": a 32-bit index has overflowed" : ": an unsigned 32-bit index was below 0"};
  }
  case How::kUnknown: break;
  }
  return kNowhere;
}

std::string advice_on(const FaultEvidence& e) {
  if (e.kind == fault_kinds::kOutOfBounds) return advice_out_of_bounds(e);
  if (e.kind == fault_kinds::kUseAfterFree)
    return "Free the memory after the last kernel that uses it has ended, or do not keep the pointer.";
  if (e.kind == fault_kinds::kMisaligned) return advice_misaligned(e);
  if (e.kind == fault_kinds::kUninitializedRead) return advice_uninitialized(e);
  if (e.kind == fault_kinds::kSharedRace) return advice_on_race(e);
  if (e.kind == fault_kinds::kBarrierDivergence)
    return "Let all threads of the block reach the same barrier: no branch may leave one out.";
  if (e.kind == fault_kinds::kHang)
    return "Let something change what the kernel waits for, or let all threads reach the barrier: a "
           "GPU would never end this kernel.";
  if (e.kind == fault_kinds::kAssert)
    return "The assert's condition says what the kernel relies on.";
  return "Look at the line that is named, and at what its pointers and indexes are there.";
}

} // namespace gmt
