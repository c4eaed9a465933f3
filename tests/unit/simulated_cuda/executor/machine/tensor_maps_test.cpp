// SPDX-License-Identifier: Apache-2.0
// Kernels that make tensor maps of others: tensormap.replace and tensormap.cp_fenceproxy.
#include "simulated_cuda/executor/program/tensor_map.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <numeric>

namespace gmt::executor {
namespace {

// One warp copies the map at p to shared memory, changes it there, gives it to m, and loads 16
// words by it, which go to q.
class TensorMapsTest : public KernelRunner {
protected:
  static std::string kernel(const std::string& changes) {
    return ".shared .align 128 .b8 s[1024]; .shared .align 128 .b8 map[128];\n"
           ".shared .align 8 .b64 b;\n"
           ".visible .entry k(.param .u64 p, .param .u64 m, .param .u64 a, .param .u64 q) {\n"
           ".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %x<8>; ld.param.u64 %x0, [p];\n"
           "ld.param.u64 %x1, [m]; ld.param.u64 %x2, [a]; ld.param.u64 %x3, [q];\n"
           "mov.u32 %r0, %tid.x; mov.u32 %r1, map; mad.lo.u32 %r2, %r0, 4, %r1;\n"
           "mul.wide.u32 %x4, %r0, 4; add.u64 %x5, %x0, %x4; ld.global.b32 %r3, [%x5];\n"
           "st.shared.b32 [%r2], %r3; bar.warp.sync 0xffffffff; setp.ne.u32 %p0, %r0, 0;\n"
           "mov.u32 %r6, 16; mov.u32 %r7, 1;\n" +
           changes +
           "bar.warp.sync 0xffffffff;\n"
           "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
           " [%x1], [%r1], 128;\n"
           "fence.proxy.tensormap::generic.acquire.gpu [%x1], 128;\n"
           "mov.u32 %r4, s; mov.u32 %r5, 0; @%p0 bra W; mbarrier.init.shared.b64 [b], 1;\n"
           "mbarrier.arrive.expect_tx.shared::cta.b64 %x6, [b], 64;\n"
           "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4],\n"
           "[%x1, {%r5}], [b];\n"
           "W: bar.warp.sync 0xffffffff; L: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;\n"
           "@!%p1 bra L; setp.gt.u32 %p1, %r0, 15; @%p1 bra E; mad.lo.u32 %r2, %r0, 4, %r4;\n"
           "ld.shared.b32 %r3, [%r2]; mul.wide.u32 %x4, %r0, 4; add.u64 %x5, %x3, %x4;\n"
           "st.global.b32 [%x5], %r3; E: ret; }\n";
  }
  std::vector<std::uint32_t> run_on(const TensorMap& map, const std::string& changes) {
    load(kernel(changes));
    std::vector<std::uint64_t> words(TensorMap::kBytes / sizeof(std::uint64_t));
    std::memcpy(words.data(), &map, sizeof map);
    std::vector<std::uint32_t> numbers(16);
    std::iota(numbers.begin(), numbers.end(), 100u);
    const std::uint64_t p = put(words), m = allocate(TensorMap::kBytes), q = allocate(64);
    EXPECT_EQ(run({1}, {32}, {p, m, put(numbers), q}).end, End::kDone);
    return get<std::uint32_t>(q, 16);
  }
  void expect_numbers(const std::vector<std::uint32_t>& given, std::uint32_t known) {
    for (const Report& report : recorder_.reports)
      ADD_FAILURE() << static_cast<int>(report.kind) << " " << report.location.instruction;
    for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(given[i], i < known ? 100 + i : 0) << i;
  }
};

TEST_F(TensorMapsTest, AllFieldsAreReplaced) {
  TensorMap map; // of another tensor
  map.magic = TensorMap::kMagic;
  map.address = 16;
  map.rank = 2;
  map.element = 2;
  map.swizzle = 1;
  map.fills_with_nan = 1;
  map.strides[0] = 2;
  const std::string shared = "@!%p0 tensormap.replace.tile.";
  expect_numbers(run_on(map, shared + "global_address.shared::cta.b1024.b64 [%r1], %x2;\n" +
                               shared + "rank.shared::cta.b1024.b32 [%r1], 0;\n" + shared +
                               "box_dim.shared::cta.b1024.b32 [%r1], 0, %r6;\n" + shared +
                               "global_dim.shared::cta.b1024.b32 [%r1], 0, 12;\n" + shared +
                               "element_stride.shared::cta.b1024.b32 [%r1], 0, %r7;\n" + shared +
                               "elemtype.shared::cta.b1024.b32 [%r1], 2;\n" + shared +
                               "interleave_layout.shared::cta.b1024.b32 [%r1], 0;\n" + shared +
                               "swizzle_mode.shared::cta.b1024.b32 [%r1], 0;\n" + shared +
                               "fill_mode.shared::cta.b1024.b32 [%r1], 0;\n" + shared +
                               "global_stride.shared::cta.b1024.b64 [%r1], 0, %x2;\n"),
                 12);
}

TEST_F(TensorMapsTest, StridesOfOlderPtxAreInUnitsOf16Bytes) {
  for (const bool is_older : {true, false}) {
    load_whole(std::string(is_older ? ".version 8.4" : ".version 8.5") +
               "\n.target sm_90a\n.address_size 64\n"
               ".visible .entry k(.param .u64 p) { .reg .b64 %x; ld.param.u64 %x, [p];\n"
               "tensormap.replace.tile.global_stride.global.b1024.b64 [%x], 1, 5; ret; }\n");
    const std::uint64_t p = put(std::vector<std::uint64_t>(TensorMap::kBytes / 8));
    EXPECT_EQ(run({1}, {1}, {p}).end, End::kDone);
    EXPECT_EQ(get<std::uint64_t>(p + offsetof(TensorMap, strides) + 16, 1)[0], is_older ? 80u : 5u);
  }
}

TEST_F(TensorMapsTest, AMapOfAnotherTensorGetsItsAddressAlone) {
  TensorMap map;
  map.magic = TensorMap::kMagic;
  map.rank = map.steps[0] = 1;
  map.element = 4;
  map.strides[0] = 4;
  map.sizes[0] = map.box[0] = 16;
  map.type = 2;
  expect_numbers(
    run_on(map, "@!%p0 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %x2;\n"),
    16);
}

// CUTLASS stores tiles so.
TEST_F(TensorMapsTest, LanesThatStoreTheSameBoxDoNotRace) {
  TensorMap map;
  map.magic = TensorMap::kMagic;
  map.rank = map.steps[0] = 1;
  map.element = 4;
  map.strides[0] = 4;
  map.sizes[0] = map.box[0] = 32;
  map.type = 2;
  map.address = put(std::vector<std::uint32_t>(32));
  load(
    ".shared .align 128 .b8 s[128];\n"
    ".visible .entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %x<2>; ld.param.u64 %x0, [p];\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;\n"
    "st.shared.b32 [%r2], %r0; fence.proxy.async; bar.warp.sync 0xffffffff; mov.u32 %r3, 0;\n"
    "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%x0, {%r3}], [%r1];\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n");
  std::vector<std::uint64_t> words(TensorMap::kBytes / sizeof(std::uint64_t));
  std::memcpy(words.data(), &map, sizeof map);
  EXPECT_EQ(run({1}, {32}, {put(words)}).end, End::kDone);
  const auto stored = get<std::uint32_t>(map.address, 32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(stored[i], i);
  EXPECT_TRUE(recorder_.reports.empty());
}

} // namespace
} // namespace gmt::executor
