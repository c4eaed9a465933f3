// SPDX-License-Identifier: Apache-2.0
// From fuzz inputs to analyses, see fuzz_trace.h. A log's header is put right if the input's is too
// short, so that the fuzzer spends its time on records.

#include "fuzz_trace.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/user_error.h"
#include "analyzer/device_code/code_cache.h"
#include "analyzer/device_code/cubin.h"
#include "tests/unit/analyzer/support/access_log_writer.h"
#include "tests/unit/analyzer/support/device_log_writer.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {
namespace fs = std::filesystem;
namespace {

constexpr const char* kNames[] = {"info",         "apis",     "modules",      "complete",
                                  "t1-0.log",     "t2-0.log", "device-0.log", "device-0.ring",
                                  "access-0.log", "code",     "image-0"};

// The next part of the input up to a newline.
std::string_view take_line(std::string_view& input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view line = input.substr(0, end);
  input.remove_prefix(std::min(end + 1, input.size()));
  return line;
}

void unpack(std::string_view input, const fs::path& directory) {
  for (int files = 0; !input.empty() && files < 16; ++files) {
    const std::string_view name = take_line(input);
    const std::string_view length = take_line(input);
    std::size_t bytes = input.size();
    std::from_chars(length.data(), length.data() + length.size(), bytes);
    bytes = std::min(bytes, input.size());
    const auto known = std::ranges::find(kNames, name);
    const fs::path path =
      directory / (known == std::end(kNames) ? kNames[name.size() % std::size(kNames)] : *known);
    write_file(path, std::string(input.substr(0, bytes)));
    input.remove_prefix(bytes);
  }
}

// What the report builder reads for a trace of --coalescing.
void read_code(const fs::path& directory) {
  (void)CodeFile::read(directory).find("inlined", {});
  const std::string image = read_file(directory / "image-0");
  const std::optional<Cubin> cubin = Cubin::open(image);
  if (!cubin) return;
  for (const std::string_view name : cubin->functions()) (void)cubin->function(name);
}

// Whatever the damage: no peak is lost between the columns.
void expect_same_peak(const ProcessReport& process) {
  std::uint64_t high = 0;
  for (const MemoryHistory::Column& column : process.history->columns)
    high = std::max(high, column.high);
  if (high != process.totals.peak_bytes) std::abort();
}

} // namespace

void analyze_input(const std::uint8_t* data, std::size_t size) {
  static const TemporaryDirectory directory; // one for all inputs of a process
  for (const char* name : kNames) fs::remove(directory.path() / name);
  unpack({reinterpret_cast<const char*>(data), size}, directory.path());
  read_code(directory.path());
  try {
    AnalysisOptions options;
    options.history.columns = 16;
    const Analysis analysis = analyze(directory.path(), options);
    expect_same_peak(analysis.process);
    for (const Finding& finding : analysis.findings) {
      for (const FindingStack& stack : finding.stacks) (void)analysis.stacks.frames(stack.stack);
    }
  } catch (const UserError&) {
    // the right answer to a trace that names no format
  }
}

std::string pack_trace(const std::string& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::string input;
  for (const fs::path& file : files) {
    const std::string content = read_file(file);
    input += file.filename().string() + "\n" + std::to_string(content.size()) + "\n" + content;
  }
  return input;
}

namespace {

void write_device_logs(const fs::path& directory) {
  DeviceLogWriter device;
  device.site(1, "step", "/src/step.cu", 12);
  for (std::uint64_t i = 1; i < 6; ++i) {
    device.grid(i, 1, 1);
    device.device_malloc({.grid = i, .op = trace::DeviceOp::kAlignedMalloc, .alignment = 16 * i},
                         4096 * i, 64);
    device.device_free({.grid = i}, 4096 * i + i % 2);
    device.device_malloc({.grid = i}, 0, 64);
    device.drained();
  }
  device.write(directory);
  device.write_ring(directory, 1, 4);
}

} // namespace

std::string seed_input() {
  using trace::FreeFunction;
  using trace::Kind;
  using trace::MemoryKind;
  TraceWriter trace;
  trace.info = {"arg.0=./app", "argc=1", "driver=13000"};
  trace.modules = {"+\t1\t400000\t500000\t400000\tab\t/bin/app", "-\t2\t400000"};
  trace.zero_slots = 2;
  for (std::uint64_t i = 0; i < 12; ++i) {
    LogWriter& log = trace.log(i % 2);
    const std::uint64_t at = 0x7f0000000000 + i % 3 * 4096;
    const unsigned odd = i % 2 != 0 ? 1 : 0;
    log.context(1, 0xc1, 0, true);
    log.alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {i % 5, 2, 3, 4, 5}},
              static_cast<MemoryKind>(1 + i), at, 4096, 0, {512, 400, 8, 1, 4, 0, 0});
    log.copy({.api = "cuMemcpyHtoD_v2", .via = "cudaMemcpy"}, at, 0x560000000000, 4090 + i);
    log.record(Kind::kCopy, {.api = "cuMemcpy2D_v2"}, std::vector<std::uint64_t>(17, i));
    log.record(Kind::kLaunch, {.api = "cuLaunchKernel"}, {0xf, 0, 1, 1, at, at + 8, 0, 0, 0, 0});
    log.record(
      Kind::kLaunch,
      {.api = "cuLaunchKernel", .flags = trace::kLaunchKeepsArguments | trace::kLaunchScanned},
      {0xf, 0, 1, trace::with_arguments_number(1, odd + 1), at, at + 8});
    log.record(Kind::kLaunch, {.api = "cuLaunchKernel", .flags = trace::kLaunchRepeatsArguments},
               {0xf, 0, 1, trace::with_arguments_number(1, i % 3 == 0 ? 3 : odd + 1)});
    log.release({.api = "cuMemFree_v2", .result = static_cast<std::uint16_t>(i % 2)},
                static_cast<FreeFunction>(1 + i), at);
    log.record(Kind::kName, {}, {i, 8, 0x6161616161616161});
  }
  trace.log(0).life({.api = "cuDevicePrimaryCtxReset"}, 0, trace::ObjectClass::kPrimaryContext,
                    trace::LifeOp::kReset);
  trace.log(0).torn();
  trace.log(0).exit(trace::ExitWay::kExit, 0);
  const TemporaryDirectory directory;
  trace.write(directory.path());
  write_device_logs(directory.path());
  AccessLogWriter access;
  access.windows({.opened = 3, .read = 2, .given_up = 1, .launches = 9, .launches_read = 5});
  for (std::uint64_t i = 1; i < 4; ++i) {
    access.function("_Z4stepPf", 10 * i, i);
    access.instruction(
      16, {.executions = i << 20, .threads = i << 25, .sectors = i << 25, .ideal = i << 22});
    access.instruction(32, {.executions = i << 20,
                            .threads = i << 25,
                            .wavefronts = i << 25,
                            .ideal_wavefronts = i << 20});
    access.instruction(48, {.executions = i << 20, .threads = i << 25, .local_sectors = i << 22});
  }
  access.write(directory.path());
  const std::string image = read_file(GMT_FUZZ_CUBIN);
  write_file(directory.path() / "image-0", image);
  CodeFile code;
  code.add(Cubin::open(image)->function("inlined").value());
  (void)code.write(directory.path());
  fs::rename(directory.path() / "t1000-0.log", directory.path() / "t1-0.log");
  fs::rename(directory.path() / "t1001-0.log", directory.path() / "t2-0.log");
  return pack_trace(directory.path().string());
}

} // namespace gmt::test
