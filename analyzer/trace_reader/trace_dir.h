// SPDX-License-Identifier: Apache-2.0
// A trace directory opened: everything in it but the records (trace/FORMAT.md). Text files may be
// damaged or cut: lines that make no sense are skipped and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/expected.h"
#include "analyzer/model/core_dump.h"
#include "analyzer/model/process.h"
#include "analyzer/trace_reader/device_log.h"
#include "analyzer/trace_reader/object_files.h"

namespace gmt {

struct TraceInfo {
  std::uint32_t major = 0, minor = 0; // 0.0 if the file does not say
  std::string tool;                   // version that wrote the trace
  std::string run;                    // equal for all processes of one command
  std::uint32_t pid = 0, ppid = 0;
  std::uint32_t forked_from = 0; // the process that called CUDA before it forked this one; 0: none
  std::string host, executable, directory;
  std::vector<std::string> arguments; // argv, the program's name first
  std::string device;                 // "real" or "simulated"
  std::optional<std::uint32_t> rank;  // that a launcher gave it
  std::string driver_version;         // "13.0", empty if unknown
  std::uint64_t tsc = 0, monotonic_ns = 0, realtime_ns = 0;
  std::uint32_t stack_depth = 0;
  std::uint64_t heap_begin = 0, heap_end = 0;   // where the program's heap may lie
  std::uint64_t stack_begin = 0, stack_end = 0; // the main thread's
  // Whether the driver was asked for core dumps: "on", or why not (trace/FORMAT.md); empty: no
  std::string core_dump;
  std::string crash;  // of the host's own code, as trace/FORMAT.md has it; empty: none
  std::string python; // version of the interpreter, empty if there is none
  // "on", or why its frames are missing (trace/FORMAT.md)
  std::string python_frames;
  std::map<std::string, std::string> options;
};

// How the process ended, as the parent command wrote it, with the second pair of clocks.
struct Completion {
  Ending ending;
  bool core_dumped = false;
  std::uint64_t tsc = 0, monotonic_ns = 0;
};

struct TraceDir {
  std::filesystem::path path;
  TraceInfo info;
  std::vector<std::string> apis; // by api id
  std::vector<Module> modules;
  std::optional<Completion> completion;
  // Sorted by name; may be empty: a process that made no recorded call
  std::vector<std::filesystem::path> logs;
  std::vector<DeviceLogFiles> device_logs;        // sorted by name: what kernels wrote
  std::vector<std::filesystem::path> access_logs; // sorted by name: what instructions did to memory
  std::vector<CoreDump> core_dumps;               // of GPUs
  std::uint64_t damaged_lines = 0;
  std::vector<std::string> left_out; // what goes beyond a bound (docs/traces.md), in sentences

  // Whether an option of the interposer was set; options that are off are 0 or not written.
  bool asks_for(const std::string& option) const {
    const auto found = info.options.find(option);
    return found != info.options.end() && found->second != "0";
  }
};

// The file `info` alone, for lists of traces. What is missing or cannot be read has its default.
struct TraceHead {
  std::filesystem::path path; // of the trace
  TraceInfo info;
  std::uint64_t damaged_lines = 0;
  std::vector<CoreDump> core_dumps; // that lie beside the trace's own and could not be stored in it
  std::string problem; // why `info` could not be read; empty if it was, or is not there
};
TraceHead read_head(const std::filesystem::path& trace);

// An error (kUnreadableTrace) only where nothing could be read at all. `info` is not read again.
Expected<TraceDir> open_trace(TraceHead head);
Expected<TraceDir> open_trace(const std::filesystem::path& path);

// The name that the file of a log has or had before it was packed; empty if it is no log.
std::filesystem::path name_of_log(const std::filesystem::path& file);

// Code that the program gave the driver from memory, as files of the trace, sorted by name.
std::vector<std::filesystem::path> images_of(const std::filesystem::path& trace);

// True if the path holds what looks like one trace; no file is read.
bool is_trace(const std::filesystem::path& path);

} // namespace gmt
