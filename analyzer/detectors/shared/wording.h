// SPDX-License-Identifier: Apache-2.0
// Words for memory, releases and endings that mean the same in every finding, and the stacks that go with them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/detectors/end_of_trace.h"
#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/finding.h"

namespace gmt {

// Why memory that no recorded call used may have been used all the same; empty if it cannot have been.
std::string why_uses_are_unseen(const EndOfTrace& end, const ProcessFacts& facts, const Heap& heap);

// "1.0 MiB of device memory allocated by cudaMalloc"
std::string describe_block(const Block& block, const TraceNames& names);
// "1.0 MiB of device memory"; "device memory of unknown size"
std::string describe_bytes(std::uint64_t bytes, trace::Family family);
LabelledStack labelled(std::string label, StackId stack, std::string_view api);
// Where the block came from: "allocated here", "registered here" for host memory, "looked up here" for a
// static variable.
LabelledStack birth_stack(const Block& block, const TraceNames& names);
std::string_view released_word(trace::FreeFunction function); // "freed", "unregistered", "unmapped", ...
std::string_view released_word(trace::Family family);         // what its right release does
// The right release as the caller of `api` would write it: the runtime's name for a runtime name.
std::string_view right_release_for(const Block& block, std::string_view api);
// Why memory that is alive at the end is no leak: the program was killed, or the like. Empty if it is one.
std::string why_not_a_leak(const Ending& ending);

} // namespace gmt
