// SPDX-License-Identifier: Apache-2.0
// Words for memory, releases and endings that mean the same in every finding, and the stacks that
// go with them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/detectors/end_of_trace.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/finding.h"

namespace gmt {

// Why memory that no recorded call used may have been used all the same; empty if it cannot have
// been.
std::string why_uses_are_unseen(const EndOfTrace& end, const ProcessFacts& facts, const Heap& heap);

// "1.0 MiB of device memory allocated by cudaMalloc"
Text describe_block(const Block& block, const TraceNames& names);
// "allocated", "registered", "found" for a static variable
std::string_view allocated_word(const Block& block);
// "1.0 MiB of device memory"; "device memory of unknown size"
std::string describe_bytes(std::uint64_t bytes, trace::MemoryKind memory_kind);
// "4.0 KiB of device memory in 2 blocks"; one block is not counted.
std::string describe_blocks(std::uint64_t bytes, std::uint64_t blocks,
                            trace::MemoryKind memory_kind);
FindingStack stack_as(StackRole role, StackId stack, std::string_view api,
                      StackOrder order = StackOrder::kOnly);
// Where the block came from: allocated, host memory registered, or a static variable looked up.
FindingStack allocation_stack(const Block& block, const TraceNames& names);
// What the right release of such memory does, and what this release does: "freed", "unregistered",
// "unmapped", ...
StackRole release_role(trace::MemoryKind memory_kind);
StackRole release_role(trace::FreeFunction function);
std::string_view released_word(trace::FreeFunction function);
std::string_view released_word(trace::MemoryKind memory_kind);
// The right release as the caller of `api` would write it.
ApiWord right_release_for(const Block& block, std::string_view api);
// Of memory of the device `owner` that another one has no access to: " on device 1, to which device
// 0 has no access", and what to do.
std::string out_of_reach(int device, int owner);
std::string advice_on_reach(int device, int owner);
// Why memory that is alive at the end is no leak: the program was killed, or the like. Empty if it
// is one.
std::string why_not_a_leak(const Ending& ending);

} // namespace gmt
