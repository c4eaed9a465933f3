// SPDX-License-Identifier: Apache-2.0
// Makes the trace of a program that runs for days, in compressed time: writes files of its log as
// fast as they are packed and folded, with what `gpumemtrace record` does beside a program. Each
// file is there raw before it is packed. A leak, a double free and a copy out of bounds are among
// the calls.
//   report_fold_calls CALLS FOLDER MOST_BYTES

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analyzer/command/run/trace_packer.h"
#include "tests/report/made_up_calls.h"

namespace gmt::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSlotsAtOnce = 8192;

// Of a file of the interposer's, by the limit: see interposer/log/thread_log.cpp.
std::uint64_t slots_of_file(std::uint64_t most_bytes) {
  for (const std::uint64_t bytes : {std::uint64_t{256} << 20, std::uint64_t{16} << 20})
    if (bytes <= most_bytes / 8) return bytes / trace::kSlotBytes;
  return (1 << 20) / trace::kSlotBytes;
}

void write_header(std::ofstream& out) {
  std::vector<char> page(trace::kLogHeaderBytes);
  trace::LogHeader header{};
  std::memcpy(header.magic, trace::kLogMagic, sizeof header.magic);
  header.major = trace::kFormatMajor;
  header.minor = trace::kFormatMinor;
  std::memcpy(page.data(), &header, sizeof header);
  out.write(page.data(), static_cast<std::streamsize>(page.size()));
}

void write_slots(std::ofstream& out, const std::vector<trace::Slot>& slots) {
  out.write(reinterpret_cast<const char*>(slots.data()),
            static_cast<std::streamsize>(slots.size() * sizeof(trace::Slot)));
}

trace::Slot exit_record() {
  trace::Slot slot{};
  slot.head = trace::pack({trace::Kind::kExit, 1, trace::kNoApi, 0, 0});
  trace::SlotWords words{slot};
  trace::ExitFields(words).way(trace::ExitWay::kExit);
  return slot;
}

double seconds_of_core() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int fold(std::uint64_t wanted, const fs::path& folder, const std::string& most_bytes) {
  const fs::path trace = folder / "gpumemtrace.days.box.4242";
  TraceWriter writer;
  MadeUpCalls program(writer);
  writer.complete.clear();
  writer.info.push_back("option.max_trace=" + most_bytes);
  writer.write(trace);
  TracePacker packer(folder, "test");
  const std::uint64_t most_slots = slots_of_file(std::strtoull(most_bytes.c_str(), nullptr, 10));
  std::vector<trace::Slot> slots;
  double generated = 0;
  const double began = seconds_of_core();
  bool has_mistakes = false;
  for (std::uint64_t file = 0; program.calls() < wanted; ++file) {
    const double before = seconds_of_core();
    std::ofstream out(trace / ("t4242-0." + std::to_string(file) + ".log"), std::ios::binary);
    write_header(out);
    program.begin_file(slots);
    if (file == 0) program.leak(slots);
    for (std::uint64_t in_file = 0; in_file < most_slots && program.calls() < wanted;) {
      while (slots.size() < kSlotsAtOnce) program.step(slots);
      if (!has_mistakes && program.calls() > wanted / 2) {
        program.free_again(slots);
        program.copy_too_much(slots);
        has_mistakes = true;
      }
      if (program.calls() >= wanted) slots.push_back(exit_record());
      write_slots(out, slots);
      in_file += slots.size();
      slots.clear();
    }
    out.close();
    generated += seconds_of_core() - before;
    while (packer.work().count() == 0) {
    }
  }
  std::ofstream(trace / "complete") << "how=exited\nstatus=0\nsignal=0\ncore=0\n";
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%llu calls; packing and folding: %.1f s of a core, %ld MiB\n",
              static_cast<unsigned long long>(program.calls()),
              seconds_of_core() - began - generated, usage.ru_maxrss >> 10);
  return 0;
}

} // namespace
} // namespace gmt::test

int main(int argc, char** argv) {
  if (argc == 4) return gmt::test::fold(std::strtoull(argv[1], nullptr, 10), argv[2], argv[3]);
  std::fputs("usage: report_fold_calls CALLS FOLDER MOST_BYTES\n", stderr);
  return 2;
}
