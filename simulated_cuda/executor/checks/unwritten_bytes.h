// SPDX-License-Identifier: Apache-2.0
// What of the bytes that a copy reads nothing has written, and what that looks like. Gaps that
// repeat with an element's stride are padding, of structures or between rows, and are no mistake;
// neither is one gap that fills up a small structure. What lies behind all that was written is the
// unused end of a block, unless a kernel stored there what it had loaded unwritten.
#pragma once

#include "simulated_cuda/executor/machine/memory.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt::executor {

class UnwrittenBytes {
public:
  enum class Form : std::uint8_t {
    kNone, // nothing is missing
    kGaps, // padding alone
    kTail, // the end; before it there is at most padding
    kPart,
    kWhole, // all of it
  };

  explicit UnwrittenBytes(const Memory& memory) : memory_(memory) {}

  // One row after the other.
  void add_row(std::uint64_t address, std::uint64_t bytes);
  // `block_end` of the block that the rows are in.
  Form form(std::uint64_t block_end) const;

  std::uint64_t read() const { return read_; }
  std::uint64_t missing() const { return missing_; }
  std::uint64_t first() const { return runs_.empty() ? 0 : runs_.front().address; } // address

private:
  struct Run {
    std::uint64_t at = 0, bytes = 0; // among the bytes read
    std::uint64_t address = 0;       // of its first byte
    std::uint64_t end() const { return at + bytes; }
  };
  static constexpr std::size_t kMostRuns = 1 << 18; // so many are padding

  bool is_tail(std::uint64_t block_end) const;
  bool is_padding(std::size_t count, std::uint64_t end) const; // the first runs, of so many bytes
  bool repeats(std::size_t count, std::size_t every, std::uint64_t end) const;
  bool fills_up() const;

  const Memory& memory_;
  std::vector<Run> runs_;
  std::uint64_t read_ = 0, missing_ = 0;
  std::uint64_t last_end_ = 0; // address behind the last run's last byte
  bool has_too_many_ = false;
};

} // namespace gmt::executor
