// SPDX-License-Identifier: Apache-2.0
// The pattern in the mapped bytes around a block, which no correct program changes. It is written
// and fetched on a stream of ours, so that no stream of the program waits. A check copies the bytes
// of several blocks to the host and compares them there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/guard/store/blocks.h"
#include "trace/guard.h"

namespace gmt::interposer {

inline constexpr unsigned char kPattern = 0xc5;
inline constexpr std::uint64_t kMostBefore = 4096; // bytes in front of a block that hold it
inline constexpr unsigned kCheckedAtOnce = 16;

struct SlackPart {
  CUdeviceptr address;
  std::uint64_t bytes;
};
struct Slack {
  SlackPart before, behind;
};
Slack slack_of(const GuardBlock& block) noexcept;

// What is wrong with bytes that were fetched: from the first to the last one that changed.
struct Change {
  std::uint64_t first = 0, bytes = 0; // offset of the first one; none if there are no bytes
};
Change find_change(const unsigned char* bytes, std::uint64_t count) noexcept;

// A context of the block's is current. False if it could not be written: then none is expected.
bool write_pattern(const GuardBlock& block) noexcept;

enum class Checked : std::uint8_t {
  kDone,   // and what was found is recorded
  kLater,  // our stream is busy
  kFailed, // CUDA refused: nothing is known
};
// At most kCheckedAtOnce blocks of the current context. Waits at most so long for the copies.
Checked check_patterns(GuardBlock* blocks, unsigned count, trace::GuardMoment moment,
                       int milliseconds) noexcept;

void slack_context_has_ended(CUcontext context) noexcept;
void forget_slack() noexcept; // in a forked child

} // namespace gmt::interposer
