// SPDX-License-Identifier: Apache-2.0
// How much memory this process has taken since a moment. Asked once an event, it looks every
// 65,536th time. Where /proc is missing there is no limit.
#pragma once

#include <cstdint>
#include <optional>

namespace gmt {

class MemoryLimit {
public:
  explicit MemoryLimit(std::uint64_t bytes);
  bool is_reached() const { return (++asked_ & 0xffff) == 0 && is_above(); }

private:
  bool is_above() const;

  std::optional<std::uint64_t> most_; // bytes of the process
  mutable std::uint64_t asked_ = 0;
};

// Its resident memory; nothing if that is not known.
std::optional<std::uint64_t> resident_bytes();

} // namespace gmt
