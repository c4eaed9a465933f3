// SPDX-License-Identifier: Apache-2.0
// Registers whose every bit is tracked, as MemorySanitizer does it: instructions are put before and
// behind those of a program, which compute for each register a shadow. A bit of a shadow is 1 where
// nothing wrote the register's bit.
// Invariants: the shadow of the register at `offset` of a frame lies at `offset + register_bytes`
// as it was before, and that of a byte of the area of parameters `parameter_bytes` behind it. Each
// instruction that is added has the source and the guard of the one that it belongs to.
#pragma once

#include "simulated_cuda/executor/program/program.h"

namespace gmt::executor {

// Instruction::extra of "track.ld" and "track.st": bytes of an element, their number from bit 8 on,
// the space (ptx::Space) from bit 16 on, and bit 24 if the address has 32 bits.
inline constexpr std::uint32_t kTrackedCount = 8, kTrackedSpace = 16, kTrackedNarrow = 1u << 24;

// Code::tracked_results where r[4] alone is written.
inline constexpr std::uint8_t kTrackedWhole = 0x80;
inline constexpr std::uint32_t kTrackedTemporaryBytes = 3 * 16 * kLanes; // at a frame's end

// The program is decoded, supported and not yet bound.
void track_registers(Program& program);
// A part of it: parameters of a function and of its calls get their shadows.
void double_parameters(const Program& program, Code& code);

} // namespace gmt::executor
