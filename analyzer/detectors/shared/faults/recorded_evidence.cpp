// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/recorded_evidence.h"

#include <algorithm>
#include <array>

#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/faults/race_words.h"

namespace gmt {
namespace {

using trace::FaultKind;
using trace::FaultSpace;

constexpr std::string_view kOfOrder = "order", kOfResult = "result"; // as the device says it
constexpr std::string_view kMayHaveEnded = "block may have ended";   // likewise
constexpr std::array<std::string_view, 7> kSpaceNames{"",         "global",    "shared", "local",
                                                      "constant", "parameter", "generic"};

Extents to_extents(trace::Index3 i) { return {i.x, i.y, i.z}; }

std::uint64_t warp_of(trace::Index3 thread, trace::Index3 block) {
  return (thread.x + std::uint64_t{block.x} * (thread.y + std::uint64_t{block.y} * thread.z)) / 32;
}

// From the memory next to the address: what the heap knows, else what the device said.
void set_distance(FaultEvidence& e, const event::Fault& fault) {
  if (e.around.where == MemoryAround::Where::kBehind) e.past = e.around.distance;
  if (e.around.where == MemoryAround::Where::kBefore) e.before = e.around.distance;
  if (e.around.block != nullptr || !e.has_neighbour) return;
  const std::uint64_t begin = fault.neighbour, size = fault.neighbour_bytes;
  if (fault.address < begin) e.before = begin - fault.address;
  else if (fault.address - begin >= size) e.past = fault.address - begin - size;
}

} // namespace

std::string_view space_word(FaultSpace space) {
  const auto i = static_cast<std::size_t>(space);
  return i < kSpaceNames.size() ? kSpaceNames[i] : std::string_view();
}

bool is_global_space(FaultSpace space) {
  return space == FaultSpace::kUnknown || space == FaultSpace::kGlobal ||
         space == FaultSpace::kGeneric;
}

bool is_empty_array(const Event& e) {
  const event::Fault& fault = e.fault();
  return fault.fault == FaultKind::kOutOfBounds && fault.space == FaultSpace::kShared &&
         fault.neighbour_bytes == 0 && fault.neighbour_name != 0;
}

bool is_null_access(const Event& e) {
  const event::Fault& fault = e.fault();
  return fault.fault == FaultKind::kOutOfBounds && is_global_space(fault.space) &&
         e.fault().has_address && is_null_page(fault.address);
}

bool is_in_local_window(const Event& e) {
  const event::Fault& fault = e.fault();
  return fault.fault == FaultKind::kOutOfBounds && is_global_space(fault.space) &&
         fault.neighbour_bytes != 0 && fault.neighbour_space == FaultSpace::kLocal;
}

bool is_volatile_race(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kSharedRace && message == "volatile";
}

bool is_unfenced_use(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kSharedRace &&
         (message == kNoProxyFence || message == kNoProxyFenceOfProduct);
}

// The device says "rank RANK BLOCKS" or "block may have ended".
std::string cluster_words(const Event& e, std::string_view said) {
  if (e.fault().space != FaultSpace::kShared) return {};
  if (said == kMayHaveEnded) return ", of another block of the cluster, which may have ended";
  constexpr std::string_view kRank = "rank ";
  const std::size_t last = said.rfind(' ');
  if (!said.starts_with(kRank) || last < kRank.size()) return {};
  return cat({", of rank ", said.substr(kRank.size(), last - kRank.size()), " in a cluster of ",
              said.substr(last + 1), " blocks"});
}

// A sentence is of copies of tensors, and says what to change itself.
bool is_one_word(std::string_view said) { return !said.empty() && said.find(' ') == said.npos; }

bool is_barrier_apart(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kBarrierDivergence && message == "apart";
}

bool is_barrier_of_rest(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kBarrierDivergence && message == "ended";
}

// The device says "order SEED BLOCKS" or "result SEED BLOCKS".
std::optional<OtherOrder> other_order(const Event& e, std::string_view said) {
  const std::size_t first = said.find(' '), last = said.rfind(' ');
  if (!is_race(e.fault().fault) || first == last) return std::nullopt;
  const std::string_view way = said.substr(0, first);
  const auto seed = parse_number<std::uint64_t>(said.substr(first + 1, last - first - 1));
  const auto blocks = parse_number<std::uint64_t>(said.substr(last + 1));
  if ((way != kOfOrder && way != kOfResult) || !seed || !blocks) return std::nullopt;
  return OtherOrder{way == kOfResult, *seed, *blocks};
}

bool is_other_result(const Event& e, std::string_view said) {
  const auto order = other_order(e, said);
  return order && order->is_result;
}

std::string in_words(const OtherOrder& order) {
  return cat({"in the order of --device-seed ", std::to_string(order.seed), ", of its first ",
              order.blocks == 1 ? "block" : format_count(order.blocks) + " blocks", " alone"});
}

std::string_view wrong_mask_words(const Event& e, std::string_view message) {
  if (e.fault().fault != FaultKind::kIllegalInstruction) return {};
  if (message == "unnamed") return "a mask that lacks the calling thread";
  if (message == "differing") return "a mask with lanes in it that give another mask";
  return {};
}

bool is_unfenced_product(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kIllegalInstruction &&
         (message == "unfenced" || message == "unfenced values");
}

bool is_wait_alone(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kIllegalInstruction && message == "not arrived";
}

bool is_without_room(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kHang && message == "no room";
}

// The device says "format %zu".
std::string_view unknown_format(const Event& e, std::string_view said) {
  constexpr std::string_view kFormat = "format %";
  if (e.fault().fault != FaultKind::kIllegalInstruction || !said.starts_with(kFormat)) return {};
  return said.substr(kFormat.size() - 1);
}

bool is_of_no_lane(const Event& e, std::string_view message) {
  return e.fault().fault == FaultKind::kUninitializedRead && message == "no lane";
}

std::string_view advice_on_volatile() {
  return " A flag needs fences as well: __threadfence_block() before it is stored, and behind the "
         "load that sees it.";
}

std::string advice_on_record(const Event& e, std::string_view message, bool has_line) {
  const trace::FaultKind fault = e.fault().fault;
  if (fault == FaultKind::kSharedRace && message == "read-modify-write")
    return "Use an atomic, such as atomicAdd, or give each thread memory of its own: the line reads "
           "and writes, so that no barrier can stand between.";
  if (fault == FaultKind::kSharedRace && message == kNotWaitedFor)
    return "Wait for the copy where it was begun (cp.async.wait_group, __pipeline_wait_prior(), "
           "consumer_wait(), or its mbarrier), and put a barrier behind that for other threads.";
  if (fault == FaultKind::kSharedRace && message == kOfCluster)
    return "Put cluster.sync() (barrier.cluster) between the two accesses, where all threads of the "
           "cluster reach it.";
  if (is_unfenced_use(e, message))
    return cat(
      {"Put fence.proxy.async (cuda::ptx::fence_proxy_async) behind the writes, and before "
       "the barrier behind which ",
       message == kNoProxyFence ? "a thread begins the copy." : "the warpgroup multiplies."});
  if (message == kMayHaveEnded)
    return "Let all blocks of the cluster wait for each other behind the last such access: "
           "cluster.sync().";
  if (!cluster_words(e, message).empty())
    return "Let the rank be less than the number of blocks of the cluster (num_blocks()), and look "
           "at the cluster's size in the launch.";
  if (fault == FaultKind::kIllegalInstruction && message == "differing")
    return "Let all lanes that a mask names give this mask: __activemask() and masks that each lane "
           "computes of its own differ easily.";
  if (is_unfenced_product(e, message))
    return "Put wgmma.fence (warpgroup_arrive() in CUTLASS) before the first product, and behind each "
           "other use of registers that the next product takes or changes.";
  if (is_without_room(e, message))
    return "Launch no more blocks than the device has room for at a time (cudaLaunchCooperativeKernel "
           "refuses more), or let a block wait only for blocks that have started: for those before it "
           "by a number that each takes from a counter (atomicAdd).";
  if (is_wait_alone(e, message))
    return "Let each thread call barrier_arrive() (barrier.cluster.arrive) before it waits, or "
           "cluster.sync(), which does both.";
  if (!unknown_format(e, message).empty())
    return "CUDA's printf has the sizes h, l and ll alone, and no precision by an argument (.*). Use "
           "%llu and %lld, and cast what has another type.";
  if (fault == FaultKind::kIllegalInstruction && is_one_word(message))
    return "Let the mask name each thread that reaches the call, as __ballot_sync() gives it for the "
           "condition of the branch around.";
  if (is_barrier_of_rest(e, message))
    return "Let threads that have nothing to do go on to the barrier as well: put the work into the "
           "branch, and neither the barrier nor a return.";
  if (is_other_result(e, message))
    return "Look where the kernel relies on which thread comes first. It is no mistake where any "
           "order will do, as for places in a list that an atomic counter gives out.";
  if (fault == FaultKind::kOutOfBounds && !e.fault().has_address)
    return "Compare the coordinates with the surface's width and height before the access, or choose "
           "what happens outside: cudaBoundaryModeZero or cudaBoundaryModeClamp. The first "
           "coordinate counts bytes.";
  if (fault == FaultKind::kUseAfterFree && !e.fault().has_address)
    return "Destroy the object, and free its array, behind the last kernel that uses it.";
  if (is_of_no_lane(e, message))
    return "Take the value only from lanes that reach the call and that the mask names, or choose "
           "another value where there is no such lane.";
  if (fault == FaultKind::kTrap && !has_line)
    return "Look at the compiler's warnings: nvcc puts a trap in the place of code that cannot be "
           "right, such as a store to __constant__ memory. Otherwise look for __trap() in the kernel.";
  return {};
}

std::string advice_on_device(int device, int owner, trace::MemoryKind memory_kind) {
  if (memory_kind == trace::MemoryKind::kModuleGlobal)
    return "No peer access reaches a variable of another device: keep the data in memory of "
           "cudaMalloc, or copy it.";
  const bool is_pool = memory_kind == trace::MemoryKind::kStreamOrdered;
  if (!is_pool && memory_kind != trace::MemoryKind::kVmmMapping)
    return advice_on_reach(device, owner);
  return cat({"If cudaDeviceCanAccessPeer says that device ", std::to_string(device),
              " can reach device ", std::to_string(owner), ", give it access to the ",
              is_pool ? "memory's pool with cudaMemPoolSetAccess" : "mapping with cuMemSetAccess",
              " before the launch; else copy the data."});
}

std::optional<Argument> misaligned_parameter(Arguments arguments, const MemoryAround& around,
                                             std::uint64_t bytes) {
  if (around.block == nullptr) return std::nullopt;
  for (const Argument word : arguments) {
    const std::uint64_t address = word.address();
    if (address - around.block->address < around.block->bytes && address % bytes != 0) return word;
  }
  return std::nullopt;
}

FaultEvidence evidence_of(const Event& event, std::string_view kind, const MemoryAround& around,
                          const StrayAddress& stray, const ProcessFacts& facts) {
  const event::Fault& fault = event.fault();
  FaultEvidence e;
  e.kind = kind;
  if (!is_global_space(fault.space)) e.space = space_word(fault.space);
  e.has_neighbour = fault.neighbour_bytes != 0 && !is_in_local_window(event);
  e.neighbour_space = space_word(fault.neighbour_space);
  e.is_empty_array = is_empty_array(event);
  e.is_value = fault.bytes == 0;
  e.around = around;
  e.stray = stray;
  if (fault.has_address) e.address = fault.address;
  e.bytes = fault.bytes;
  e.count = std::max<std::uint64_t>(1, fault.count);
  e.grid = to_extents(fault.grid);
  e.block = to_extents(fault.block);
  set_distance(e, fault);
  if (fault.has_thread && fault.other_has_thread)
    e.is_one_warp =
      warp_of(fault.thread_index, fault.block) == warp_of(fault.other_thread_index, fault.block);
  const std::string here = source_words(parse_lines(facts.text(fault.lines)), {});
  e.is_one_line =
    !here.empty() && here == source_words(parse_lines(facts.text(fault.other_lines)), {});
  return e;
}

} // namespace gmt
