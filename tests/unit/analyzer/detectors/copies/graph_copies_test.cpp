// SPDX-License-Identifier: Apache-2.0
// Copies and sets of graph nodes made by hand, checked when the node is made or changed: as copies
// of streams are.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kGraph = 0x99, kNode = 0x40;
constexpr std::uint64_t kHeap = 0x555500001000;   // the program's own
constexpr std::uint64_t kMemcpy = 1, kMemset = 2; // CUgraphNodeType

class GraphCopies : public AnalysisTest {
protected:
  GraphCopies() {
    expect_only(
      {"api-error", "copy-direction", "copy-out-of-bounds", "copy-overlap", "use-after-free"});
    trace.info.push_back("heap_begin=" + std::to_string(kHeap));
    trace.info.push_back("heap_end=" + std::to_string(kHeap + kMiB));
  }
  // The two records of a copy node, which has these words and flags of a copy.
  void node(std::vector<std::uint64_t> copy, std::uint16_t flags, std::uint16_t code = 0) {
    copy.resize(trace::CopyWord::kCount);
    const trace::CopyView view(trace::Payload{copy.data(), copy.size()});
    const auto call = [&](std::uint16_t use) {
      return Call{.api = "cuGraphAddMemcpyNode",
                  .via = "cudaGraphAddMemcpyNode1D",
                  .result = code,
                  .stack = {0x600},
                  .flags = use};
    };
    Made<trace::UseFields> made;
    made.address(view.destination())
      .bytes(view.width())
      .use(trace::UseClass::kGraphNode)
      .graph(kGraph);
    made.pitch(view.destination_pitch()).width(view.width()).height(view.height()).element_bytes(1);
    made.node(kNode).part(0).node_type(kMemcpy);
    std::vector<std::uint64_t> words = words_of(made);
    words.insert(words.end(), copy.begin(), copy.end());
    words.push_back(flags);
    log().record(Kind::kUse, call(trace::kUseWrites), words);
    log().record(call(trace::kUseReads | trace::kUseOfRecordedCopy),
                 made.address(view.source()).part(1));
  }
  void flat(std::uint64_t to, Side to_side, std::uint64_t from, Side from_side, std::uint64_t bytes,
            std::uint16_t code = 0) {
    node({to, from, bytes, 0, bytes, bytes, bytes, 1, 1, 1, 1},
         trace::copy_flags(to_side, from_side, false), code);
  }
  void set(std::uint64_t to, std::uint64_t bytes, std::uint16_t code = 0) {
    log().record(
      {.api = "cuGraphAddMemsetNode", .result = code, .stack = {0x610}, .flags = trace::kUseWrites},
      Made<trace::UseFields>()
        .address(to)
        .bytes(bytes)
        .use(trace::UseClass::kGraphNode)
        .graph(kGraph)
        .pitch(bytes)
        .width(bytes)
        .height(1)
        .element_bytes(1)
        .node(kNode)
        .part(0)
        .node_type(kMemset));
  }
  void memory() {
    cuda_malloc(kA, 4096);
    cuda_malloc(kB, 4096, 0x101);
  }
};

TEST_F(GraphCopies, RightOnes) {
  memory();
  flat(kA, Side::kDevice, kB, Side::kDevice, 4096);
  flat(kHeap, Side::kHost, kA, Side::kDevice, 4096);
  flat(kA, Side::kUnified, kHeap, Side::kUnified, 4096);
  set(kA, 4096);
  run();
  for (const char* kind : {"copy-direction", "copy-out-of-bounds", "copy-overlap"}) {
    EXPECT_EQ(find(kind), nullptr) << kind;
  }
}

TEST_F(GraphCopies, Overlap) {
  memory();
  flat(kA, Side::kDevice, kA + 60, Side::kDevice, 100);
  run();
  ASSERT_NE(find("copy-overlap"), nullptr);
  EXPECT_EQ(find("copy-overlap")->message,
            "cudaGraphAddMemcpyNode1D copies 100 bytes from 0x7f32a000003c to "
            "0x7f32a0000000, which overlap in 40 bytes: what arrives is undefined.");
  EXPECT_EQ(labels(*find("copy-overlap")), "node made here|allocated here");
}

