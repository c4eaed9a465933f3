// SPDX-License-Identifier: Apache-2.0
// Files of the sources by relative paths, and no other folder of the machine.
#include "analyzer/report/source_paths.h"

#include <gtest/gtest.h>

#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {

Frame in_file(std::string file) { return test::frame("f()", std::move(file), 3); }

TEST(SourcePaths, AreRelativeToTheRoot) {
  const Report report = test::ordinary();
  const SourcePaths paths(report, "/src/../src");
  EXPECT_EQ(paths.relative(in_file("/src/a/b.cu")), "a/b.cu");
  EXPECT_EQ(paths.relative(in_file("/src/a/../b.cu")), "b.cu");
  EXPECT_EQ(paths.relative(in_file("/srcs/b.cu")), "");
  EXPECT_EQ(paths.relative(in_file("/src/../etc/passwd")), "");
  EXPECT_EQ(paths.relative(in_file("/src/")), "");
  EXPECT_EQ(paths.relative(in_file("kernels/b.cu")), "kernels/b.cu");
  EXPECT_EQ(paths.relative(in_file("../other/b.cu")), "");
  EXPECT_EQ(paths.relative(in_file("")), "");
  EXPECT_EQ(paths.relative(in_file("<frozen runpy>")), ""); // Python's
}

TEST(SourcePaths, TakeTheFolderOfMainWhereTheRootHasNothing) {
  const Report report = test::ordinary(); // of which all files are in /src
  for (const char* root : {"", "/elsewhere"}) {
    const SourcePaths paths(report, root);
    EXPECT_EQ(paths.line_of(report.findings[0]).file, "train.cu");
    EXPECT_EQ(paths.line_of(report.findings[0]).line, 85u);
  }
}

TEST(SourcePaths, TakeTheFolderOfThePythonScript) {
  Report report = test::clean();
  report.findings = {test::double_free()};
  Frame package = test::frame("Tensor.free", "/usr/lib/python3/dist-packages/cupy/core.py", 9),
        function = test::frame("train", "/home/me/work/model.py", 4),
        script = test::frame("<module>", "/home/me/work/train.py", 12);
  for (Frame* frame : {&package, &function, &script}) frame->language = "python";
  report.findings[0].stacks = {
    test::stack("freed again here", "cudaFree", {package, function, script})};
  const SourcePaths paths(report, "/elsewhere");
  EXPECT_EQ(paths.line_of(report.findings[0]).file, "model.py");
  EXPECT_EQ(paths.line_of(report.findings[0]).line, 4u);
}

TEST(SourcePaths, NameTheProgramWhereNoFrameIsInTheSources) {
  const Report report = test::ordinary();
  const SourcePaths paths(report, "/src");
  const FilePosition leak = paths.line_of(report.findings[1]); // in a library without lines
  EXPECT_FALSE(leak);
  EXPECT_EQ(leak.file, "train");
  EXPECT_EQ(leak.line, 1u);
}

TEST(SourcePaths, SentencesLoseFolders) {
  EXPECT_EQ(without_folders("symbols of /opt/lib/x.so: '/a/b c'"), "symbols of x.so: 'b c'");
  EXPECT_EQ(without_folders("in range epoch 2 / forward, 3/4 of cudaMalloc/cudaFree"),
            "in range epoch 2 / forward, 3/4 of cudaMalloc/cudaFree");
  EXPECT_EQ(without_folders("/home/me/ (/x)"), "me (x)");
  EXPECT_EQ(without_folders("/"), "/");
}

TEST(SourcePaths, UrisHaveNoOtherCharacters) {
  EXPECT_EQ(uri_of("a b/c\xff#.cu"), "a%20b/c%FF%23.cu");
}

} // namespace
} // namespace gmt
