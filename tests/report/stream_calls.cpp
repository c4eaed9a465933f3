// SPDX-License-Identifier: Apache-2.0
// Streams calls through the reader, the heap and all detectors, as `gpumemtrace follow` reads a
// process that runs: a log grows and is read, and what was read is given back to the disk. So there
// may be more calls than a disk holds. Fails unless memory stays bounded, each call is counted, and
// what is found are the two mistakes among them.
//   report_stream_calls CALLS

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analyzer/analysis/live/follower.h"
#include "tests/report/made_up_calls.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kBatch = 1'000'000; // calls that are in the log at a time
constexpr std::uint64_t kMostMoreMemory = std::uint64_t{64} << 20;
constexpr double kMostSeconds = 2e-6; // of a core, for each call

std::uint64_t bytes_in_memory() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double seconds_of_core() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

bool append(int log, const std::vector<trace::Slot>& slots) {
  const char* at = reinterpret_cast<const char*>(slots.data());
  for (std::size_t left = slots.size() * sizeof(trace::Slot); left != 0;) {
    const ssize_t n = ::write(log, at, left);
    if (n <= 0) return false;
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  return true;
}

// What was read: the file keeps its length.
void give_back(int log) {
  const off_t end = ::lseek(log, 0, SEEK_END);
  if (end > static_cast<off_t>(trace::kLogHeaderBytes))
    ::fallocate(log, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, trace::kLogHeaderBytes,
                end - static_cast<off_t>(trace::kLogHeaderBytes));
}

bool check(bool is_right, const char* what) {
  if (!is_right) std::printf("wrong: %s\n", what);
  return is_right;
}

int stream(std::uint64_t wanted) {
  const TemporaryDirectory directory;
  const std::filesystem::path folder = directory.path() / "trace";
  TraceWriter writer;
  MadeUpCalls program(writer);
  writer.log();
  writer.complete.clear(); // it runs
  writer.zero_slots = 0;
  writer.write(folder);
  const int log = ::open((folder / "t1000-0.log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  Follower follower(open_trace(folder).value());

  std::vector<trace::Slot> slots;
  slots.reserve(kBatch + 64);
  program.begin_file(slots);
  std::uint64_t followed = 0, memory = 0, disk = 0;
  bool has_mistakes = false;
  while (program.calls() < wanted) {
    while (slots.size() < kBatch) program.step(slots);
    if (!has_mistakes && program.calls() > wanted / 2) {
      program.free_again(slots);
      program.copy_too_much(slots);
      has_mistakes = true;
    }
    if (!append(log, slots)) return std::perror("cannot write the log"), 1;
    slots.clear();
    followed += follower.poll();
    struct stat status{};
    ::fstat(log, &status);
    disk = std::max(disk, static_cast<std::uint64_t>(status.st_blocks) * 512);
    give_back(log);
    if (memory == 0 && program.calls() >= 2 * kBatch) memory = bytes_in_memory();
  }
  ::close(log);
  const std::uint64_t more = bytes_in_memory() - std::min(memory, bytes_in_memory());
  const double seconds = seconds_of_core();
  std::string kinds;
  for (const Finding& finding : follower.take_findings()) kinds += finding.kind + " ";
  std::printf("%llu calls, %.0f s of a core, %.0f MiB, %.1f MiB more than after the first two "
              "million, %.0f MiB of disk\nfound: %s\n",
              static_cast<unsigned long long>(followed), seconds,
              static_cast<double>(bytes_in_memory()) / (1 << 20),
              static_cast<double>(more) / (1 << 20), static_cast<double>(disk) / (1 << 20),
              kinds.c_str());
  const Totals totals = follower.totals();
  bool is_right = check(followed == program.calls(), "calls are missing");
  constexpr std::uint64_t kLeast = MadeUpCalls::kBlocks * MadeUpCalls::kBytes;
  is_right &= check(totals.live_bytes > kLeast, "bytes that are alive");
  is_right &= check(totals.peak_bytes > totals.live_bytes, "the peak");
  is_right &= check(totals.peak_bytes < 18 * kLeast, "the peak");
  is_right &= check(kinds == "double-free copy-out-of-bounds ", "findings");
  is_right &= check(more < kMostMoreMemory, "memory grows with the calls");
  is_right &= check(disk < 3 * kBatch * sizeof(trace::Slot), "the log takes the disk");
  is_right &= check(seconds < kMostSeconds * static_cast<double>(followed) + 10, "it takes long");
  return is_right ? 0 : 1;
}

} // namespace
} // namespace gmt::test

int main(int argc, char** argv) {
  if (argc == 2) return gmt::test::stream(std::strtoull(argv[1], nullptr, 10));
  std::fputs("usage: report_stream_calls CALLS\n", stderr);
  return 2;
}
