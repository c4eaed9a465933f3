// SPDX-License-Identifier: Apache-2.0
// What a record of the simulated device says of a fault, as evidence for advice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/detectors/shared/faults/fault_advice.h"

namespace gmt {

std::string_view space_word(trace::FaultSpace space); // "shared"
bool is_global_space(trace::FaultSpace space);

// Dynamic shared memory for which the launch gave no bytes.
bool is_empty_array(const Event& fault);
// Global memory through a null pointer.
bool is_null_access(const Event& fault);
// In a thread's local memory, by an address that is one of global memory for the instruction.
bool is_in_local_window(const Event& fault);

// Two accesses of shared memory that do not race, since both are volatile, but have no order.
// `message` is the device's. The advice comes behind that on races.
bool is_volatile_race(const Event& fault, std::string_view message);
std::string_view advice_on_volatile();

// An asynchronous copy or wgmma reads what was written in another way, without a fence between the
// two ways.
bool is_unfenced_use(const Event& fault, std::string_view message);
// Of an access of another block's shared memory: ", of rank 5 in a cluster of 2 blocks"; else
// empty.
std::string cluster_words(const Event& fault, std::string_view said);

// Warps met at a barrier of the block, but not at one line.
bool is_barrier_apart(const Event& fault, std::string_view message);
// Threads of the block had ended before the others came to a barrier of all.
bool is_barrier_of_rest(const Event& fault, std::string_view message);
// What is wrong with the mask of a shuffle, a vote or their like, if that is all: "a mask that
// ...".
std::string_view wrong_mask_words(const Event& fault, std::string_view message);
// A product of a warpgroup that no wgmma.fence came before.
bool is_unfenced_product(const Event& fault, std::string_view message);
// Blocks wait for others, for which there is no room while these run.
bool is_without_room(const Event& fault, std::string_view message);
// A wait at a barrier of the cluster, by a thread that has not arrived there.
bool is_wait_alone(const Event& fault, std::string_view message);
// The conversion of a kernel's printf that CUDA does not have, "%zu"; else empty.
std::string_view unknown_format(const Event& fault, std::string_view said);
// What another order than the launch's own showed: a race, or another result.
struct OtherOrder {
  bool is_result = false;
  std::uint64_t seed = 0;
  std::uint64_t blocks = 0; // the first ones, whose order it is
};
std::optional<OtherOrder> other_order(const Event& fault, std::string_view said);
bool is_other_result(const Event& fault, std::string_view said);
// "in the order of --device-seed 3, of its first 2 blocks alone"
std::string in_words(const OtherOrder& order);
// A value that a shuffle took from a lane which is not there.
bool is_of_no_lane(const Event& fault, std::string_view message);

// Where the record alone says what to do; else empty. `message` is the device's.
std::string advice_on_record(const Event& fault, std::string_view message, bool has_line);

// What opens the memory of the device `owner` to another one. Pools and mappings have lists of the
// devices that may use them.
std::string advice_on_device(int device, int owner, trace::MemoryKind memory_kind);

// The argument that leads into the block and is itself no multiple of the access's size.
std::optional<Argument> misaligned_parameter(Arguments arguments, const MemoryAround& around,
                                             std::uint64_t bytes);

FaultEvidence evidence_of(const Event& fault, std::string_view kind, const MemoryAround& around,
                          const StrayAddress& stray, const ProcessFacts& facts);

} // namespace gmt
