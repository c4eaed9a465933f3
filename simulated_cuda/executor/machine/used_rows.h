// SPDX-License-Identifier: Apache-2.0
// Which memory a launch used, as Launch::accesses gets it.
#pragma once

#include <cstdint>
#include <vector>

namespace gmt::executor {

// Rows of bytes that were used alike: `count` of `width` bytes, which begin `pitch` bytes apart.
struct UsedRows {
  std::uint64_t address = 0, width = 0, pitch = 0, count = 1;
  bool is_read = false, is_written = false;
  bool is_strong = false; // by atomics and strong accesses of the device's scope alone
};

struct Accesses {
  bool is_known = false; // else nothing is
  bool is_whole = false; // nothing is missing
  bool may_wait = false; // by its code: it has atomics or strong loads
  bool uses_host_memory = false;
  std::vector<UsedRows> rows;
};

} // namespace gmt::executor
