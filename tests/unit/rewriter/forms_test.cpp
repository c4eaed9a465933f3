// SPDX-License-Identifier: Apache-2.0
// Which functions of a module have checked forms, and what these forms are declared as.
#include <gtest/gtest.h>

#include <cstddef>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "ptx/syntax/ptx.h"
#include "rewriter/rewriter.h"

namespace gmt::rewriter {
namespace {

constexpr const char* kHead = ".version 8.3\n.target sm_90\n.address_size 64\n";

// A kernel without parameters, and one that has as many as it may have.
TEST(Rewriter, WhereTheNumberOfTheLaunchStands) {
  const std::string body = " { .reg .b64 %d<2>; mov.u64 %d1, 0; st.u32 [%d1], 1; ret; }\n";
  const Rewritten rewritten =
    rewrite(std::string(kHead) + ".visible .entry none" + body + ".visible .entry empty()" + body +
              ".visible .entry odd(.param .u32 a, .param .align 1 .b8 b[3])" + body +
              ".visible .entry full(.param .align 8 .b8 a[4089])" + body +
              ".visible .entry large(.param .align 8 .b8 a[8000])" + body,
            Options());
  ASSERT_EQ(rewritten.kernels.size(), 5u);
  const auto where = [&](std::size_t i) {
    const LaunchParameter& found = rewritten.launch_parameters[i];
    return found.is_there ? std::pair(found.index, found.offset) : std::pair(99u, 99u);
  };
  EXPECT_EQ(where(0), std::pair(0u, 0u));
  EXPECT_EQ(where(1), std::pair(0u, 0u));
  EXPECT_EQ(where(2), std::pair(2u, 8u));
  EXPECT_EQ(where(3), std::pair(99u, 99u));
  EXPECT_EQ(where(4), std::pair(1u, 8000u));
  const ptx::Module module = ptx::parse_module(rewritten.text);
  EXPECT_EQ(module.find_function("__gmt_checked_none")->parameters.size(), 1u);
  EXPECT_EQ(module.find_function("__gmt_checked_odd")->parameters.size(), 3u);
  EXPECT_EQ(module.find_function("__gmt_checked_full")->parameters.size(), 1u);
}

// LightGBM's code is linked of fifteen files: some 350 kernels with 40,000 accesses are one text.
TEST(Rewriter, TimeGrowsAsTheNumberOfKernels) {
  const auto seconds_of = [](int kernels) {
    std::string text = kHead;
    for (int kernel = 0; kernel < kernels; ++kernel) {
      text += ".visible .entry k" + std::to_string(kernel) + "(.param .u64 p)\n{ .reg .b64 %p;\n";
      text += ".reg .b32 %v;\nld.param.u64 %p, [p];\n";
      for (int i = 0; i < 4; ++i) text += "ld.global.u32 %v, [%p];\nadd.u64 %p, %p, 4096;\n";
      text += "ret; }\n";
    }
    const std::clock_t begin = std::clock();
    EXPECT_EQ(rewrite(text, Options()).sites.size(), 4u * static_cast<std::size_t>(kernels));
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds_of(4000), 9 * seconds_of(1000)); // the square would be 16
}

TEST(Rewriter, WhatIsNotChosenStaysAsItIs) {
  const std::string text = std::string(kHead) + ".visible .entry k() { ret; }\n";
  Options options;
  options.is_chosen = [](std::string_view name) { return name != "k"; };
  EXPECT_EQ(rewrite(text, options).text, text);
}

TEST(Rewriter, AKernelWithManyAccessesStaysPlain) {
  const std::string declared =
    "(.param .u64 p) { .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p];";
  const std::string load = " ld.global.u32 %r, [%d];";
  const std::string text = std::string(kHead) + ".visible .entry small" + declared + load + load +
                           " ret; }\n.visible .entry large" + declared + load + load + load +
                           " ret; }\n";
  Options options;
  options.most_accesses = 2;
  options.why_too_many = "too many";
  const Rewritten rewritten = rewrite(text, options);
  EXPECT_EQ(rewritten.kernels, std::vector<std::string>{"small"});
  EXPECT_EQ(rewritten.sites.size(), 2u);
  ASSERT_EQ(rewritten.unchecked.size(), 1u);
  EXPECT_EQ(rewritten.unchecked[0].function, "large");
  EXPECT_EQ(rewritten.unchecked[0].reason, "too many");
  EXPECT_EQ(rewrite(text, Options()).kernels.size(), 2u);
}

// Copies of code cost an assembler most of its time, also where many small kernels have them.
TEST(Rewriter, InALargeTextSmallKernelsAloneHaveCopies) {
  const auto kernel = [](const std::string& name, int loads) {
    std::string text = ".visible .entry " + name +
                       "(.param .u64 p) { .reg .f32 %f; .reg .b64 %d; ld.param.u64 %d, [p];\n";
    for (int i = 0; i < loads; ++i)
      text += "ld.global.f32 %f, [%d+" + std::to_string(4 * i) + "];\n";
    return text + "ret; }\n";
  };
  const std::string text = std::string(kHead) + kernel("small", 2) + kernel("other", 3);
  const auto loads_of = [&text](std::uint32_t large_text) {
    Options options;
    options.large_text = large_text;
    options.most_copied_in_large = 2;
    const std::string written = rewrite(text, options).text;
    std::vector<std::size_t> loads;
    for (const std::string name : {"small", "other"}) {
      const std::size_t begin = written.find(".entry __gmt_checked_" + name);
      const std::string form = written.substr(begin, written.find("\n}\n", begin) - begin);
      std::size_t count = 0;
      for (std::size_t at = form.find("ld.global.f32"); at != std::string::npos;
           at = form.find("ld.global.f32", at + 1))
        ++count;
      loads.push_back(count);
    }
    return loads;
  };
  EXPECT_EQ(loads_of(5), (std::vector<std::size_t>{4, 6}));
  EXPECT_EQ(loads_of(4), (std::vector<std::size_t>{4, 3}));
}

// A function exists in both forms; one whose address is taken is checked alone.
TEST(Rewriter, FunctionsThatKernelsCall) {
  const Rewritten rewritten = rewrite(
    std::string(kHead) +
      ".func f(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1, [a]; st.u32 [%d1], 1; ret; }\n"
      ".func g(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1, [a]; st.u32 [%d1], 2; ret; }\n"
      ".global .align 8 .u64 table[1] = {g};\n"
      ".visible .entry k(.param .u64 p) { .reg .b64 %d<2>; ld.param.u64 %d1, [p];\n"
      "{ .param .b64 x; st.param.b64 [x], %d1; call f, (x); }\nret; }\n",
    Options());
  EXPECT_EQ(rewritten.sites.size(), 2u);
  EXPECT_NE(rewritten.text.find("__gmt_checked_f"), std::string::npos);
  EXPECT_EQ(rewritten.text.find("__gmt_checked_g"), std::string::npos);
  EXPECT_NE(rewritten.text.find("call __gmt_checked_f, (x, __gmt_passed)"), std::string::npos);
  EXPECT_TRUE(rewritten.unchecked.empty());
}

TEST(Rewriter, RegistersOfTheCheckedForm) {
  const std::string text = std::string(kHead) + ".visible .entry k()\n.maxntid 64\n{ ret; }\n" +
                           ".visible .entry limited() .maxnreg 32 { ret; }\n";
  Options options;
  options.most_registers = [](std::string_view) { return 40; };
  const Rewritten rewritten = rewrite(text, options);
  const ptx::Module module = ptx::parse_module(rewritten.text);
  EXPECT_EQ(module.find_function("k")->max_registers, 0u);
  EXPECT_EQ(module.find_function("__gmt_checked_k")->max_registers, 40u);
  EXPECT_EQ(module.find_function("__gmt_checked_k")->max_threads[0], 64u);
  EXPECT_EQ(module.find_function("__gmt_checked_limited")->max_registers, 32u);
}

// ptxas rounds where each array without a size begins up to that one's own alignment.
TEST(Rewriter, SharedMemoryEndsBehindTheArrayThatIsAlignedMost) {
  const Rewritten rewritten =
    rewrite(std::string(kHead) + ".extern .shared .align 4 .b8 few[];\n"
                                 ".extern .shared .align 1024 .b8 many[];\n"
                                 ".shared .align 2048 .b8 sized[20];\n"
                                 ".visible .entry k() { ret; }\n",
            Options());
  EXPECT_EQ(ptx::parse_module(rewritten.text).find_variable("__gmt_dynamic")->alignment, 1024u);
}

// A linker gives a variable of two kernels a place that is free in both: forms must have their own.
TEST(Rewriter, CheckedFormsHaveSharedVariablesOfTheirOwn) {
  const std::string store = " { st.shared.u32 [both], 1; st.shared.u32 [own+4], 2; ret; }\n";
  const Rewritten rewritten =
    rewrite(std::string(kHead) +
              ".shared .align 4 .b8 own[8];\n.weak .shared .align 4 .b8 both[8];\n"
              ".extern .shared .align 4 .b8 any[];\n"
              ".func g() { st.shared.u32 [both], 3; ret; }\n"
              ".global .align 8 .u64 table[1] = {g};\n.visible .entry k()" +
              store + ".visible .entry l() { st.shared.u32 [any], 4; ret; }\n",
            Options());
  const std::string& text = rewritten.text;
  EXPECT_EQ(rewritten.kernels.size(), 2u);
  const ptx::Module module = ptx::parse_module(text);
  const ptx::Variable* own = module.find_variable("__gmt_checked_own");
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->size, 8u);
  EXPECT_EQ(own->space, ptx::Space::kShared);
  const std::string checked = text.substr(text.find(".entry __gmt_checked_k"));
  EXPECT_NE(checked.find("[__gmt_checked_own+4], 2"), std::string::npos);
  EXPECT_NE(text.find("[own+4], 2"), std::string::npos);
  // g exists once.
  EXPECT_EQ(module.find_variable("__gmt_checked_both"), nullptr);
  EXPECT_EQ(module.find_variable("__gmt_checked_any"), nullptr);
}

// Of an access that is left out: no plain move writes 128 bits.
TEST(Rewriter, AResultOf128BitsIsCleared) {
  const Rewritten rewritten = rewrite(
    std::string(kHead) + ".visible .entry k(.param .u64 p) { .reg .b64 %d<2>; .reg .b128 %q<3>;\n"
                         "ld.param.u64 %d1, [p]; atom.global.exch.b128 %q1, [%d1], %q2; ret; }\n",
    Options());
  EXPECT_EQ(rewritten.sites.size(), 1u);
  EXPECT_NE(rewritten.text.find("mov.b128 %q1, {%gmt_d"), std::string::npos);
  EXPECT_EQ(rewritten.text.find("mov.b32 %q1"), std::string::npos);
}

// A function whose address is taken is in plain kernels, too.
TEST(Rewriter, FunctionsThatPlainKernelsCallByPointer) {
  const std::string function =
    ".func g(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1, [a]; st.u32 [%d1], 2; ret; }\n";
  Options options;
  options.checks_by_pointer = false;
  const Rewritten rewritten = rewrite(std::string(kHead) + function +
                                        ".global .align 8 .u64 table[1] = {g};\n"
                                        ".visible .entry k() { ret; }\n",
                                      options);
  EXPECT_EQ(rewritten.kernels.size(), 1u);
  EXPECT_TRUE(rewritten.sites.empty());
  ASSERT_EQ(rewritten.unchecked.size(), 1u);
  EXPECT_EQ(rewritten.unchecked[0].function, "g");
  EXPECT_EQ(rewritten.unchecked[0].reason.find("it is called by a pointer"), 0u);
}

TEST(Rewriter, WhyAKernelStaysPlain) {
  const Rewritten rewritten = rewrite(
    ".version 8.3\n.target sm_90\n.address_size 32\n.visible .entry k() { ret; }\n", Options());
  EXPECT_TRUE(rewritten.kernels.empty());
  ASSERT_EQ(rewritten.unchecked.size(), 1u);
  EXPECT_EQ(rewritten.unchecked[0].function, "k");
}

} // namespace
} // namespace gmt::rewriter
