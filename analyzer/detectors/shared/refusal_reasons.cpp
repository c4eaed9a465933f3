// SPDX-License-Identifier: Apache-2.0
// The limits of extents are those of all devices of compute capability 3.0 and later (CUDA C++
// Programming Guide, "Technical Specifications per Compute Capability").
#include "analyzer/detectors/shared/refusal_reasons.h"

#include <string>
#include <string_view>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

constexpr std::uint64_t kMostThreads = 1024, kMostBlockZ = 64; // of a block
constexpr std::uint64_t kMostGridYz = 65535;
constexpr std::uint64_t kRegistersOfBlock = 65536;
constexpr std::uint64_t kUsualShared = 48 << 10; // of a block whose kernel has not opted in

struct Reason {
  std::string what, advice;
};

// As many as the program asked for.
struct Extents64 {
  std::uint64_t x, y, z;
};

// In a trace without limits 0 may also be 65,536.
Reason reason_of_extents(const Extents64& grid, const Extents64& block) {
  if (block.x == 0 || block.y == 0 || block.z == 0)
    return {"an extent of the block is 0 or more than 65,535",
            "Give each block at least one thread and at most 1,024, x 1,024, y 1,024, z 64."};
  if (grid.x == 0)
    return {"the grid has 0 blocks", "Leave the launch out where there is nothing to do."};
  if (grid.y == 0 || grid.z == 0 || grid.y > kMostGridYz || grid.z > kMostGridYz)
    return {"the grid's extent y or z is 0 or more than 65,535, which is the most",
            "Put the larger number of blocks into x, which may have 2,147,483,647, or let each "
            "block do more."};
  const std::uint64_t threads = block.x * block.y * block.z;
  if (threads > kMostThreads)
    return {cat({"a block of ", format_count(threads), " threads, where 1,024 are the most"}),
            "Use more blocks of at most 1,024 threads, and let the kernel compute its index from "
            "blockIdx, too."};
  if (block.z > kMostBlockZ)
    return {cat({"a block whose extent z is ", format_count(block.z), ", where 64 is the most"}),
            "Put the larger extent into x or y."};
  return {};
}

// Dynamic shared memory that a kernel may be given once it has opted in, in bytes; 0 unknown. From
// the same table of the guide.
std::uint64_t most_shared(const DeviceFacts* device) {
  switch (device != nullptr ? device->compute_capability : 0) {
  case 70:
  case 72: return 96 << 10;
  case 75: return 64 << 10;
  case 80:
  case 87: return 163 << 10;
  case 86:
  case 89:
  case 120:
  case 121: return 99 << 10;
  case 90:
  case 100:
  case 103: return 227 << 10;
  default: return 0;
  }
}

std::string advice_on_shared(const DeviceFacts* device) {
  const std::uint64_t most = most_shared(device);
  return cat({"Its extents are within the limits. Look at its dynamic shared memory, the third "
              "launch parameter: more than 49,152 bytes need cudaFuncSetAttribute(kernel, "
              "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before the launch",
              most == 0
                ? std::string()
                : cat({", and more than ", format_count(most), " bytes this device does not have"}),
              ". Else check the pointer to the arguments."});
}

// Of the kernel, whose limit is below that of all blocks.
Reason reason_of_threads(std::uint64_t threads, const LaunchLimits& limits) {
  if (limits.most_threads == 0 || threads <= limits.most_threads) return {};
  std::string what = cat({"a block of ", format_count(threads),
                          " threads, where this kernel may "
                          "have ",
                          format_count(limits.most_threads)});
  const std::string number = std::to_string(threads);
  if (limits.registers * threads <= kRegistersOfBlock)
    return {
      what + ", as its __launch_bounds__ say",
      cat({"Use smaller blocks, or declare the kernel with __launch_bounds__(", number, ")."})};
  return {cat({what, ", as each takes ", format_count(limits.registers), " registers"}),
          cat({"Use smaller blocks, or declare the kernel with __launch_bounds__(", number,
               "), so that the compiler keeps to the registers that there are."})};
}

// Empty if the launch kept to what it may have.
Reason reason_of_shared(const LaunchLimits& limits, const DeviceFacts* device) {
  if (limits.most_shared_bytes == 0 || limits.shared_bytes <= limits.most_shared_bytes) return {};
  const std::uint64_t most = most_shared(device), own = limits.static_shared_bytes;
  const bool is_usual = limits.most_shared_bytes + own <= kUsualShared;
  const bool is_too_much = most != 0 && limits.shared_bytes + own > most;
  const std::string asked = std::to_string(limits.shared_bytes);
  return {
    cat({format_count(limits.shared_bytes), " bytes of dynamic shared memory, where ",
         format_count(limits.most_shared_bytes), " are allowed",
         is_usual ? " without cudaFuncSetAttribute" : "",
         own != 0 ? cat({" beside the ", format_count(own), " that the kernel declares"})
                  : std::string()}),
    is_too_much
      ? cat({"Use less shared memory: a block on this device can have ", format_count(most),
             " bytes at most."})
      : cat({"Call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ",
             asked, ") before the launch, or use less."})};
}

