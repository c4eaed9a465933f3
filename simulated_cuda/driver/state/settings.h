// SPDX-License-Identifier: Apache-2.0
// The environment variables that stage a simulated device: GPUMEMTRACE_SIM_*. Read once, on the
// first driver call. Invariant: a value that cannot be read leaves the default and says so on
// stderr, so a typo never passes unseen.
#pragma once

#include <cstddef>
#include <string>

namespace gmt::sim {

struct Settings {
  std::size_t memory_bytes = std::size_t{16} << 30;
  std::size_t others_bytes = 0; // taken by programs that are not there
  std::size_t pitch_alignment = 512;
  int texture_pitch_alignment = 32;
  int texture_alignment = 512;
  int device_count = 1;
  int peer_access = 1; // 0: no device can reach another's memory

  int copy_milliseconds = 0; // cuStreamQuery answers that a stream works for so long after a copy

  // A gap behind each block, and how much freed memory is not handed out again at once: for checks
  // of kernels. A GPU has no gaps and hands out freed memory at once.
  int gaps = 1;
  std::size_t resting_bytes = std::size_t{4} << 20;

  unsigned capability = 0; // such as 90; 0: the highest for which the program has PTX

  // How kernels are executed.
  double kernel_seconds = 60;             // of one launch; 0: no limit
  bool is_kernel_time_asked = false;      // a launch that the limit ends is left out as asked
  double run_seconds = 0;                 // of all launches together; 0: no limit
  unsigned long long kernel_launches = 0; // of each kernel, then every 2^k-th; 0: all
  std::string device_checks;              // none, default or full
  bool faults_end_context = true;         // as on a GPU; false: the program goes on
  unsigned device_threads = 0;            // that run a kernel's blocks; 0: as many as processors
  unsigned long long device_seed = 0;     // of the order of blocks and warps; 0: as numbered
  unsigned long long races_schedules = 1; // orders in which each launch runs, its own with them
  double late_seconds = 0;                // how late asynchronous work may run; 0: it runs at once
  unsigned long long alone_instructions = 10000; // of a launch, before other threads help
  int show_progress = 0;                         // a line on stderr while a kernel runs
};

Settings read_settings();

} // namespace gmt::sim
