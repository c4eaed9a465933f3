// SPDX-License-Identifier: Apache-2.0
// What the trace says of the fence: patterns that changed, blocks that were given to other
// processes, and how many allocations were fenced or why not. The counts are written again as they
// double and when the process ends, so that a process that is killed leaves them nearly right.
#pragma once

#include <cstdint>

#include "interposer/guard/store/blocks.h"
#include "trace/guard.h"

namespace gmt::interposer {

void count_guarded(std::uint64_t mapped, std::uint64_t bytes) noexcept;
void count_unguarded(std::uint64_t mapped, std::uint64_t bytes) noexcept; // one was freed
void count_plain(trace::GuardPlain why) noexcept;
void count_unchecked() noexcept; // a block whose pattern could not be looked at
void count_checked(unsigned blocks) noexcept;
std::uint64_t guarded_now() noexcept;    // bytes that fenced blocks take now
std::uint64_t guarded_unused() noexcept; // those of them that the program did not ask for
void note_share(std::uint64_t permille) noexcept;
void note_reuse(std::uint64_t times) noexcept;

void note_damage(const GuardBlock& block, std::int64_t offset, std::uint64_t bytes,
                 const unsigned char* found, trace::GuardMoment moment) noexcept;
void note_export(const GuardBlock& block) noexcept;
void write_guard_counts() noexcept;
void forget_guard_counts() noexcept;

} // namespace gmt::interposer
