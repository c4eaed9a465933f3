// SPDX-License-Identifier: Apache-2.0
// Function names: demangling, bare names for suppressions, short names for text.
#include <algorithm>

#include <gtest/gtest.h>

#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

TEST(FunctionName, Demangles) {
  EXPECT_EQ(demangle("_ZN2ns4stepEi"), "ns::step(int)");
  EXPECT_EQ(demangle("_ZN2ns4stepEi.constprop.0"), "ns::step(int)");
  EXPECT_EQ(demangle("_ZN2ns4stepEi@@V1"), "ns::step(int)");
  EXPECT_EQ(demangle("__gmt_checked__ZN2ns4stepEi"), "ns::step(int)");
  EXPECT_EQ(demangle("step.part.1"), "step");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle("__device_stub__Z3addPf"), "__device_stub__Z3addPf");
  EXPECT_EQ(demangle(""), "");
}

TEST(FunctionName, BareNameHasNeitherReturnTypeNorParameters) {
  const struct {
    const char *whole, *bare;
  } cases[] = {
    {"main", "main"},
    {"release_all()", "release_all"},
    {"void ns::step<int>(int*, char (*)[3])", "ns::step<int>"},
    {"ns::Pool::get(unsigned long) const", "ns::Pool::get"},
    {"ns::Pool::get(unsigned long) const &", "ns::Pool::get"},
    {"(anonymous namespace)::step(int)", "(anonymous namespace)::step"},
    {"void (anonymous namespace)::step<float>(int)", "(anonymous namespace)::step<float>"},
    {"operator new(unsigned long)", "operator new"},
    {"operator delete[](void*)", "operator delete[]"},
    {"std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"},
    {"ns::operator<(A const&, A const&)", "ns::operator<"},
    {"bool ns::operator<< <int>(A const&, int)", "ns::operator<< <int>"},
    {"Foo::operator std::string() const", "Foo::operator std::string"},
    {"main::{lambda(int, char)#1}::operator()(int, char) const",
     "main::{lambda(int, char)#1}::operator()"},
    {"cudaError cudaMalloc<float>(float**, unsigned long)", "cudaMalloc<float>"},
    {"operator()", "operator()"},
    {"", ""},
    {")", ")"},
    {"(", "("},
    {"a b", "a b"},
  };
  for (const auto& c : cases) EXPECT_EQ(bare_function(c.whole), c.bare) << c.whole;
}

TEST(FunctionName, ShortensStepByStep) {
  const std::string name =
    "std::vector<int> ns::load<std::vector<int>, char>(std::vector<int> const&, unsigned)";
  EXPECT_EQ(shorten_function(name, 100), name);
  EXPECT_EQ(shorten_function(name, 60), "std::vector<int> ns::load<std::vector<int>, char>(...)");
  EXPECT_EQ(shorten_function(name, 40), "std::vector<...> ns::load<...>(...)");
  EXPECT_EQ(shorten_function(name, 24), "ns::load<...>(...)");
  EXPECT_EQ(shorten_function(name, 10), "ns::loa...");
  EXPECT_EQ(shorten_function("ns::operator<<(std::ostream&, A const&)", 30), "ns::operator<<(...)");
}

TEST(FunctionName, DistinguishesKernelsInAColumn) {
  const std::string shared = "void at::native::apply<4, at::native::";
  const auto shown = distinct_names(
    {"void negate<float, Stride<32u> >(float*, float const*, unsigned int)",
     "void negate<unsigned char, Stride<32u> >(unsigned char*, unsigned char const*, unsigned int)",
     "fill(float*)", "(anonymous namespace)::fill(float*)", "scale(float*)", "scale(double*)",
     "void name::too_long_with_its_namespace<int>(int*)",
     shared + "Add<float>, Many<char*, 3ul> >(int)", shared + "Mul<float>, Many<char*, 3ul> >(int)",
     shared + "Mul<float>, Many<char*, 2ul> >(int)",
     "void a_very_long_name_of_a_kernel<ns::Function_add<float>, Many<char*, 3ul> >(int)",
     "void a_very_long_name_of_a_kernel<ns::Function_mul<float>, Many<char*, 3ul> >(int)",
     "fill(float*)", "odd name"},
    36);
  std::vector<std::string> texts;
  for (const auto& [name, text] : shown) {
    EXPECT_LE(text.size(), 36u) << text;
    texts.push_back(text);
  }
  std::ranges::sort(texts);
  const std::vector<std::string> expected = {"(anonymous namespace)::fill",
                                             "a_very_long_...Function_add<float...",
                                             "a_very_long_...Function_mul<float...",
                                             "apply<...float>, Many<char*, 2ul> >",
                                             "apply<...float>, Many<char*, 3ul> >",
                                             "apply<4, at::native::Add<float>, ...",
                                             "fill",
                                             "negate<float, Stride<32u> >",
                                             "negate<unsigned char, Stride<32u> >",
                                             "odd name",
                                             "scale(double*)",
                                             "scale(float*)",
                                             "too_long_with_its_namespace<int>"};
  EXPECT_EQ(texts, expected);
}

// As nvcc names atomicExch of the toolkit's header.
TEST(FunctionName, NamespacesOfNvccAreDropped) {
  EXPECT_EQ(demangle("_ZN45_INTERNAL_d5908c61_14_more_faults_cu_bfcdebf210atomicExchEPii"),
            "atomicExch(int*, int)");
  EXPECT_EQ(demangle("_ZN2ns13my_INTERNAL_x1fEv"), "ns::my_INTERNAL_x::f()");
  EXPECT_EQ(demangle("_Z10_INTERNAL_v"), "_INTERNAL_()");
  EXPECT_EQ(demangle("_INTERNAL_a::f"), "_INTERNAL_a::f"); // C: as it is
}

} // namespace
} // namespace gmt