TEST_F(GraphCopies, OverlapInAnArray) {
  constexpr std::uint64_t kArray = 0x55550000;
  log().alloc({.api = "cuArray3DCreate_v2"}, MemoryKind::kArray, kArray, 256 * 64, 0,
              {0, 256, 64, 0, 4, 0, 0});
  const auto copy = [&](std::uint64_t from_row, std::uint16_t code) {
    node({kArray, kArray, 256 * 40, 0, 0, 0, 256, 40, 1, 0, 0, 0, 0, 0, 0, from_row, 0},
         trace::copy_flags(Side::kArray, Side::kArray, false), code);
  };
  copy(10, 0);
  copy(30, 0);
  run();
  ASSERT_NE(find("copy-overlap"), nullptr);
  EXPECT_NE(find("copy-out-of-bounds"), nullptr);
  EXPECT_EQ(find("copy-out-of-bounds")->bytes, 6 * 256u);
}

TEST_F(GraphCopies, DeviceMemoryDeclaredHost) {
  memory();
  flat(kA, Side::kDevice, kB, Side::kHost, 100);
  run();
  ASSERT_NE(find("copy-direction"), nullptr);
  EXPECT_EQ(
    find("copy-direction")->message,
    "cudaGraphAddMemcpyNode1D takes its source for host memory, but that is 4.0 KiB of device memory allocated by "
    "cudaMalloc; CUDA accepted the graph's node silently.");
  EXPECT_EQ(labels(*find("copy-direction")), "node made here|allocated here");
}

TEST_F(GraphCopies, HostPointers) {
  memory();
  flat(kA, Side::kDevice, kHeap, Side::kDevice, 100);
  set(kHeap, 100);
  set(kC, 100); // in memory that may have gone unseen
  run();
  std::size_t found = 0;
  for (const ReportedFinding& f : result.findings) {
    if (f.kind != "copy-direction") continue;
    ++found;
    EXPECT_NE(f.message.find("is a host pointer (0x555500001000"), std::string::npos) << f.message;
  }
  EXPECT_EQ(found, 2u);
}

TEST_F(GraphCopies, RefusedNodesAreExplained) {
  memory();
  flat(kA, Side::kDevice, kHost, Side::kDevice, 100, 1);
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_EQ(kinds(), "copy-direction");
}

TEST_F(GraphCopies, Pitches) {
  expect_only({"pitch-mismatch"});
  log().alloc({.api = "cuMemAllocPitch_v2", .via = "cudaMallocPitch"}, MemoryKind::kPitched, kC,
              512 * 64, 0, {512, 400, 64, 1, 4, 0, 0});
  const auto rows = [this](std::uint64_t pitch) {
    node({kC, kHeap, 400 * 64, 0, pitch, 400, 400, 64, 1, 64, 64},
         trace::copy_flags(Side::kDevice, Side::kHost, false));
  };
  rows(512);
  flat(kHeap, Side::kHost, kC + 512, Side::kDevice, 400);
  run();
  EXPECT_EQ(find("pitch-mismatch"), nullptr);
  rows(400);
  flat(kHeap, Side::kHost, kC, Side::kDevice, 400 * 64);
  run();
  ASSERT_EQ(kinds(), "pitch-mismatch pitch-mismatch");
  EXPECT_EQ(labels(result.findings[0]), "node made here|allocated here");
}

// What CUDA accepted may lie in memory that went unseen; what reaches from there into a block of
// the device's does not.
TEST_F(GraphCopies, UnseenMemoryBehindABlock) {
  memory();
  flat(kA + 4096, Side::kDevice, kB, Side::kDevice, 100);
  run();
  EXPECT_EQ(find("copy-out-of-bounds"), nullptr);
}

TEST_F(GraphCopies, BothSidesAreBounded) {
  memory();
  flat(kHost, Side::kHost, kA, Side::kDevice, 5000);
  flat(kA - 16, Side::kDevice, kB, Side::kDevice, 100);
  cuda_free(kA);
  cuda_free(kB);
  run();
  ASSERT_EQ(kinds(), "copy-out-of-bounds copy-out-of-bounds");
  EXPECT_NE(result.findings[0].message.find("reads 904 bytes past the end of its source"),
            std::string::npos);
  EXPECT_NE(result.findings[1].message.find("that begin 16 bytes before a block of 4,096 bytes"),
            std::string::npos);
  EXPECT_EQ(labels(result.findings[1]), "node made here|allocated here");
}

} // namespace
} // namespace gmt::test
