// SPDX-License-Identifier: Apache-2.0
// From analyses to a Report: what is cut from stacks, left out, counted, ordered, kept in the
// trace.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analyzer/base/user_error.h"
#include "analyzer/report/report_builder.h"
#include "analyzer/symbols/elf_file.h"
#include "tests/report/made_up_reports.h"
#include "tests/unit/ptx/support/fatbin_writer.h"
#include "trace/device_ring.h"

namespace gmt {
namespace {
namespace fs = std::filesystem;

Finding finding(std::string kind, Severity severity, std::uint64_t bytes, std::uint64_t count = 1) {
  Finding f;
  f.kind = std::move(kind);
  f.severity = severity;
  f.bytes = bytes;
  f.count = count;
  return f;
}

std::vector<std::string> kinds(const Report& report) {
  std::vector<std::string> names;
  for (const ReportedFinding& f : report.findings) names.push_back(f.kind);
  return names;
}

class ReportBuilder : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gmt-report-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  Report build(std::vector<Finding> findings, const ReportOptions& options = {}) {
    std::vector<Analysis> analyses(1);
    analyses[0].process = test::process();
    analyses[0].findings = std::move(findings);
    return assemble_report(std::move(analyses), {folder_}, options);
  }
  fs::path folder_;
};

// A finding whose one stack is the two outer functions of the library the symbols test uses.
class ReportBuilderSymbols : public ReportBuilder {
protected:
  static void remember(void* address) {
    addresses().push_back(reinterpret_cast<std::uint64_t>(address));
  }
  static std::vector<std::uint64_t>& addresses() {
    static std::vector<std::uint64_t> list;
    return list;
  }

