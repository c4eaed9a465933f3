// SPDX-License-Identifier: Apache-2.0
// The file gpumemtrace-idle.<pid> by which `attach` asks a process under `record --idle` to record.
#pragma once

#include <cstdint>

namespace gmt::trace {

struct IdleRequest {
  std::uint32_t is_asked;          // the first word: 0 until recording is asked for
  std::uint32_t unused;            // 0
  std::uint64_t process_namespace; // inode of /proc/self/ns/pid; 0: not known
  std::uint64_t started;           // clock ticks since boot, as in /proc/self/stat; 0: not known
};
static_assert(sizeof(IdleRequest) == 24);

} // namespace gmt::trace
