// SPDX-License-Identifier: Apache-2.0
// Where the code of measured functions is found: in images and fat binaries, for the right
// architecture, and in the trace itself afterwards. What does not fit for certain must not be
// found.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "analyzer/device_code/kernel_code_search.h"
#include "analyzer/device_code/trace_code.h"
#include "analyzer/report/report_builder.h"
#include "analyzer/symbols/elf_file.h"
#include "tests/unit/analyzer/support/access_log_writer.h"
#include "tests/unit/ptx/support/fatbin_writer.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

std::string cubin(const char* kind, unsigned architecture) {
  return test::read_file(fs::path(GMT_CUBINS) / ("kernels." + std::string(kind) + ".sm_" +
                                                 std::to_string(architecture) + ".cubin"));
}

// Offsets of "inlined" in the cubin for that architecture.
std::vector<std::uint32_t> offsets_of(unsigned architecture) {
  const std::string image = cubin("lines", architecture);
  std::vector<std::uint32_t> offsets;
  const FunctionCode code = Cubin::open(image)->function("inlined").value();
  for (const Instruction& i : code.instructions) offsets.push_back(i.offset);
  return offsets;
}

FunctionCode find_in_image(const std::string& image, unsigned device,
                           std::vector<std::uint32_t> offsets) {
  const test::TemporaryDirectory folder;
  test::write_file(folder.path() / "image-0", image);
  const WantedFunction wanted{"inlined", std::move(offsets)};
  const unsigned devices[] = {device};
  KernelCodeSearch search({&wanted, 1}, devices, Deadline::max());
  search.look_in_image(folder.path() / "image-0");
  return search.take().at(0);
}

Module module_of(const fs::path& path) {
  Module module;
  module.path = path.string();
  module.build_id = ElfFile::open(path)->build_id();
  return module;
}

FunctionCode find_in_target(const Module& module, unsigned device) {
  const WantedFunction wanted{"inlined", offsets_of(device)};
  const unsigned devices[] = {device};
  KernelCodeSearch search({&wanted, 1}, devices, Deadline::max());
  search.look_in_module(module);
  return search.take().at(0);
}

std::uint32_t line_of(const FunctionCode& code, std::size_t number) {
  return code.instructions.at(number).lines.at(0).line;
}

TEST(KernelCode, IsFoundInImages) {
  const FunctionCode code = find_in_image(cubin("lines", 90), 90, offsets_of(90));
  EXPECT_TRUE(code.has_lines);
  ASSERT_EQ(code.instructions.size(), 3u);
  EXPECT_EQ(line_of(code, 2), 19u);
  EXPECT_TRUE(code.module.ends_with("image-0"));
  EXPECT_TRUE(find_in_image(".version 9.0\n.visible .entry inlined(", 90, {}).name.empty()); // PTX
  EXPECT_TRUE(find_in_image("", 90, {}).name.empty());
}

TEST(KernelCode, IsOfTheArchitectureThatTheDriverChooses) {
  using test::container, test::entry, test::kCubin, test::kPtx;
  const std::string both =
    container(entry(kCubin, cubin("lines", 75), true, 75) +
              entry(kCubin, cubin("lines", 80), true, 80) + entry(kPtx, "x", false, 90));
  EXPECT_EQ(line_of(find_in_image(both, 75, offsets_of(75)), 2), 19u);
  EXPECT_EQ(line_of(find_in_image(both, 80, offsets_of(80)), 2), 19u);
  EXPECT_EQ(line_of(find_in_image(both, 86, offsets_of(80)), 2), 19u); // runs what is for sm_80
  EXPECT_TRUE(find_in_image(both, 90, offsets_of(80)).name.empty());   // compiles the PTX
  EXPECT_TRUE(find_in_image(both, 75, offsets_of(80)).name.empty());
}

TEST(KernelCode, NeedsEveryOffset) {
  std::vector<std::uint32_t> offsets = offsets_of(90);
  offsets.push_back(offsets.back() + 16);
  EXPECT_TRUE(find_in_image(cubin("lines", 90), 90, offsets).name.empty());
}

