// SPDX-License-Identifier: Apache-2.0
// Stacks of a real library (tail_calls_target.cpp) in which frames are missing, because a
// function ended in a call to another one. What is no tail call for certain is not called one.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/report/output_format.h"
#include "analyzer/report/report_builder.h"
#include "analyzer/report/suppressions.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/elf_file.h"
#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {
namespace fs = std::filesystem;

constexpr int kWays = 14;

std::vector<std::uint64_t> recorded[kWays]; // whole stacks, innermost first

[[gnu::noinline]] void remember(int way) {
  void* frames[32];
  const int count = ::backtrace(frames, 32);
  for (int i = 0; i < count; ++i)
    recorded[way].push_back(reinterpret_cast<std::uint64_t>(frames[i]));
}

class TailCalls : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gmt-tail-calls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    library_ = (folder_ / "libtarget.so").string();
    fs::copy_file(GetParam(), library_);
    handle_ = ::dlopen(library_.c_str(), RTLD_NOW);
    ASSERT_NE(handle_, nullptr) << ::dlerror();
    link_map* map = nullptr;
    ASSERT_EQ(::dlinfo(handle_, RTLD_DI_LINKMAP, &map), 0);
    module_ = {map->l_addr, map->l_addr + fs::file_size(library_),
               map->l_addr, ElfFile::open(library_)->build_id(),
               library_,    3};
    for (std::vector<std::uint64_t>& stack : recorded) stack.clear();
    reinterpret_cast<void (*)(void (*)(int))>(::dlsym(handle_, "gmt_tail_calls_target"))(&remember);
    // A recording begins with the call that was hooked: here with the library's first frame.
    for (std::vector<std::uint64_t>& stack : recorded) {
      std::erase_if(stack,
                    [this](std::uint64_t a) { return a <= module_.start || a >= module_.end; });
      ASSERT_FALSE(stack.empty());
    }
  }
  void TearDown() override {
    ::dlclose(handle_);
    fs::remove_all(folder_);
  }

  Report build(const std::vector<std::uint64_t>& stack, const ReportOptions& options = {}) {
    std::vector<Analysis> analyses(1);
    analyses[0].process = test::process();
    analyses[0].modules = {module_};
    Finding finding;
    finding.kind = "leak";
    finding.stacks.emplace_back().api = "cuMemAlloc";
    finding.stacks[0].role = StackRole::kAllocated;
    finding.stacks[0].stack = analyses[0].stacks.intern(stack);
    analyses[0].findings = {finding};
    return assemble_report(std::move(analyses), {folder_}, options);
  }
  static std::string words(const Report& report) {
    std::string text;
    for (const Frame& frame : report.findings.at(0).stacks[0].frames) {
      text += text.empty() ? "" : " < ";
      text += frame.tail_call ? "tail call" : std::string(unscoped_function(frame.function));
    }
    return text;
  }
  std::string stack_of(int way) { return words(build(recorded[way])); }

  fs::path folder_;
  std::string library_;
  void* handle_ = nullptr;
  Module module_;
};

TEST_P(TailCalls, StandForTheMissingFrame) {
  EXPECT_EQ(stack_of(0), "record < tail call < gmt_tail_calls_target");
  EXPECT_EQ(stack_of(1), "record < tail call < gmt_tail_calls_target"); // two in turn
  EXPECT_EQ(stack_of(4), "record < tail call < gmt_tail_calls_target");
  EXPECT_EQ(stack_of(11), "record < tail call < inlined < gmt_tail_calls_target");
}

TEST_P(TailCalls, OfFunctionsInOtherUnitsAreSeen) {
  EXPECT_EQ(stack_of(12), "record < tail call < gmt_tail_calls_target");
}

// clang says which constructor is called, GCC does not.
TEST_P(TailCalls, OfConstructorsAreSeenIfTheyAreNamed) {
  const std::string stack = stack_of(8);
  EXPECT_TRUE(stack == "record < gmt_tail_calls_target" ||
              stack == "record < tail call < gmt_tail_calls_target")
    << stack;
}

TEST_P(TailCalls, OfTheRecordedCallItselfAreSeen) {
  EXPECT_EQ(stack_of(5), "tail call < gmt_tail_calls_target");
}

TEST_P(TailCalls, AreNotReportedWhereNoFrameIsMissing) {
  EXPECT_EQ(stack_of(2), "record < plain < gmt_tail_calls_target");
  EXPECT_EQ(stack_of(3), "record < either < gmt_tail_calls_target"); // it makes one, but not here
  EXPECT_EQ(stack_of(6), "record < cloned < gmt_tail_calls_target");
  EXPECT_EQ(stack_of(7), "record < Model < gmt_tail_calls_target");
}

TEST_P(TailCalls, ThroughPointersAreNotKnown) {
  EXPECT_EQ(stack_of(9), "record < gmt_tail_calls_target");
  EXPECT_EQ(stack_of(10), "record < gmt_tail_calls_target");
}

TEST_P(TailCalls, OfWhatStandsForAKernelAreNvccsOwn) {
  EXPECT_EQ(stack_of(13).find("tail call"), std::string::npos) << stack_of(13);
}

TEST_P(TailCalls, AreKeptInTheTrace) {
  ReportOptions options;
  options.write_symbols = true;
  build(recorded[0], options);
  build(recorded[3], options);
  fs::remove(library_);
  EXPECT_EQ(stack_of(0), "record < tail call < gmt_tail_calls_target");
  EXPECT_EQ(stack_of(3), "record < either < gmt_tail_calls_target");
}

TEST_P(TailCalls, LeaveSuppressionsAsTheyAre) {
  const Report report = build(recorded[5]);
  std::ostringstream rules;
  print_suppressions(report, rules);
  EXPECT_NE(rules.str().find("\nleak:gmt_tail_calls_target @ "), std::string::npos) << rules.str();
  for (const std::string rule : {"leak:gmt_tail_calls_*", "leak:libtarget.so"}) {
    std::ofstream(folder_ / "known.supp") << rule << '\n';
    ReportOptions options;
    options.suppression_files = {folder_ / "known.supp"};
    EXPECT_EQ(build(recorded[5], options).suppressed, 1u) << rule;
  }
}

TEST_P(TailCalls, AreTwoWordsInText) {
  const Report report = build(recorded[0]);
  for (const OutputInfo* output : outputs()) {
    if (output->id != "text") continue;
    std::ostringstream text;
    output->write(report, {}, text);
    EXPECT_NE(text.str().find("\n                                 (tail call)\n"),
              std::string::npos)
      << text.str();
  }
}

INSTANTIATE_TEST_SUITE_P(Dwarf, TailCalls, testing::Values(GMT_TAIL_CALLS_5, GMT_TAIL_CALLS_4),
                         [](const auto& target) {
                           return std::string(target.index == 0 ? "5" : "4");
                         });

} // namespace
} // namespace gmt