  void SetUp() override {
    ReportBuilder::SetUp();
    library_ = (folder_ / "libtarget.so").string();
    fs::copy_file(GMT_SYMBOLS_TARGET, library_);
    void* library = ::dlopen(library_.c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    link_map* map = nullptr;
    ASSERT_EQ(::dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    module_ = {map->l_addr, map->l_addr + fs::file_size(library_),
               map->l_addr, ElfFile::open(library_)->build_id(),
               library_,    3};
    addresses().clear();
    reinterpret_cast<void (*)(void (*)(void*))>(::dlsym(library, "gmt_symbols_target"))(&remember);
    ASSERT_EQ(addresses().size(), 3u);
  }

  Report build(const ReportOptions& options) {
    std::vector<Analysis> analyses(1);
    analyses[0].process = test::process();
    analyses[0].modules = {module_};
    FindingStack stack;
    stack.role = StackRole::kAllocated;
    stack.stack = analyses[0].stacks.intern(addresses());
    analyses[0].findings = {finding("leak", Severity::kError, 1)};
    analyses[0].findings[0].stacks = {stack};
    return assemble_report(std::move(analyses), {folder_}, options);
  }

  std::string library_;
  Module module_;
};

// Images as the trace keeps them: what a report says of their malloc, beside a log of what kernels
// wrote.
class ReportBuilderMalloc : public ReportBuilder {
protected:
  std::string said_of(const std::vector<std::string>& images, const std::string& device = "real") {
    for (std::size_t i = 0; i < images.size(); ++i) {
      std::ofstream(folder_ / ("image-" + std::to_string(i)), std::ios::binary) << images[i];
    }
    std::ofstream(folder_ / "device-1.log") << "of what is instrumented";
    std::vector<Analysis> analyses(1);
    analyses[0].process.device = device;
    std::string said;
    for (const NotChecked& n : assemble_report(std::move(analyses), {folder_}, {}).not_checked) {
      if (n.what == "in-kernel malloc") said += n.why;
    }
    return said;
  }
  const std::string none_ = ".version 9.0\n";
  const std::string called_ = ".version 9.0\n.extern .func (.param .b64 func_retval0) malloc\n(\n";
  const std::string logged_ = called_ + trace::kControlSymbol;
};

TEST_F(ReportBuilderMalloc, IsNotCheckedWhereSomeOfItSaysNothing) {
  using test::container;
  const auto entry = [](const std::string& ptx) {
    return container(test::entry(test::kPtx, ptx, true));
  };
  EXPECT_EQ(said_of({}), "");
  EXPECT_EQ(said_of({none_, entry(logged_)}), "");
  EXPECT_EQ(said_of({logged_, entry(none_) + entry(logged_)}), "");
  const std::string said =
    "kernels in code that was loaded from memory call malloc, new or free, and what they do "
    "is not seen: compile them with 'gpumemtrace nvcc', or include <gpumemtrace/device.h>";
  EXPECT_EQ(said_of({entry(logged_) + entry(called_)}), said);
  EXPECT_EQ(said_of({logged_, called_}), said);
  EXPECT_EQ(said_of({called_, called_}), said); // once
  EXPECT_EQ(said_of({called_}, "simulated"), "");
  // --kernel-checks logs the calls of such code
  std::vector<Analysis> analyses(1);
  analyses[0].has_kernel_checks = true;
  for (const std::uint64_t calls : {std::uint64_t{0}, std::uint64_t{3}}) {
    analyses[0].process.totals.device_heap_calls = calls;
    const Report report = assemble_report(analyses, {folder_}, {});
    const auto is_malloc = [](const NotChecked& n) { return n.what == "in-kernel malloc"; };
    EXPECT_EQ(std::ranges::any_of(report.not_checked, is_malloc), calls == 0);
  }
}

TEST_F(ReportBuilder, OrdersBySeverityBytesAndCount) {
  const Report report =
    build({finding("note", Severity::kNote, 1000), finding("small", Severity::kError, 1),
           finding("often", Severity::kError, 5, 9), finding("warning", Severity::kWarning, 99),
           finding("first", Severity::kError, 5), finding("second", Severity::kError, 5)});
  EXPECT_EQ(kinds(report),
            (std::vector<std::string>{"often", "first", "second", "small", "warning", "note"}));
  EXPECT_FALSE(report.no_cuda_calls);
}

TEST_F(ReportBuilder, LeavesOutAndCounts) {
  std::ofstream(folder_ / "known.supp") << "# known\npitch-*:*\n";
  ReportOptions options;
  options.min_bytes = 100;
  options.suppression_files = {folder_ / "known.supp"};
  options.skip = {"un*"};
  const Report report =
    build({finding("leak", Severity::kError, 99), finding("leak", Severity::kError, 100),
           finding("double-free", Severity::kError, 1), // a small mistake is one too
           finding("api-error", Severity::kWarning, 0), // no size: never too small
           finding("pitch-mismatch", Severity::kWarning, 500),
           finding("unused", Severity::kWarning, 500)},
          options);
  EXPECT_EQ(kinds(report), (std::vector<std::string>{"leak", "double-free", "api-error"}));
  EXPECT_EQ(report.below_min_bytes, 1u);
  EXPECT_EQ(report.suppressed, 1u);
  EXPECT_EQ(report.other_kinds, 1u);
  ASSERT_EQ(report.suppressions.size(), 1u);
  EXPECT_EQ(report.suppressions[0].rule, "pitch-*:*");
}

TEST_F(ReportBuilder, OnlyKeepsTheKindsNamed) {
  ReportOptions options;
  options.only = {"leak", "double-*"};
  const Report report =
    build({finding("leak", Severity::kError, 1), finding("double-free", Severity::kError, 1),
           finding("unused", Severity::kWarning, 1)},
          options);
  EXPECT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.other_kinds, 1u);
}

TEST_F(ReportBuilder, BadSuppressionsFileStopsIt) {
  ReportOptions options;
  options.suppression_files = {folder_ / "nowhere.supp"};
  EXPECT_THROW(build({}, options), UserError);
}

TEST_F(ReportBuilder, SaysWhenNothingWasSeen) {
  EXPECT_TRUE(assemble_report({}, {}, {}).no_cuda_calls);
  std::vector<Analysis> analyses(1);
  EXPECT_TRUE(assemble_report(std::move(analyses), {folder_}, {}).no_cuda_calls);
}

TEST_F(ReportBuilder, SaysEachThingOnce) {
  std::vector<Analysis> analyses(2);
  for (Analysis& analysis : analyses)
    analysis.not_checked = {{"uncoalesced", "needs --coalescing"}};
  const Report report = assemble_report(std::move(analyses), {folder_, folder_}, {});
  EXPECT_EQ(report.not_checked.size(), 1u);
}

TEST_F(ReportBuilder, LeavesOutWhatOneProcessOfTheRunHasSeen) {
  const auto not_checked = [&](bool in_both) {
    std::vector<Analysis> analyses(2);
    analyses[0].not_checked = {{.what = "policy", .why = "no mark", .is_of_run = true},
                               {"uncoalesced", "lost"}};
    if (in_both)
      analyses[1].not_checked = {{.what = "policy", .why = "no mark", .is_of_run = true}};
    std::string all;
    for (const NotChecked& n :
         assemble_report(std::move(analyses), {folder_, folder_}, {}).not_checked)
      all += n.what + " ";
    return all;
  };
  EXPECT_EQ(not_checked(true), "policy uncoalesced ");
  EXPECT_EQ(not_checked(false), "uncoalesced ");
}

TEST_F(ReportBuilderSymbols, TraceKeepsItsSymbolsWithoutTheBinaries) {
  ReportOptions options;
  options.write_symbols = true;
  const Report first = build(options);
  ASSERT_EQ(first.findings.size(), 1u);
  const std::vector<Frame> frames = first.findings[0].stacks[0].frames;
  ASSERT_EQ(frames.size(), 5u); // two of them inlined
  EXPECT_EQ(frames[2].function, "target::Model::outer(void (*)(void*), int) const");
  EXPECT_EQ(frames[4].function, "gmt_symbols_target");
  EXPECT_TRUE(fs::exists(folder_ / "symbols"));

  fs::remove(library_);
  const Report second = build({});
  EXPECT_TRUE(second.not_checked.empty());
  ASSERT_EQ(second.findings[0].stacks[0].frames.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Frame& frame = second.findings[0].stacks[0].frames[i];
    EXPECT_EQ(frame.function, frames[i].function);
    EXPECT_EQ(frame.file, frames[i].file);
    EXPECT_EQ(frame.line, frames[i].line);
    EXPECT_EQ(frame.inlined, frames[i].inlined);
    EXPECT_EQ(frame.module_offset, frames[i].module_offset);
  }
}

TEST_F(ReportBuilderSymbols, KeepsNoAnswerOfAFileThatChanged) {
  module_.build_id = "00ff";
  ReportOptions options;
  options.write_symbols = true;
  const Report report = build(options);
  EXPECT_FALSE(fs::exists(folder_ / "symbols"));
  ASSERT_EQ(report.not_checked.size(), 1u);
  EXPECT_EQ(report.not_checked[0].what, "symbols of " + library_);
  EXPECT_EQ(report.findings[0].stacks[0].frames.size(), 3u);
}

TEST_F(ReportBuilderSymbols, LeavesSymbolsAloneWhereAskedTo) {
  ReportOptions options;
  options.symbols = false;
  const Report report = build(options);
  EXPECT_TRUE(report.not_checked.empty());
  EXPECT_EQ(report.findings[0].stacks[0].frames.at(0).function, "");
  EXPECT_EQ(report.findings[0].stacks[0].frames.at(0).module, library_);
}

} // namespace
} // namespace gmt
