// SPDX-License-Identifier: Apache-2.0
// What accesses of memory inside kernels cost, as findings and tables carry it. Sizes are bytes.
// Kinds of memory and operations are values; their words are made where a report is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gmt {

enum class AccessedMemory : std::uint8_t { kGlobal, kShared, kLocal };
// kUnknown: the code is not known. kCopy is from global to shared memory.
enum class AccessOperation : std::uint8_t { kUnknown, kLoad, kStore, kAtomic, kCopy };

// "global", "shared", "local"
constexpr std::string_view word_of(AccessedMemory memory) {
  switch (memory) {
  case AccessedMemory::kGlobal: return "global";
  case AccessedMemory::kShared: return "shared";
  case AccessedMemory::kLocal: break;
  }
  return "local";
}

// "load", "store", "atomic", "copy"; "access" if it is not known
constexpr std::string_view word_of(AccessOperation operation) {
  switch (operation) {
  case AccessOperation::kUnknown: break;
  case AccessOperation::kLoad: return "load";
  case AccessOperation::kStore: return "store";
  case AccessOperation::kAtomic: return "atomic";
  case AccessOperation::kCopy: return "copy";
  }
  return "access";
}

// What one access of the source, or one function's local memory, cost: sums over the launches that
// were measured, unless they say otherwise.
struct AccessFigures {
  AccessedMemory memory = AccessedMemory::kGlobal;
  std::string kernel;         // demangled
  bool is_kernel = true;      // false: a device function, called by kernels that are not known
  std::string function, file; // of the source, the former demangled; empty without line information
  std::uint32_t line = 0;
  std::uint64_t offset = 0; // of its costliest instruction in the function, bytes
  AccessOperation operation = AccessOperation::kUnknown;
  std::uint32_t width = 0; // bytes that a thread asks for; 0 unknown
  std::uint64_t executions = 0, thread_executions = 0;
  // Sectors; wavefronts of shared memory. Local memory has no ideal
  std::uint64_t actual = 0, ideal = 0;
  std::uint64_t launches = 0, measured = 0;
  std::uint64_t wasted_bytes = 0; // in all launches; of local memory, all that was moved
  double share = 0;               // of wasted_bytes in what all global accesses moved, 0 to 1
  std::string cause;              // "stride", "misaligned", ...; empty if the figures leave it open
  std::string brief;              // the same as a few words with its number: "stride of 8 or more"

  double ratio() const {
    return ideal == 0 ? 0 : static_cast<double>(actual) / static_cast<double>(ideal);
  }
  double per_request() const {
    return executions == 0 ? 0 : static_cast<double>(actual) / static_cast<double>(executions);
  }
};

} // namespace gmt
