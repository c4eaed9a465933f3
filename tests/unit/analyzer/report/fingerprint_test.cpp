// SPDX-License-Identifier: Apache-2.0
// Fingerprints: what changes them and what does not. Users keep them in files, so those of known
// findings stand here as numbers.
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/source_text.h"

#include <gtest/gtest.h>

#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {

TEST(Fingerprint, NamesOfFunctionsLoseWhatVaries) {
  EXPECT_EQ(function_identity("void ns::step<int>::run<2>(int*) const"), "ns::step::run");
  EXPECT_EQ(function_identity("main"), "main");
  EXPECT_EQ(function_identity("(anonymous namespace)::grow(unsigned long)"),
            "(anonymous namespace)::grow");
  EXPECT_EQ(function_identity("operator<<(std::ostream&, Model const&)"), "operator<<");
  EXPECT_EQ(function_identity("Box<int>::operator<(Box<int> const&) const"), "Box::operator<");
  EXPECT_EQ(function_identity("Box<int>::operator->() const"), "Box::operator->");
  EXPECT_EQ(function_identity("main::{lambda(int)#1}::operator()(int) const"),
            function_identity("main::{lambda(long)#7}::operator()(long) const"));
  EXPECT_EQ(function_identity("main::$_0::operator()() const"),
            function_identity("main::$_12::operator()() const"));
  EXPECT_EQ(function_identity("load[abi:cxx11](int)"), "load");
  EXPECT_EQ(function_identity("broken<"), "broken");
  EXPECT_EQ(function_identity(""), "");
}

TEST(Fingerprint, IsTheSameInTheNextRun) {
  const ReportedFinding before = test::double_free();
  ReportedFinding after = before;
  after.address = 0x1000;
  after.count = 7;
  after.bytes = 9;
  after.message = "another sentence";
  for (LabelledStack& stack : after.stacks) {
    for (Frame& frame : stack.frames) {
      frame.line += 40;
      frame.address += 4096;
      frame.file = "/elsewhere" + frame.file;
      frame.module = "/elsewhere/train";
    }
  }
  EXPECT_EQ(fingerprint_of(after), fingerprint_of(before));
  EXPECT_EQ(fingerprint_of(before), "1-a5d8e6c863afa06f");
}

TEST(Fingerprint, IsAnotherForAnotherMistake) {
  const ReportedFinding finding = test::double_free();
  const auto differs = [&finding](auto change) {
    ReportedFinding other = finding;
    change(other);
    return fingerprint_of(other) != fingerprint_of(finding);
  };
  EXPECT_TRUE(differs([](ReportedFinding& f) { f.kind = "leak"; }));
  EXPECT_TRUE(differs([](ReportedFinding& f) { f.api = "cudaFreeHost"; }));
  EXPECT_TRUE(differs([](ReportedFinding& f) { f.stacks[0].frames[0].function = "other()"; }));
  EXPECT_TRUE(differs([](ReportedFinding& f) { f.stacks[0].frames[2].function = "other()"; }));
}

TEST(Fingerprint, TakesThreeFramesOfTheUsers) {
  ReportedFinding finding = test::leak();
  Frame library = test::frame("c10::cuda::CUDACachingAllocator::raw_alloc(unsigned long)", "", 0);
  library.module = "/usr/lib/libc10_cuda.so";
  Frame system = test::frame("operator new(unsigned long)", "", 0);
  system.module = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
  Frame gone;
  gone.tail_call = true;
  finding.stacks[0].frames = {library,
                              system,
                              test::frame("std::vector<int>::grow()", "/usr/include/vector", 3),
                              test::frame("load(int)", "/src/a.cu", 1),
                              gone,
                              test::frame("step()", "/src/a.cu", 2),
                              test::frame("train()", "/src/a.cu", 3),
                              test::frame("main", "/src/a.cu", 4)};
  EXPECT_EQ(identity_of(finding), (std::vector<std::string>{"load", "step", "train"}));
}

