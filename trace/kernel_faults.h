// SPDX-License-Identifier: Apache-2.0
// What records say of kernels on the simulated device: the enumerations and flags of kFault and
// kExecution. Members are never renumbered; readers take what they do not know for unknown. C++17,
// includes nothing of CUDA's.
#pragma once

#include <cstdint>

namespace gmt::trace {

// What a kernel did wrong. The numbers are those of trace/execution_observer.h.
enum class FaultKind : std::uint8_t {
  kUnknown = 0,
  kOutOfBounds = 1,
  kUseAfterFree = 2,
  kMisaligned = 3,
  kUninitializedRead = 4,
  kSharedRace = 5,
  kBarrierDivergence = 6,
  kDeadlock = 7,
  kAssert = 8,
  kTrap = 9,
  kIllegalInstruction = 10,
  kStackOverflow = 11,
  kInvalidAddressSpace = 12,
  kInvalidJump = 13,
  kOther = 14,
  kHang = 15,
};
enum class FaultSpace : std::uint8_t {
  kUnknown = 0,
  kGlobal = 1,
  kShared = 2,
  kLocal = 3,
  kConstant = 4,
  kParameter = 5,
  kGeneric = 6,
};
enum class FaultAccess : std::uint8_t {
  kUnknown = 0,
  kLoad = 1,
  kStore = 2,
  kAtomic = 3,
  kReduction = 4,
  kCopy = 5,
};
// What is missing in what a copy reads.
enum class UnwrittenForm : std::uint8_t {
  kUnknown = 0,
  kWhole = 1, // all of it
  kPart = 2,
  kTail = 3, // the end of the block, which was never filled so far
};
enum class ExecutionOp : std::uint8_t {
  kNotRun = 1,        // nothing of the launch ran
  kStopped = 2,       // in the middle, at a limit
  kNotSelected = 3,   // left out, as an option asked
  kTotals = 4,        // of the process so far
  kFeature = 5,       // how often one feature was executed, of the process so far
  kRunOver = 6,       // the device ends the program: kernels ran for as long as is allowed
  kUnwrittenCopy = 7, // a copy reads memory of the device of which nothing has written a part
  kRefused = 8,       // a call that the device does not implement, of the process so far
  kUnchecked = 9,     // launches that ran without the checks of --kernel-checks
};
// kFault: which of its words mean something where 0 is a value, too.
inline constexpr std::uint16_t kFaultHasThread = 1;
inline constexpr std::uint16_t kFaultHasAddress = 2;
inline constexpr std::uint16_t kFaultHasOther = 4;
inline constexpr std::uint16_t kFaultOtherHasThread = 8;
inline constexpr std::uint16_t kFaultNeighbourFreed = 16; // what lies at the address is freed
inline constexpr std::uint16_t kFaultChecked = 32;        // found by a check in the kernel's code
inline constexpr std::uint16_t kExecutionExact = 1; // kExecution: the feature is exact, as on a GPU
inline constexpr std::uint16_t kExecutionToHost = 2;  // the copy goes to memory of the host
inline constexpr std::uint16_t kExecutionAsAsked = 4; // an option of the user ended the launch

} // namespace gmt::trace