Reason reason_of(const RefusedLaunch& launch, const LaunchLimits& limits,
                 const ProcessFacts& facts) {
  Extents64 grid{launch.grid.x, launch.grid.y, launch.grid.z};
  Extents64 block{launch.block.x, launch.block.y, launch.block.z};
  if (limits.is_known) {
    grid = {launch.grid.x, limits.grid_y, limits.grid_z};
    block = {limits.block_x, limits.block_y, limits.block_z};
  }
  const std::uint64_t threads = block.x * block.y * block.z;
  Reason reason = reason_of_extents(grid, block);
  if (!reason.what.empty()) return reason;
  switch (launch.result) {
  case cuda::CUDA_ERROR_INVALID_VALUE:
    reason = reason_of_threads(threads, limits);
    if (!reason.what.empty()) return reason;
    reason = reason_of_shared(limits, facts.device(0));
    if (reason.what.empty()) reason.advice = advice_on_shared(facts.device(0));
    return reason;
  case cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    reason = reason_of_threads(threads, limits);
    if (!reason.what.empty()) return reason;
    return {"its registers, times the threads of a block, are more than a multiprocessor has",
            "Use smaller blocks, or declare the kernel with __launch_bounds__(threads of a block), "
            "so that the compiler keeps to what fits."};
  case cuda::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    return {"all blocks of a cooperative launch must fit on the device at once",
            "Ask cudaOccupancyMaxActiveBlocksPerMultiprocessor for the blocks of a multiprocessor, "
            "launch at most as many for each, and let each block do more."};
  case cuda::CUDA_ERROR_NO_BINARY_FOR_GPU:
  case cuda::cudaErrorInvalidDeviceFunction: {
    const DeviceFacts* device = facts.device(0);
    const std::string arch = device != nullptr && device->compute_capability != 0
                               ? cat({"-arch=sm_", std::to_string(device->compute_capability)})
                               : std::string("the -arch of this device");
    return {"the program has no code for this device",
            cat({"Compile the kernel with ", arch, "."})};
  }
  default: return {};
  }
}

const Block* overlapped(const Heap& heap, std::uint64_t begin, std::uint64_t bytes) {
  if (const Block* block = heap.find_live(begin)) return block;
  if (bytes == 0) return nullptr;
  if (const Block* block = heap.find_live(begin + bytes - 1)) return block;
  const Block* inside = nullptr;
  heap.for_each_live([&](const Block& block) {
    if (inside == nullptr && block.address >= begin && block.address - begin < bytes &&
        (block.memory_kind == trace::MemoryKind::kRegistered ||
         block.memory_kind == trace::MemoryKind::kPinned))
      inside = &block;
  });
  return inside;
}

} // namespace

RefusedLaunch::RefusedLaunch(const Event& e) : order(e.order), result(e.result) {
  const event::Launch& launch = e.launch();
  function = launch.function;
  grid = launch.grid;
  block = launch.block;
}

void diagnose_launch(const RefusedLaunch& launch, const LaunchLimits& limits,
                     const ProcessFacts& facts, Finding& f) {
  const Reason reason = reason_of(launch, limits, facts);
  const std::string_view name = facts.handle_name(launch.function);
  if (!name.empty()) f.message += cat({" for ", kernel_words(name)});
  if (!reason.what.empty()) f.message += cat({": ", reason.what});
  if (!reason.advice.empty()) f.advice = reason.advice;
}

void diagnose_registration(const Event& e, const Heap& heap, const ProcessFacts& facts,
                           Finding& f) {
  if (e.result != cuda::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED || e.kind != EventKind::kAlloc)
    return;
  const event::Allocation& view = e.allocation();
  const Block* block = overlapped(heap, view.address, view.bytes);
  if (block == nullptr) return;
  f.message += {cat({": of ", format_bytes(view.bytes), " at ", format_address(view.address),
                     ", what begins at ", format_address(block->address), " is already "}),
                describe_block(*block, facts)};
  f.advice = block->memory_kind == trace::MemoryKind::kPinned
               ? "Leave the call out: this memory is pinned as it was allocated."
               : "Register the whole range once, and unregister what is registered now before "
                 "that.";
  f.stacks.push_back(allocation_stack(*block, facts));
}

void diagnose_prefetch(const Event& e, const Heap& heap, const ProcessFacts& facts, Finding& f) {
  if (e.kind != EventKind::kUse || e.result != cuda::CUDA_ERROR_INVALID_VALUE) return;
  const event::Use& use = e.use();
  const bool is_advice = use.use == trace::UseClass::kAdvise;
  if (use.use != trace::UseClass::kPrefetch && !is_advice) return;
  const Block* block = heap.find_live(use.address);
  if (block == nullptr || block->memory_kind == trace::MemoryKind::kManaged ||
      block->memory_kind == trace::MemoryKind::kManagedVariable)
    return;
  f.message += {is_advice ? ": advice" : ": a prefetch", " needs managed memory, and this is ",
                describe_block(*block, facts)};
  f.advice = "Leave the call out, since such memory does not move, or allocate it with "
             "cudaMallocManaged.";
  f.stacks.push_back(allocation_stack(*block, facts));
}

} // namespace gmt
