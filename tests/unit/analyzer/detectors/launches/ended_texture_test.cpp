// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces that a launch is given by their numbers, which a GPU uses again: the number
// of a destroyed texture may be that of the next surface.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::ObjectClass;
using trace::UseClass;

constexpr std::uint64_t kLook = 0x900; // look(unsigned long long, int)

class EndedTextures : public AnalysisTest {
protected:
  void SetUp() override {
    expect_only({"use-after-free"});
    trace.format = "1.5";
    log().record({}, Made<trace::KernelFields>().function(kLook).parameter_count(2),
                 {trace::pack_halves({0, 8}), trace::pack_halves({8, 4})});
    log().name(kLook, "_Z4lookyi");
    cuda_malloc(kA, 4096);
  }
  void make(UseClass what, std::uint64_t number) {
    log().record({.api = what == UseClass::kTexture ? "cuTexObjectCreate" : "cuSurfObjectCreate"},
                 Made<trace::UseFields>().address(kA).bytes(4096).use(what).object(number));
  }
  void destroy(ObjectClass what, std::uint64_t number) {
    log().record(
      {.api = what == ObjectClass::kTexture ? "cuTexObjectDestroy" : "cuSurfObjectDestroy"},
      Made<trace::LifeFields>().handle(number).object(what).op(trace::LifeOp::kDestroy));
  }
  void launch(std::uint64_t number) {
    log().record(
      Kind::kLaunch,
      {.api = "cuLaunchKernel", .via = "cudaLaunchKernel", .flags = trace::kLaunchScanned},
      {kLook, 0, 1, 1, trace::argument_word(number, 0)});
  }
  std::string found() {
    cuda_free(kA);
    run();
    return result.findings.empty() ? "" : result.findings[0].message;
  }
};

TEST_F(EndedTextures, AnotherKindOfObjectHasTheNumberOfADestroyedOne) {
  make(UseClass::kTexture, 1);
  launch(1);
  destroy(ObjectClass::kTexture, 1);
  make(UseClass::kSurface, 1);
  launch(1);
  destroy(ObjectClass::kSurface, 1);
  make(UseClass::kTexture, 1);
  launch(1);
  destroy(ObjectClass::kTexture, 1);
  EXPECT_EQ(found(), "");
}

TEST_F(EndedTextures, TheNewerOfTwoDestroyedOnesIsNamed) {
  make(UseClass::kTexture, 1);
  launch(1);
  destroy(ObjectClass::kTexture, 1);
  make(UseClass::kSurface, 1);
  destroy(ObjectClass::kSurface, 1);
  launch(1);
  EXPECT_NE(found().find("a surface object that was already destroyed"), std::string::npos);
  EXPECT_EQ(result.findings.size(), 1u);
}

} // namespace
} // namespace gmt::test
