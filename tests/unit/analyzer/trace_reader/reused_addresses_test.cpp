// SPDX-License-Identifier: Apache-2.0
// Object files that had the same addresses in turn: each has its own in call stacks.
#include "analyzer/base/text_format.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/object_files.h"
#include "analyzer/trace_reader/reused_addresses.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Reused : public AnalysisTest {
protected:
  // The file in which each event's innermost frame lies
  std::string files() {
    std::filesystem::create_directories(directory.path() / "trace");
    trace.write(directory.path() / "trace");
    EventStream stream(open_trace(directory.path() / "trace").value());
    std::string text;
    while (const Event* e = stream.next()) {
      const auto frames = stream.stacks().frames(e->stack);
      if (frames.empty()) continue;
      const Module* module = find_module(stream.trace().modules, frames[0]);
      text += (module == nullptr ? "?" : module->path) + " ";
    }
    return text;
  }
};

// A module is noted behind the last call of the one that had its addresses before.
TEST_F(Reused, AStackIsOfTheFileThatWasThereThen) {
  const auto loaded = [this](std::string_view path) {
    trace.modules.push_back("+\t" + std::to_string(trace.next_order() - 1) +
                            "\t1000\t2000\t1000\t-\t" + std::string(path));
  };
  const auto unloaded = [this] {
    trace.modules.push_back("-\t" + std::to_string(trace.next_order() - 1) + "\t1000");
  };
  loaded("/one.so");
  cuda_malloc(kA, kMiB, 0x1500);
  unloaded();
  loaded("/two.so");
  cuda_malloc(kB, kMiB, 0x1500);
  unloaded();
  loaded("/one.so");
  cuda_free(kA, 0, 0x1500);
  log().record(Kind::kNote, {.api = "cuInit", .result = trace::kResultInFlight, .stack = {0x1500}},
               {0, 0, 0, 0});
  EXPECT_EQ(files(), "/one.so /two.so /one.so /one.so ");
}

TEST(ReusedAddresses, OnlyAFileThatAnotherOneFollowsIsMoved) {
  std::vector<Module> modules = {{0x1000, 0x2000, 0x1000, "", "/a.so", 1, 10},
                                 {0x1800, 0x2800, 0x1800, "", "/b.so", 20},
                                 {0x4000, 0x5000, 0x4000, "", "/c.so", 1, 10},
                                 {0x4000, 0x5000, 0x4000, "", "/c.so", 12}};
  move_reused(modules);
  EXPECT_EQ(machine_address(modules[0].start), 0x1000u);
  EXPECT_NE(modules[0].start, 0x1000u);
  EXPECT_EQ(modules[0].start - modules[0].bias, 0u);
  EXPECT_EQ(modules[1].start, 0x1800u);
  EXPECT_EQ(modules[2].start, 0x4000u);
  const ReusedAddresses reused(modules);
  EXPECT_EQ(reused.own_address(0x1900, 5), modules[0].start + 0x900);
  EXPECT_EQ(reused.own_address(0x1900, 21), 0x1900u);
  EXPECT_EQ(reused.own_address(0x4500, 5), 0x4500u);
}

} // namespace
} // namespace gmt::test
