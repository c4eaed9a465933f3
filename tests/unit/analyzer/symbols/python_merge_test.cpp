// SPDX-License-Identifier: Apache-2.0
// Where Python frames stand among native ones, python_merge.h.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/symbols/python_merge.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kEntry = PythonFrames::entry(0);
constexpr const char* kInterpreter = "/usr/lib/libpython3.12.so.1.0";

class PythonMerge : public testing::Test {
protected:
  std::uint64_t python(const char* function, std::uint32_t line = 1) {
    return frames_.intern({function, "train.py"}, line);
  }
  static Frame native(std::string function, std::string module = "libuser.so") {
    Frame frame;
    frame.function = std::move(function);
    frame.module = std::move(module);
    return frame;
  }
  static Frame evaluator() { return native("_PyEval_EvalFrameDefault", kInterpreter); }
  std::vector<std::string> merged(std::vector<Frame> natives,
                                  const std::vector<std::uint64_t>& python,
                                  bool keep_interpreter = false) {
    std::vector<std::string> names;
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < natives.size(); ++i) {
      if (i == 0 || !natives[i - 1].inlined) begins.push_back(i);
    }
    for (const Frame& frame :
         merge_python({std::move(natives), begins}, python, frames_, keep_interpreter)) {
      names.push_back((frame.language.empty() ? "" : "py ") + frame.function);
    }
    return names;
  }
  using Names = std::vector<std::string>;

  PythonFrames frames_;
};

TEST_F(PythonMerge, EachRunBelongsToOneEvaluator) {
  const std::vector<Frame> natives = {native("alloc"), native("cfunction_call", kInterpreter),
                                      evaluator(),     native("qsort", "libc.so.6"),
                                      evaluator(),     native("main", "/usr/bin/python3.12")};
  const std::vector<std::uint64_t> run = {python("compare"), kEntry, python("sort"), python("run"),
                                          kEntry};
  EXPECT_EQ(merged(natives, run), (Names{"alloc", "py compare", "qsort", "py sort", "py run"}));
  EXPECT_EQ(merged(natives, run, true),
            (Names{"alloc", "cfunction_call", "py compare", "_PyEval_EvalFrameDefault", "qsort",
                   "py sort", "py run", "_PyEval_EvalFrameDefault", "main"}));
}

// The function has returned, and what it held is freed.
TEST_F(PythonMerge, EvaluatorMayHaveNoFrame) {
  EXPECT_EQ(merged({native("free"), evaluator(), native("call"), evaluator()},
                   {kEntry, python("run"), kEntry}),
            (Names{"free", "call", "py run"}));
}

TEST_F(PythonMerge, EitherMayBeCutOff) {
  EXPECT_EQ(merged({native("alloc"), evaluator(), native("call")},
                   {python("inner"), kEntry, python("outer"), kEntry}),
            (Names{"alloc", "py inner", "py outer", "call"}));
  EXPECT_EQ(merged({native("alloc"), evaluator(), native("call"), evaluator(), native("outermost")},
                   {python("inner"), python("cut")}),
            (Names{"alloc", "py inner", "py cut", "call", "outermost"}));
}

TEST_F(PythonMerge, UnknownFunctionsAreRecognisedByTheirModule) {
  EXPECT_EQ(merged({native("alloc"), native("", kInterpreter), native("", kInterpreter)},
                   {python("inner"), kEntry, python("outer"), kEntry}),
            (Names{"alloc", "py inner", "py outer"}));
  EXPECT_EQ(merged({}, {python("alone"), kEntry}), (Names{"py alone"}));
}

// As in stripped interpreters, whose evaluators have no name.
TEST_F(PythonMerge, TheRecordNamesTheEvaluator) {
  Frame inlined = native("inlined");
  inlined.inlined = true;
  const std::vector<Frame> natives = {inlined,
                                      native("alloc"),
                                      native("", kInterpreter),
                                      native("", kInterpreter),
                                      native("qsort", "libc.so.6"),
                                      native("", kInterpreter)};
  const std::vector<std::uint64_t> run = {python("compare"), PythonFrames::entry(3), python("sort"),
                                          PythonFrames::entry(5)};
  EXPECT_EQ(merged(natives, run), (Names{"inlined", "alloc", "py compare", "qsort", "py sort"}));
  EXPECT_EQ(merged(natives, {python("compare"), PythonFrames::entry(3), python("sort"),
                             PythonFrames::entry(77)}),
            (Names{"inlined", "alloc", "py compare", "py sort", "qsort"}));
}

TEST_F(PythonMerge, WithoutPythonTheStackStays) {
  EXPECT_EQ(merged({native("alloc"), evaluator()}, {}),
            (Names{"alloc", "_PyEval_EvalFrameDefault"}));
}

TEST_F(PythonMerge, InlinedFunctionIsNoEvaluator) {
  Frame inlined = evaluator();
  inlined.inlined = true;
  EXPECT_EQ(merged({inlined, evaluator(), native("call"), evaluator()},
                   {python("inner"), kEntry, python("outer"), kEntry}),
            (Names{"py inner", "call", "py outer"}));
}

TEST_F(PythonMerge, FramesHaveTheirLines) {
  const std::vector<std::uint64_t> run = {python("step", 42), kEntry};
  const std::vector<Frame> merged = merge_python({}, run, frames_, false);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].file, "train.py");
  EXPECT_EQ(merged[0].line, 42u);
  EXPECT_EQ(merged[0].language, "python");
}

TEST_F(PythonMerge, EqualFramesAreOne) {
  EXPECT_EQ(python("step", 42), python("step", 42));
  EXPECT_NE(python("step", 42), python("step", 43));
  EXPECT_TRUE(PythonFrames::is_python(python("step")));
  EXPECT_FALSE(PythonFrames::is_python(0x7fff'ffff'ffff));
  EXPECT_FALSE(PythonFrames::is_python(0xffff'ffff'ff60'0000));
  EXPECT_EQ(frames_.find(python("step") + 77).code, nullptr);
  EXPECT_EQ(frames_.find(kEntry).code, nullptr);
}

} // namespace
} // namespace gmt::test
