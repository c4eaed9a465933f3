// SPDX-License-Identifier: Apache-2.0
// What to do about a kernel's fault, made from what is known of it. Who follows a sentence to the
// letter must end with a program that is right, so a sentence that fits only some causes says for
// which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/detectors/shared/faults/memory_around.h"
#include "analyzer/model/core_dump.h"

namespace gmt {

// How an address came to point into no memory, as far as its value says.
struct StrayAddress {
  enum class How : std::uint8_t {
    kUnknown,
    kNull,      // a null pointer, or a few bytes from one
    kHost,      // the host's heap, stack or static variables
    kLocal,     // a thread's own local memory, by an address that is good there alone
    kOverflow,  // 2^32 elements before memory: a signed index of 32 bits overflowed
    kUnderflow, // 2^32 elements behind memory: an unsigned index of 32 bits went below 0
  };
  How how = How::kUnknown;
  std::uint64_t element = 0; // bytes, of an index of 32 bits
  MemoryAround meant;        // where the address would lie without the overflow
};

bool is_null_page(std::uint64_t address); // null, or a few bytes from it
StrayAddress stray_address(std::uint64_t address, std::uint64_t bytes, const HeapAt& at,
                           const ProcessFacts& facts);
// ", in no memory that CUDA gave out: the pointer is null"
Text describe(const StrayAddress& stray, std::uint64_t address, const TraceNames& names);

struct FaultEvidence {
  std::string_view kind;            // one of fault_kinds
  std::string_view space;           // of the access; empty if it is global memory
  std::string_view neighbour_space; // of the memory that the device knows next to it
  bool has_neighbour = false;
  bool is_empty_array = false; // dynamic shared memory, of which the launch gave 0 bytes
  bool is_value = false;       // no access to memory: a value in a register
  MemoryAround around;
  StrayAddress stray;
  std::optional<std::uint64_t> address;
  std::uint64_t bytes = 0, count = 1;
  Extents grid{}, block{};           // of the launch; 0 unknown
  std::optional<std::uint64_t> past; // bytes behind the end of the memory next to it
  std::optional<std::uint64_t> before;
  std::optional<unsigned> parameter; // of the launch, that is misaligned itself; from 0
  // Of two accesses
  bool is_one_warp = false, is_one_line = false;
};

std::string advice_on(const FaultEvidence& evidence);

} // namespace gmt
