// SPDX-License-Identifier: Apache-2.0
// Launches whose arguments stand with an earlier launch of the log, sound and damaged.
#include <bit>
#include <vector>

#include "analyzer/trace_reader/event_stream.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint16_t kKeeps = trace::kLaunchKeepsArguments;
constexpr std::uint16_t kRepeats = trace::kLaunchRepeatsArguments;

class RepeatedArguments : public AnalysisTest {
protected:
  using Words = std::vector<std::uint64_t>;
  struct Launch {
    Words arguments; // without unused words
    bool scanned;
    friend bool operator==(const Launch&, const Launch&) = default;
  };

  void launch(std::uint16_t flags, unsigned number, const Words& arguments = {},
              std::size_t log_number = 0) {
    Words words = {0x10, 0, trace::pack_grid({7, 1, 1}),
                   trace::with_arguments_number(trace::pack_block_extents({256, 2, 1}), number)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    log(log_number).record(Kind::kLaunch, {.api = "cuLaunchKernel", .flags = flags}, words);
  }
  void keep(unsigned number, const Words& arguments, std::size_t log_number = 0) {
    launch(kKeeps | trace::kLaunchScanned, number, arguments, log_number);
  }
  void repeat(unsigned number, std::size_t log_number = 0) {
    launch(kRepeats, number, {}, log_number);
  }
  std::vector<Launch> launches() {
    trace.write(directory.path() / "trace");
    EventStream stream(open_trace(directory.path() / "trace").value());
    std::vector<Launch> found;
    while (const Event* e = stream.next()) {
      if (e->kind != EventKind::kLaunch) continue;
      EXPECT_EQ(e->launch().block, (trace::Index3{256, 2, 1}));
      EXPECT_EQ(stream.words()[trace::LaunchWord::block], trace::pack_block_extents({256, 2, 1}));
      Words words;
      for (const Argument argument : arguments_of(*e)) {
        if (!argument.is_unused()) words.push_back(std::bit_cast<std::uint64_t>(argument));
      }
      found.push_back({words, e->launch().is_scanned});
    }
    damaged = stream.stats().total.damaged;
    return found;
  }

  std::uint64_t damaged = 0;
};

TEST_F(RepeatedArguments, AreThoseKeptLastByTheNumber) {
  keep(1, {0xa0000});
  keep(1024, {0xb0000, 0xc0000, 1, 2, 3, 4, 5, 6, 7, 8});
  repeat(1);
  repeat(1024);
  keep(1, {0xd0000});
  repeat(1);
  launch(kKeeps, 1, {0xe0000}); // not scanned whole
  repeat(1);
  EXPECT_EQ(launches(), (std::vector<Launch>{{{0xa0000}, true},
                                             {{0xb0000, 0xc0000, 1, 2, 3, 4, 5, 6, 7, 8}, true},
                                             {{0xa0000}, true},
                                             {{0xb0000, 0xc0000, 1, 2, 3, 4, 5, 6, 7, 8}, true},
                                             {{0xd0000}, true},
                                             {{0xd0000}, true},
                                             {{0xe0000}, false},
                                             {{0xe0000}, false}}));
  EXPECT_EQ(damaged, 0u);
}

TEST_F(RepeatedArguments, AreFarBehindInTheLog) {
  std::vector<Launch> expected;
  for (std::uint64_t turn = 0; turn < 20; ++turn) { // several batches of the reader
    for (unsigned number = 1; number <= 100; ++number) {
      const std::uint64_t pointer = 0x10000 * number + turn / 5;
      if (turn % 5 == 0) {
        keep(number, {pointer});
      } else {
        repeat(number);
      }
      expected.push_back({{pointer}, true});
    }
  }
  EXPECT_EQ(launches(), expected);
}

TEST_F(RepeatedArguments, NumbersAreTheLogsOwn) {
  keep(1, {0xa0000}, 0);
  keep(1, {0xb0000}, 1);
  repeat(1, 0);
  repeat(1, 1);
  EXPECT_EQ(launches(),
            (std::vector<Launch>{
              {{0xa0000}, true}, {{0xb0000}, true}, {{0xa0000}, true}, {{0xb0000}, true}}));
}

TEST_F(RepeatedArguments, OfAnUnknownNumberAreNotKnown) {
  repeat(1);
  keep(1, {0xa0000});
  repeat(2);
  launch(kRepeats | trace::kLaunchScanned, 0);
  launch(kRepeats, trace::kMostKeptArguments + 1);
  repeat(1);
  EXPECT_EQ(
    launches(),
    (std::vector<Launch>{
      {{}, false}, {{0xa0000}, true}, {{}, false}, {{}, false}, {{}, false}, {{0xa0000}, true}}));
  EXPECT_EQ(damaged, 4u);
}

} // namespace
} // namespace gmt::test
