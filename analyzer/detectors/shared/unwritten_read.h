// SPDX-License-Identifier: Apache-2.0
// What findings about copies of unwritten memory share: whose memory it is, which kernel may have
// written it after all, and the words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/running_kernels.h"

namespace gmt {

bool is_array(const Block& block);
// Ours alone: not the host's to write, not another process's, no pool that may lie on the host.
bool is_private(const Block& block, const ProcessFacts& facts);
// The same, and no recorded call gave it to a kernel, a texture or another process.
bool is_unshared(const Block& block, const Heap& heap, const ProcessFacts& facts);

// Whether the data leaves the device. A side that the heap does not know is the host's unless
// declared otherwise.
bool goes_to_host(const Event& copy, const Heap& heap);

// Which kernel may have written a block that none was given.
enum class Writer : std::uint8_t { kNone, kEarlierKernel, kLaterKernel };
Writer writer_of(const Block& block, const Event& copy, const Heap& heap, RunningKernels& kernels);
std::string_view what_wrote_nothing(Writer writer);

struct UnwrittenRead {
  const Block& block;
  StackId stack; // of the copy
  std::string api;
  std::uint64_t bytes = 0, missing = 0; // that it reads
  Severity severity = Severity::kNote;
  std::string_view which = {}; // " at its end": where the missing ones are, if that is known
  std::string_view why = {};   // "no copy, no set, ..."
};

Finding unwritten_read(const UnwrittenRead& read, const ProcessFacts& facts);

} // namespace gmt