TEST(Fingerprint, TakesLibrariesWithoutTheirVersionIfNothingElseIsKnown) {
  ReportedFinding finding = test::leak();
  EXPECT_EQ(identity_of(finding), (std::vector<std::string>{"libloader.so"}));
  const std::string before = fingerprint_of(finding);
  finding.stacks[0].frames[0].module = "/opt/new/libloader.so.3.1";
  finding.stacks[0].frames[0].module_offset = 0x9999;
  EXPECT_EQ(fingerprint_of(finding), before);
}

TEST(Fingerprint, SeparatesEqualFindings) {
  std::vector<ReportedFinding> findings = {test::double_free(), test::leak(), test::double_free()};
  set_fingerprints(findings);
  EXPECT_EQ(findings[2].fingerprint, findings[0].fingerprint + "-2");
  EXPECT_EQ(findings[1].fingerprint, fingerprint_of(test::leak()));
}

std::string with_lines(std::vector<std::string> lines) {
  ReportedFinding finding = test::double_free();
  finding.source_lines = std::move(lines);
  return fingerprint_of(finding);
}

TEST(Fingerprint, HasTheTextOfItsSourceLine) {
  const std::string known = with_lines({"  cudaFree(model->weights);"});
  EXPECT_TRUE(has_source_line(known));
  EXPECT_EQ(known, "2-967eae6b48c2ce68");
  EXPECT_EQ(with_lines({"\tcudaFree( model->weights ); // once more"}), known);
  EXPECT_NE(with_lines({"cudaFree(model->grads);"}), known);
  EXPECT_NE(with_lines({"cudaFree(model->weights);", "Tensor a(4);"}), known);
  EXPECT_NE(with_lines({"open(\"http://a\");"}), with_lines({"open(\"http://b\");"}));
  ReportedFinding finding = test::double_free();
  EXPECT_EQ(fingerprint_of(finding), function_fingerprint_of(finding));
  finding.source_lines = {"cudaFree(p);"};
  EXPECT_EQ(function_fingerprint_of(finding), "1-a5d8e6c863afa06f");
}

TEST(Fingerprint, ALambdaIsTheSameWithAndWithoutTheNameOfItsFunction) {
  const auto of_lambda = [](const char* name) {
    ReportedFinding finding = test::double_free();
    finding.stacks[0].frames[0].function = name;
    finding.source_lines = {"cudaFree(p);"};
    return fingerprint_of(finding);
  };
  const std::string known = of_lambda("operator()");
  EXPECT_EQ(of_lambda("store(int)::$_0::operator()(int) const"), known);
  EXPECT_EQ(of_lambda("store(int)::{lambda(int)#1}::operator()(int) const"), known);
  EXPECT_NE(of_lambda("Deleter::operator()(int*) const"), known);
}

std::vector<std::string> distinguishing(std::vector<Frame> frames) {
  ReportedFinding finding = test::leak();
  finding.stacks[0].frames = std::move(frames);
  std::vector<std::string> names;
  for (const Frame& frame : distinguishing_frames(finding)) names.push_back(name_of_frame(frame));
  return names;
}

TEST(Fingerprint, TakesTheLineThatMadeTheObject) {
  using Names = std::vector<std::string>;
  const auto in = [](const char* function, const char* file) {
    return test::frame(function, file, 3);
  };
  const Frame load = in("load()", "/src/a.cu"), main = in("main", "/src/a.cu");
  EXPECT_EQ(distinguishing({load, main}), Names{"load"});
  EXPECT_EQ(distinguishing({in("Tensor<int>::Tensor(int)", "/src/a.cu"), load, main}),
            (Names{"Tensor::Tensor", "load"}));
  EXPECT_EQ(distinguishing({in("device_alloc(int)", "/src/alloc.cuh"), load, main}),
            (Names{"device_alloc", "load"}));
  EXPECT_EQ(distinguishing({in("Tensor::~Tensor()", "/src/t.h"), load, main}),
            Names{"Tensor::~Tensor"});
  EXPECT_EQ(
    distinguishing({in("release(void*)", "/src/t.h"), in("Tensor::~Tensor()", "/src/t.h"), main}),
    Names{"release"});
}

} // namespace
} // namespace gmt
