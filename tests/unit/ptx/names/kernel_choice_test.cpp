// SPDX-License-Identifier: Apache-2.0
// Kernels by the names that people write.
#include "ptx/names/kernel_choice.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace gmt::ptx {
namespace {

constexpr char kScale[] = "_Z5scalePfi";                         // scale(float*, int)
constexpr char kStep[] = "_ZN2ns4stepIiLi4EEEvPT_";              // void ns::step<int, 4>(int*)
constexpr char kHidden[] = "_ZN12_GLOBAL__N_16smoothILi3EEEvPf"; // void (anonymous
                                                                 // namespace)::smooth<3>(float*)
constexpr char kPlain[] = "add_one";

bool names(const std::string& list, const char* kernel) {
  const bool is_meant = KernelChoice(list, "").includes(kernel);
  EXPECT_NE(KernelChoice("", list).includes(kernel), is_meant) << list;
  return is_meant;
}

TEST(PtxKernelChoice, NamesWithLessOrMoreOfWhatBelongsToThem) {
  for (const char* name : {"scale", "scale(float*, int)", "scale(float*,int)", "_Z5scalePfi"})
    EXPECT_TRUE(names(name, kScale)) << name;
  for (const char* name : {"step", "ns::step", "step<int,4>", "step<int, 4>", "ns::step<int, 4>",
                           "ns::step<int, 4>(int*)", "void ns::step<int, 4>(int*)"})
    EXPECT_TRUE(names(name, kStep)) << name;
  for (const char* name : {"smooth", "smooth<3>", "(anonymous namespace)::smooth"})
    EXPECT_TRUE(names(name, kHidden)) << name;
  EXPECT_TRUE(names("add_one", kPlain));
}

TEST(PtxKernelChoice, PartsOfNamesAreOthers) {
  for (const char* name : {"scal", "cale", "Scale", "scale(int)", "n::scale"})
    EXPECT_FALSE(names(name, kScale)) << name;
  for (const char* name : {"tep", "s::step", "step<int>", "step<float, 4>", "int"})
    EXPECT_FALSE(names(name, kStep)) << name;
  EXPECT_FALSE(names("add", kPlain));
}

TEST(PtxKernelChoice, Globs) {
  for (const char* glob : {"*", "sc*", "*ale", "s?ale", "s*l*"})
    EXPECT_TRUE(names(glob, kScale)) << glob;
  for (const char* glob : {"step<*>", "ns::*", "ste?<int,*>"})
    EXPECT_TRUE(names(glob, kStep)) << glob;
  for (const char* glob : {"?", "ale*", "s?le", "scale?"})
    EXPECT_FALSE(names(glob, kScale)) << glob;
}

TEST(PtxKernelChoice, Expressions) {
  EXPECT_TRUE(names("/^scale/", kScale));
  EXPECT_TRUE(names("/float\\*, int/", kScale));
  EXPECT_TRUE(names("/^_Z5/", kScale));
  EXPECT_TRUE(names("/st(e|o)p/", kStep));
  EXPECT_FALSE(names("/^step/", kStep)); // it begins with "void ns::"
  EXPECT_THROW(KernelChoice("/(/", ""), std::invalid_argument);
  EXPECT_TRUE(names("/a{1,2}dd/,x", kPlain) || names("/a{1,2}/", kPlain));
}

TEST(PtxKernelChoice, ListsAreCutAtTheirOwnCommas) {
  EXPECT_TRUE(names("other,step<int, 4>,more", kStep));
  EXPECT_TRUE(names("other, scale", kScale));
  EXPECT_TRUE(names("/x{1,2}/,scale", kScale));
  EXPECT_FALSE(names("step<int,scale>", kScale));
}

TEST(PtxKernelChoice, BothLists) {
  const KernelChoice some("s*", "step");
  EXPECT_TRUE(some.includes(kScale));
  EXPECT_FALSE(some.includes(kStep));
  EXPECT_FALSE(some.includes(kPlain));
  EXPECT_TRUE(KernelChoice().is_all());
  EXPECT_TRUE(KernelChoice(" , ", "").is_all());
  EXPECT_TRUE(KernelChoice().includes(kPlain));
}

} // namespace
} // namespace gmt::ptx
