// SPDX-License-Identifier: Apache-2.0
// Blocks of a cluster that let each other know by a flag in shared memory.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class ClusterFlags : public KernelRunner {
protected:
  // The block 0 stores 7 and then a flag into the shared memory of the block 1, which polls the
  // flag and loads the number.
  std::uint32_t number_behind(const std::string& store, const std::string& load) {
    load_module(store, load);
    recorder_.reports.clear();
    const std::uint64_t p = put(std::vector<std::uint32_t>(1));
    EXPECT_EQ(run({2}, {1}, {p}).end, End::kDone);
    return get<std::uint32_t>(p, 1)[0];
  }

private:
  void load_module(const std::string& store, const std::string& load_flag) {
    const std::string sync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
    load(".visible .entry k(.param .u64 p) .explicitcluster .reqnctapercluster 2, 1, 1 {\n"
         ".shared .align 4 .b8 s[8]; .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %x<2>;\n"
         "ld.param.u64 %x0, [p]; mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, s;\n"
         "mov.u32 %r2, 0; st.shared.u32 [%r1+4], %r2;\n" +
         sync +
         "setp.eq.u32 %p0, %r0, 1; @%p0 bra W;\n"
         "mov.u32 %r3, 1; mapa.shared::cluster.u32 %r4, %r1, %r3; mov.u32 %r5, 7;\n"
         "st.shared::cluster.u32 [%r4], %r5;\n" +
         store + " [%r4+4], %r3; bra E;\nW: " + load_flag +
         "; setp.eq.u32 %p1, %r6, 0; @%p1 bra W;\n"
         "ld.shared.u32 %r7, [%r1]; st.global.u32 [%x0], %r7;\nE: " +
         sync + "ret; }\n");
  }
};

TEST_F(ClusterFlags, OrderWhatStandsBeforeThem) {
  EXPECT_EQ(number_behind("st.release.cluster.shared::cluster.u32",
                          "ld.acquire.cluster.shared::cta.u32 %r6, [%r1+4]"),
            7u);
  expect_no_reports();
}

TEST_F(ClusterFlags, OrderWhatStandsBeforeThemIfAtomicsPollThem) {
  EXPECT_EQ(number_behind("red.release.cluster.shared::cluster.add.u32",
                          "atom.acquire.cluster.shared::cta.add.u32 %r6, [%r1+4], 0"),
            7u);
  expect_no_reports();
}

TEST_F(ClusterFlags, OrderWhatStandsBeforeThemIfFencesStandAroundThem) {
  EXPECT_EQ(number_behind("fence.acq_rel.cluster; st.relaxed.cluster.shared::cluster.u32",
                          "ld.relaxed.cluster.shared::cta.u32 %r6, [%r1+4]; fence.acq_rel.cluster"),
            7u);
  expect_no_reports();
}

TEST_F(ClusterFlags, OrderNothingIfTheyAreRelaxed) {
  number_behind("st.relaxed.cluster.shared::cluster.u32",
                "ld.acquire.cluster.shared::cta.u32 %r6, [%r1+4]");
  EXPECT_EQ(recorder_.reports.size(), 1u);
  number_behind("fence.acq_rel.cta; st.relaxed.cluster.shared::cluster.u32",
                "ld.acquire.cluster.shared::cta.u32 %r6, [%r1+4]");
  EXPECT_EQ(recorder_.reports.size(), 1u);
  number_behind("st.release.cluster.shared::cluster.u32",
                "ld.relaxed.cluster.shared::cta.u32 %r6, [%r1+4]");
  EXPECT_EQ(recorder_.reports.size(), 1u);
}

TEST_F(ClusterFlags, OrderNothingIfTheyAreStoredPlainly) {
  number_behind("st.shared::cluster.u32", "ld.acquire.cluster.shared::cta.u32 %r6, [%r1+4]");
  EXPECT_FALSE(recorder_.reports.empty());
}

} // namespace
} // namespace gmt::executor
