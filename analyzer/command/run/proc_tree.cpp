// SPDX-License-Identifier: Apache-2.0
// What /proc says of the processes of the tree, and the two clocks. Processes come and go while
// this reads: whatever cannot be read is left out.

#include "analyzer/command/run/child_process.h"

#include <dirent.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "analyzer/base/text_lines.h"

namespace gmt {

bool read_process_stat(pid_t pid, ProcessStat& stat) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line, '\0')) return false;
  // The name may hold anything, also ')'
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return false;
  stat.pid = pid;
  stat.name = line.substr(open + 1, close - open - 1);
  std::istringstream rest(line.substr(close + 1));
  rest >> stat.state >> stat.parent;
  std::string skipped; // fields 5 to 21 of proc(5)
  for (int field = 5; field < 22; ++field) rest >> skipped;
  rest >> stat.started;
  return !rest.fail();
}

std::vector<RunningProcess> running_descendants(pid_t ancestor, std::uint64_t started_since) {
  std::map<pid_t, ProcessStat> all;
  DIR* directory = ::opendir("/proc");
  if (!directory) return {};
  while (const dirent* entry = ::readdir(directory)) {
    const std::optional<pid_t> pid = parse_number<pid_t>(entry->d_name);
    ProcessStat stat;
    if (pid && read_process_stat(*pid, stat)) all.emplace(*pid, stat);
  }
  ::closedir(directory);

  std::vector<RunningProcess> running;
  for (const auto& [pid, stat] : all) {
    if (stat.state == 'Z' || stat.state == 'X' || stat.started < started_since) continue;
    pid_t up = stat.parent;
    for (std::size_t steps = 0; up != ancestor && steps < all.size(); ++steps) {
      const auto parent = all.find(up);
      if (parent == all.end()) break;
      up = parent->second.parent;
    }
    if (up == ancestor && pid != ancestor) running.push_back({pid, stat.name});
  }
  return running;
}

std::uint64_t read_tsc() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

std::uint64_t read_monotonic_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace gmt
