// SPDX-License-Identifier: Apache-2.0
// Statements of source files: which lines belong to one, which files are read, what a trace keeps.
#include "analyzer/report/source_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

class SourceText : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("source_text." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "trace");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string statement(const std::string& file, std::uint32_t line) {
    return SourceFiles().statement(file, line).value_or("(none)");
  }

  fs::path folder_;
};

TEST_F(SourceText, LinesLoseCommentsAndBlanks) {
  EXPECT_EQ(tidy_line("\t cudaFree( p );\t// once"), "cudaFree( p );");
  EXPECT_EQ(normal_line("\t cudaFree( p );\t// once"), "cudaFree(p);");
  EXPECT_EQ(normal_line("open(\"a // b\"); // c"), "open(\"a//b\");");
  EXPECT_EQ(normal_line("n = 1'000'000; // '"), "n=1'000'000;");
  EXPECT_EQ(normal_line("free(p)  # now"), "free(p)");
}

TEST_F(SourceText, AStatementMayHaveSeveralLines) {
  const std::string file = write("a.cu", "void f() {\n"
                                         "  // first\n"
                                         "  check( // every call\n"
                                         "      cudaMalloc(&p,\r\n"
                                         "                 64));\n"
                                         "  if (p)\n"
                                         "    cudaFree(p);\n"
                                         "\n"
                                         "  last()\n"
                                         "}\n");
  for (const std::uint32_t line : {3u, 4u, 5u})
    EXPECT_EQ(statement(file, line), "check( cudaMalloc(&p, 64));");
  EXPECT_EQ(statement(file, 7), "if (p) cudaFree(p);");
  EXPECT_EQ(statement(file, 1), "void f() {");
  EXPECT_EQ(statement(file, 11), "(none)");
  EXPECT_EQ(statement(file, 0), "(none)");
  const std::string script = write("a.py", "p = alloc(1)\nfree(p)\n");
  EXPECT_EQ(statement(script, 2), "free(p)");
}

TEST_F(SourceText, OnlySourceFilesAreRead) {
  EXPECT_EQ(statement(write("secret", "a;\n"), 1), "(none)");
  write("secret.key", "a;\n");
  fs::create_symlink(folder_ / "secret.key", folder_ / "link.cpp");
  EXPECT_EQ(statement((folder_ / "link.cpp").string(), 1), "(none)");
  fs::create_directory(folder_ / "folder.cpp");
  EXPECT_EQ(statement((folder_ / "folder.cpp").string(), 1), "(none)");
  EXPECT_EQ(statement("/nonexistent/a.cpp", 1), "(none)");
}

TEST_F(SourceText, ATraceKeepsWhatWasRead) {
  const std::string file = write("a.cpp", "int main() {\n  leak(\t1);\n}\n");
  ReportedFinding finding = test::leak();
  finding.stacks[0].frames = {test::frame("main", file, 2)};
  SourceFiles files;
  TraceSources here(folder_ / "trace", files);
  here.add_lines(finding);
  EXPECT_EQ(finding.source_lines, std::vector<std::string>{"leak( 1);"});
  ASSERT_TRUE(finding.stacks[0].code.has_value());
  EXPECT_EQ(finding.stacks[0].code->text, "leak( 1);");
  EXPECT_EQ(here.write(), std::nullopt);
  fs::remove(file);
  SourceFiles none;
  TraceSources there(folder_ / "trace", none);
  finding.source_lines.clear();
  finding.stacks[0].code.reset();
  there.add_lines(finding);
  EXPECT_EQ(finding.source_lines, std::vector<std::string>{"leak( 1);"});
  EXPECT_TRUE(finding.stacks[0].code.has_value());
  finding.stacks[0].frames[0].line = 3;
  finding.source_lines.clear();
  there.add_lines(finding);
  EXPECT_TRUE(finding.source_lines.empty());
}

} // namespace
} // namespace gmt
