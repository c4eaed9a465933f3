// SPDX-License-Identifier: Apache-2.0
// Stacks with Python frames as logs hold them, sound and damaged.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class PythonStacks : public AnalysisTest {
protected:
  void code(std::uint64_t id, const std::string& function, const std::string& file) {
    log().record({},
                 Made<trace::PythonCodeFields>()
                   .id(id)
                   .first_line(1)
                   .function_length(function.size())
                   .file_length(file.size()),
                 string_words(function + file));
  }
  void stack(std::uint64_t id, std::uint64_t native, const std::vector<std::uint64_t>& frames) {
    log().record({},
                 Made<trace::PythonStackFields>().id(id).native(native).frame_count(frames.size()),
                 frames);
  }
  static std::uint64_t frame(std::uint32_t line, std::uint32_t code) {
    return trace::pack_halves({line, code});
  }
  static std::uint64_t entry(std::uint32_t evaluator = 0) {
    return frame(evaluator, trace::kPythonEntry);
  }
  void leak(std::uint32_t stack, std::uint64_t address = kA) {
    trace::Slot slot{};
    slot.head = trace::pack({Kind::kAlloc, 1, trace.api("cuMemAlloc_v2"), 0, 0});
    slot.order = trace.next_order();
    slot.via = trace::kNoApi;
    slot.stack = stack;
    slot.a[0] = address;
    slot.a[1] = 64;
    slot.a[2] = 1;
    log().slot(slot);
  }
  std::vector<std::string> leaked_at() {
    std::vector<std::string> names;
    for (const std::uint64_t address : result.stacks.frames(result.findings[0].stacks[0].stack)) {
      if (!PythonFrames::is_python(address)) {
        names.push_back(std::to_string(address));
        continue;
      }
      const PythonFrames::Frame frame = result.stacks.python().find(address);
      names.push_back(frame.code == nullptr
                        ? "|" + std::to_string(PythonFrames::evaluator_of(address))
                        : frame.code->function + "@" + frame.code->file + ":" +
                            std::to_string(frame.line));
    }
    return names;
  }
  using Names = std::vector<std::string>;
};

TEST_F(PythonStacks, FramesStandBehindTheNativeOnes) {
  const std::uint32_t native = log().stack_id({0x11, 0x22});
  code(1, "Model.step", "train.py");
  code(2, "<module>", "/home/train.py");
  code(3, "made", "<string>");
  stack(100, native, {frame(2, 3), frame(17, 1), frame(0, 2), entry(2)});
  leak(100);
  run();
  ASSERT_EQ(kinds(), "leak");
  // The program was started in the folder "/".
  EXPECT_EQ(leaked_at(), (Names{"17", "34", "made@<string>:2", "Model.step@/train.py:17",
                                "<module>@/home/train.py:0", "|2"}));
  EXPECT_EQ(result.process.damaged, 0u);
  EXPECT_TRUE(result.not_checked.empty());
}

// Python runs a line by other functions of its own when it has seen it often. What is shown is the
// same, and so is one finding; a frame of the program's own makes it another.
TEST_F(PythonStacks, FramesOfTheInterpreterMakeNoOtherStack) {
  trace.modules = {"+\t1\t1000\t2000\t0\t-\t/usr/lib/libpython3.13.so.1.0",
                   "+\t1\t2000\t3000\t0\t-\t/usr/lib/libc.so.6"};
  code(1, "Model.step", "train.py");
  const auto leak_by = [this](std::uint64_t id, const std::vector<std::uint64_t>& native,
                              const std::vector<std::uint64_t>& python) {
    stack(id, log().stack_id(native), python);
    leak(static_cast<std::uint32_t>(id), kA + id * 4096);
  };
  leak_by(100, {0x9011, 0x1022}, {frame(17, 1), frame(20, 1), entry(2)});
  leak_by(101, {0x9011, 0x1033, 0x1044, 0x1022}, {frame(17, 1), entry(3), frame(20, 1), entry(4)});
  leak_by(104, {0x9011, 0x1022, 0x1023, 0x2011, 0x2022}, // not cut off
          {frame(17, 1), frame(20, 1), entry(2)});
  leak_by(102, {0x9012, 0x1022}, {frame(17, 1), frame(20, 1), entry(2)});
  leak_by(103, {0x9011, 0x1033, 0x9044, 0x1022}, {frame(17, 1), entry(2), frame(20, 1), entry(4)});
  run();
  ASSERT_EQ(kinds(), "leak leak leak");
  EXPECT_EQ(result.findings[0].count, 3u);
}

TEST_F(PythonStacks, UnknownPartsAreLeftOut) {
  stack(100, 77, {frame(17, 5), entry()});
  leak(100);
  run();
  EXPECT_EQ(leaked_at(), (Names{"@:17", "|0"}));
  EXPECT_EQ(result.process.damaged, 0u);
}

TEST_F(PythonStacks, DamagedRecords) {
  code(0, "f", "a.py");
  stack(0, 0, {entry()});
  log().record({}, Made<trace::PythonStackFields>().id(1).frame_count(50), {0});
  log().record({}, Made<trace::PythonStackFields>().id(1).frame_count(5000), {0});
  log().record({}, Made<trace::PythonStackFields>().id(1).native(1ull << 40).frame_count(1), {0});
  log().record({}, Made<trace::PythonCodeFields>().id(1).function_length(~0ull).file_length(9),
               {0});
  log().record({}, Made<trace::PythonCodeFields>().id(1).function_length(4).file_length(~0ull),
               {0});
  leak(1);
  run();
  EXPECT_EQ(result.process.damaged, 7u);
  ASSERT_EQ(kinds(), "leak");
  EXPECT_FALSE(result.findings[0].stacks[0].stack);
}

TEST_F(PythonStacks, TheReportSaysWhyTheyAreMissing) {
  trace.info = {"python=3.16.0", "python_frames=on", "python_frames=unknown-version"};
  run();
  EXPECT_TRUE(is_not_checked("Python lines in call stacks", "Python 3.16.0 is none of the"));
}

} // namespace
} // namespace gmt::test