TEST(KernelCode, SeveralThatFit) {
  using test::container, test::entry, test::kCubin;
  const std::string plain = entry(kCubin, cubin("plain", 90)),
                    lines = entry(kCubin, cubin("lines", 90));
  for (const std::string& image :
       {container(plain) + container(lines), container(lines) + container(plain)})
    EXPECT_EQ(line_of(find_in_image(image, 90, offsets_of(90)), 2), 19u); // those with lines

  // The same source at another path: its lines are uncertain, the instructions are not.
  std::string other = cubin("lines", 90);
  const std::size_t name = other.find("kernels.cu");
  ASSERT_NE(name, std::string::npos);
  for (std::size_t at = name; at != std::string::npos; at = other.find("kernels.cu", at))
    other[at] = 'K';
  const FunctionCode code =
    find_in_image(container(lines) + container(entry(kCubin, other)), 90, offsets_of(90));
  ASSERT_EQ(code.instructions.size(), 3u);
  for (const Instruction& i : code.instructions) EXPECT_TRUE(i.lines.empty());
}

TEST(KernelCode, IsFoundInLibraries) {
  Module module = module_of(GMT_CODE_TARGET);
  EXPECT_EQ(line_of(find_in_target(module, 90), 2), 19u);
  EXPECT_EQ(line_of(find_in_target(module, 75), 2), 19u);
  module.build_id = "00";
  EXPECT_TRUE(find_in_target(module, 90).name.empty()); // another build
}

// A trace of an sm_90 device with one measured function of the library.
void write_trace(const fs::path& folder) {
  const Module module = module_of(GMT_CODE_TARGET);
  test::TraceWriter trace;
  trace.modules = {"+\t1\t400000\t500000\t400000\t" + module.build_id + "\t" + module.path};
  trace.info = {"option.coalescing=1"};
  trace.log(0).record({}, test::Made<trace::DeviceFields>().compute_capability(90));
  trace.write(folder);
  test::AccessLogWriter log;
  log.windows({});
  log.function("inlined");
  const test::Measured strided{
    .executions = 1000, .threads = 32000, .sectors = 32000, .ideal = 4000, .bytes = 128000};
  for (const std::uint32_t offset : offsets_of(90)) log.instruction(offset, strided);
  log.instruction(0, {.executions = 9}); // accessed nothing
  log.write(folder);
}

TEST(TraceCode, IsSearchedOnceAndKept) {
  const unsigned devices[] = {90};
  const std::vector<std::uint32_t> offsets = offsets_of(90);
  const test::TemporaryDirectory folder;
  write_trace(folder.path());
  const TraceDir trace = open_trace(folder.path()).value();
  TraceCode first(trace, true);
  const FunctionCode* code = first.find("inlined", offsets, devices);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(line_of(*code, 0), 5u);
  EXPECT_TRUE(first.remarks().empty());
  EXPECT_EQ(first.find("tile", {}, devices), nullptr); // was not measured

  fs::remove(folder.path() / "modules"); // another machine
  const TraceDir later_trace = open_trace(folder.path()).value();
  TraceCode later(later_trace, true);
  const FunctionCode* kept = later.find("inlined", offsets, devices);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->instructions, code->instructions);
  EXPECT_EQ(kept->module, GMT_CODE_TARGET);
}

TEST(TraceCode, IsAskedAndKeptByTheReport) {
  const test::TemporaryDirectory folder;
  write_trace(folder.path());
  ReportOptions options;
  options.analysis.coalescing_floor = 0;
  options.write_symbols = true;
  const auto lines = [&] {
    std::string text;
    for (const ReportedFinding& finding :
         build_report({open_trace(folder.path()).value()}, options).findings)
      text += finding.kind + ":" + std::to_string(finding.access ? finding.access->line : 0) + "\n";
    return text;
  };
  const std::string report = lines();
  EXPECT_NE(report.find("uncoalesced:5"), std::string::npos) << report;
  EXPECT_TRUE(fs::exists(folder.path() / "code"));
  fs::remove(folder.path() / "modules");
  EXPECT_EQ(lines(), report);
}

TEST(TraceCode, WritesOnlyIfWanted) {
  const unsigned devices[] = {90};
  const test::TemporaryDirectory folder;
  write_trace(folder.path());
  const TraceDir trace = open_trace(folder.path()).value();
  TraceCode code(trace, false);
  EXPECT_NE(code.find("inlined", offsets_of(90), devices), nullptr);
  EXPECT_FALSE(fs::exists(folder.path() / "code"));
}

TEST(TraceCode, DamageIsOneNoteAndSearchedAgain) {
  const unsigned devices[] = {90};
  const test::TemporaryDirectory folder;
  write_trace(folder.path());
  test::write_file(folder.path() / "code", "access\tx\naccess\ty\n");
  const TraceDir trace = open_trace(folder.path()).value();
  TraceCode code(trace, false);
  EXPECT_NE(code.find("inlined", offsets_of(90), devices), nullptr);
  EXPECT_EQ(code.not_checked().size(), 1u);
}

} // namespace
} // namespace gmt
