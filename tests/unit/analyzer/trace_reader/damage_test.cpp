// SPDX-License-Identifier: Apache-2.0
// Damage at random, which must never crash or hang the analysis.

#include <algorithm>
#include <filesystem>
#include <random>

#include "analyzer/base/user_error.h"
#include "tests/support/test_share.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

namespace fs = std::filesystem;

class Damage : public AnalysisTest {};

// A trace with a bit of everything, damaged at random.
TEST_F(Damage, NeverCrashesOrHangs) {
  std::mt19937_64 random(11);
  for (std::uint64_t i = 0; i < 60; ++i) {
    LogWriter& l = log(i % 3);
    const std::uint64_t at = kA + i % 7 * kMiB;
    l.context(1, 0xc1, 0, true);
    l.alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {i % 5, 2, 3, 4, 5}},
            static_cast<MemoryKind>(i % 19), at, 4096, 0, {512, 400, 8, 1, 4, 0, 0});
    l.copy({.api = "cuMemcpyHtoD_v2"}, at, kHost, 4000 + i * 10);
    l.record(Kind::kCopy, {.api = "cuMemcpy2D_v2"}, std::vector<std::uint64_t>(17, i));
    l.release({.api = "cuMemFree_v2", .result = static_cast<std::uint16_t>(i % 3)},
              static_cast<FreeFunction>(i % 13), at);
    l.life({.api = "cuCtxDestroy_v2"}, i % 4 == 0 ? 0xc1 : 0,
           static_cast<trace::ObjectClass>(1 + i % 3), trace::LifeOp::kDestroy);
    l.record(Kind::kName, {}, {i, 8, 0x6161616161616161});
  }
  trace.modules = {"+\t1\t400000\t500000\t400000\tab\t/bin/app", "-\t2\t400000"};
  run();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory.path() / "trace"))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> contents;
  for (const fs::path& file : files) contents.push_back(read_file(file));
  for (std::size_t round = 0; round < 1'500 / test::one_in(5); ++round) {
    const std::size_t which = random() % files.size();
    std::string damaged = contents[which];
    for (std::uint64_t n = 1 + random() % 20; n > 0 && !damaged.empty(); --n) {
      const std::size_t at = random() % damaged.size();
      if (random() % 2 == 0) damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
      else damaged[at] = static_cast<char>(random());
    }
    if (random() % 4 == 0) damaged.resize(random() % (damaged.size() + 1));
    write_file(files[which], damaged);
    try {
      const Analysis analysis = analyze(directory.path() / "trace");
      EXPECT_LE(analysis.process.totals.events, 1'000u);
    } catch (const UserError&) {
      // `info` no longer names the format
    }
    if (round % 8 == 7) { // let damage add up over a few rounds
      for (std::size_t i = 0; i < files.size(); ++i) write_file(files[i], contents[i]);
    }
  }
}

} // namespace
} // namespace gmt::test
