// SPDX-License-Identifier: Apache-2.0
// Copies of tensors whose channels are interleaved, or whose type changes what is moved, leave what
// an H100 left.
#include "simulated_cuda/executor/program/tensor_map.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <algorithm>
#include <numeric>

namespace gmt::executor {
namespace {

template <class Words>
std::uint64_t hash_of(const Words& words) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 1099511628211ull;
  return hash;
}

// By dimension, a row's pixels first. im2col: `box` begins with channels and pixels.
struct SliceCopy {
  std::uint32_t rank, element, slice, swizzle;
  bool fills_with_nan, is_im2col;
  int sizes[5], box[5], at[5], steps[5], lower[3], upper[3];
  std::uint32_t bytes;
  std::uint64_t hash; // of the box's words
};

constexpr SliceCopy kSliceCopies[] = {
#include "tests/unit/simulated_cuda/executor/machine/interleaved.h100"
};

// Bytes from an index of a dimension to the next one, from dimension 1 on.
constexpr std::uint64_t kStrides[] = {2048, 32768, 524288, 4 << 20};

class TensorKinds : public KernelRunner {
protected:
  static TensorMap map_of(const SliceCopy& copy, std::uint64_t address) {
    constexpr std::uint8_t kHalf = 6, kUnsigned[] = {0, 0, 1, 0, 2, 0, 0, 0, 4};
    TensorMap map;
    map.magic = TensorMap::kMagic;
    map.is_im2col = copy.is_im2col ? 1 : 0;
    map.address = address;
    map.rank = static_cast<std::uint8_t>(copy.rank);
    map.element = static_cast<std::uint8_t>(copy.element);
    map.type = copy.fills_with_nan ? kHalf : kUnsigned[copy.element];
    map.swizzle = static_cast<std::uint8_t>(copy.swizzle);
    map.slice = static_cast<std::uint8_t>(copy.slice);
    map.fills_with_nan = copy.fills_with_nan ? 1 : 0;
    map.strides[0] = copy.element;
    for (std::uint32_t d = 0; d < copy.rank; ++d) {
      if (d != 0) map.strides[d] = kStrides[d - 1];
      map.sizes[d] = static_cast<std::uint64_t>(copy.sizes[d]);
      map.box[d] = static_cast<std::uint16_t>(copy.box[d]);
      map.steps[d] = static_cast<std::uint8_t>(copy.steps[d]);
      if (d >= TensorMap::kMostOffsets) continue;
      map.lower[d] = static_cast<std::int16_t>(copy.lower[d]);
      map.upper[d] = static_cast<std::int16_t>(copy.upper[d]);
    }
    return map;
  }
  std::uint64_t put_map(const TensorMap& map) {
    std::vector<std::uint64_t> words(TensorMap::kBytes / sizeof(std::uint64_t));
    std::memcpy(words.data(), &map, sizeof map);
    return put(words);
  }
  // Copies a box to shared memory, and its words to q.
  static std::string load_kernel(std::uint32_t rank, bool is_im2col, const int* at,
                                 std::uint32_t bytes) {
    std::string coordinates;
    for (std::uint32_t d = 0; d < rank; ++d)
      coordinates += (d == 0 ? "" : ", ") + std::to_string(at[d]);
    const std::string size = std::to_string(bytes);
    return ".shared .align 1024 .b8 s[" + size +
           "]; .shared .align 8 .b64 b;\n"
           ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
           ".reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %x<3>; mov.u32 %r0, s; mov.u32 %r1, 0;\n"
           "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mbarrier.init.shared.b64 [b], 1;\n"
           "mbarrier.arrive.expect_tx.shared::cta.b64 %x2, [b], " +
           size + ";\ncp.async.bulk.tensor." + std::to_string(rank) + "d.shared::cluster.global." +
           (is_im2col ? "im2col_no_offs" : "tile") +
           ".mbarrier::complete_tx::bytes [%r0], [%x0, {" + coordinates +
           "}], [b];\nW: mbarrier.try_wait.parity.shared.b64 %p0, [b], 0; @!%p0 bra W;\n"
           "L: ld.shared.b32 %r2, [%r0]; st.global.b32 [%x1], %r2; add.u32 %r0, %r0, 4;\n"
           "add.u64 %x1, %x1, 4; add.u32 %r1, %r1, 4; setp.lt.u32 %p1, %r1, " +
           size + "; @%p1 bra L; ret; }\n";
  }
  // The words at v go to shared memory, and from there into the tensor.
  static std::string sum_kernel(const std::string& operation, std::uint32_t bytes) {
    const std::string size = std::to_string(bytes);
    return ".shared .align 128 .b8 s[" + size +
           "];\n.visible .entry k(.param .u64 p, .param .u64 v) {\n"
           ".reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %x<3>; mov.u32 %r0, s; mov.u32 %r1, 0;\n"
           "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [v]; mov.u32 %r3, s;\n"
           "L: ld.global.b32 %r2, [%x1]; st.shared.b32 [%r0], %r2; add.u32 %r0, %r0, 4;\n"
           "add.u64 %x1, %x1, 4; add.u32 %r1, %r1, 4; setp.lt.u32 %p1, %r1, " +
           size +
           "; @%p1 bra L;\nfence.proxy.async; mov.u32 %r1, 0;\n"
           "cp.reduce.async.bulk.tensor.1d.global.shared::cta." +
           operation +
           ".tile.bulk_group [%x0, {%r1}], [%r3];\n"
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n";
  }
  static TensorMap row_of(std::uint32_t type, std::uint32_t element, std::uint64_t address,
                          std::size_t bytes) {
    TensorMap map;
    map.magic = TensorMap::kMagic;
    map.rank = map.steps[0] = 1;
    map.type = static_cast<std::uint8_t>(type);
    map.element = static_cast<std::uint8_t>(element);
    map.strides[0] = element;
    map.sizes[0] = map.box[0] = static_cast<std::uint16_t>(bytes / element);
    map.address = address;
    return map;
  }
};

TEST_F(TensorKinds, InterleavedChannels) {
  std::vector<std::uint32_t> numbers(3 << 20);
  std::iota(numbers.begin(), numbers.end(), 1u);
  const std::uint64_t address = put(numbers);
  for (const SliceCopy& copy : kSliceCopies) {
    load(load_kernel(copy.rank, copy.is_im2col, copy.at, copy.bytes));
    const std::uint64_t map = put_map(map_of(copy, address)), q = allocate(copy.bytes);
    ASSERT_EQ(run({1}, {1}, {map, q}).end, End::kDone) << &copy - kSliceCopies;
    EXPECT_EQ(hash_of(get<std::uint32_t>(q, copy.bytes / 4)), copy.hash) << &copy - kSliceCopies;
  }
  expect_no_reports();
}

// ---- types that change what is moved

struct Typed {
  std::uint32_t type, element; // CUtensorMapDataType; bytes
  const char* operation;
  std::uint64_t hash; // of all words that are there then
};
constexpr Typed kSums[] = {
  {6, 2, "add", 0xd8b4f55e1e5279dd},  {6, 2, "min", 0x0387e0a3bbd4a719},
  {6, 2, "max", 0xb588a6bec69a87b2},  {9, 2, "add", 0x3c3ff0809fd95dc8},
  {9, 2, "min", 0x5fe9ddd79dce4773},  {9, 2, "max", 0xa7b69c3299731ac1},
  {7, 4, "add", 0x511c5eee63f20218},  {10, 4, "add", 0x9014ef7c3ff3fb18},
  {11, 4, "add", 0x511c5eee63f20218}, {12, 4, "add", 0x9014ef7c3ff3fb18},
  {8, 8, "add", 0x68dd4dfd748dc625},
};
constexpr Typed kLoads[] = {
  {10, 4, "", 0xcf253d3f6dc3681b},
  {11, 4, "", 0x9a12e4a00b129725},
  {12, 4, "", 0x9a12e4a00b129725},
};

std::uint32_t next_random(std::uint32_t* x) { return *x = *x * 1664525 + 1013904223; }

std::vector<std::uint32_t> floats() {
  std::vector<std::uint32_t> all = {
    0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x807fffff, 0x800000,   0x80800000,
    0x1000,     0xfff,      0x1001,     0x3000,     0x2fff,     0x3f800000, 0x3f800fff, 0x3f801000,
    0x3f801001, 0x3f802fff, 0x3f803000, 0x3f803001, 0xbf801000, 0xbf803000, 0x7f7fffff, 0x7f7ff000,
    0x7f7fefff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fc00000, 0xffc00000,
    0x7fffffff, 0xffffffff, 0x7f801fff, 0x7f802000, 0x7fa12345, 0xffdabcde, 0x40490fdb, 0xc0490fdb,
    0x358637bd, 0x4b7fffff, 0x7ff77ff7, 0x1fff};
  std::uint32_t x = 12345;
  while (all.size() < 256) all.push_back(next_random(&x));
  return all;
}

// The value that is there, and the one that comes: special ones, and sums that round.
void make_halves(std::vector<std::uint16_t>* came, std::vector<std::uint16_t>* was) {
  constexpr std::uint16_t kSpecial[] = {
    0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x8400, 0x7f,   0x80,   0x3c00,
    0xbc00, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe00, 0xffff,
    0x7f7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffc0, 0x3f80, 0x3f81, 0x7ff7};
  for (const std::uint16_t a : kSpecial) {
    for (const std::uint16_t b : kSpecial) came->push_back(a), was->push_back(b);
  }
  std::uint32_t x = 777;
  while (came->size() < 2048) {
    came->push_back(static_cast<std::uint16_t>(next_random(&x) >> 16));
    was->push_back(static_cast<std::uint16_t>(next_random(&x) >> 16));
  }
  for (std::size_t i = 1400; i < 2048; ++i)
    (*was)[i] = static_cast<std::uint16_t>((*came)[i] ^ ((*was)[i] & 0x87f));
}

TEST_F(TensorKinds, SumsOfFloats) {
  const std::vector<std::uint32_t> words = floats();
  std::vector<std::uint32_t> others;
  for (std::size_t i = 0; i < words.size(); ++i) others.push_back(words[(i * 37 + 11) % 256]);
  std::vector<std::uint16_t> came, was;
  make_halves(&came, &was);
  for (const Typed& sum : kSums) {
    const bool is_half = sum.element == 2;
    const std::uint64_t v = is_half ? put(came) : put(words), to = is_half ? put(was) : put(others);
    const std::uint32_t bytes = is_half ? 4096 : 1024, part = is_half ? 512 : 1024;
    load(sum_kernel(sum.operation, part));
    for (std::uint32_t at = 0; at < bytes; at += part) {
      const std::uint64_t map = put_map(row_of(sum.type, sum.element, to + at, part));
      ASSERT_EQ(run({1}, {1}, {map, v + at}).end, End::kDone) << &sum - kSums;
    }
    EXPECT_EQ(hash_of(get<std::uint32_t>(to, bytes / 4)), sum.hash) << &sum - kSums;
  }
  expect_no_reports();
}

// An H100 has 33 of the 104.
TEST_F(TensorKinds, ReductionsOfOtherTypesAreRefused) {
  struct Type {
    std::uint32_t element;
    const char* operations;
  };
  constexpr Type kTypes[] = {{1, ""},
                             {2, ""},
                             {4, "add min max inc dec and or xor"},
                             {4, "add min max and or xor"},
                             {8, "add min max and or xor"},
                             {8, "min max"},
                             {2, "add min max"},
                             {4, "add"},
                             {8, "add"},
                             {2, "add min max"},
                             {4, "add"},
                             {4, "add"},
                             {4, "add"}};
  constexpr std::uint32_t kBytes = 64;
  const std::uint64_t v = put(std::vector<std::uint32_t>(kBytes / 4, 3));
  for (const std::string operation : {"add", "min", "max", "inc", "dec", "and", "or", "xor"}) {
    load(sum_kernel(operation, kBytes));
    for (std::uint32_t type = 0; type < std::size(kTypes); ++type) {
      recorder_.reports.clear();
      const std::uint64_t to = put(std::vector<std::uint32_t>(kBytes / 4, 5));
      const std::uint64_t map = put_map(row_of(type, kTypes[type].element, to, kBytes));
      run({1}, {1}, {map, v});
      const bool runs =
        std::string_view(kTypes[type].operations).find(operation) != std::string::npos;
      ASSERT_EQ(recorder_.reports.empty(), runs) << operation << " of type " << type;
      if (runs) continue;
      EXPECT_EQ(recorder_.reports[0].kind, ReportKind::kIllegalInstruction);
      EXPECT_EQ(get<std::uint32_t>(to, 1)[0], 5u);
    }
  }
}

TEST_F(TensorKinds, LoadsOfTf32Round) {
  const std::uint64_t from = put(floats());
  constexpr int kBeginning = 0;
  load(load_kernel(1, false, &kBeginning, 1024));
  for (const Typed& one : kLoads) {
    const std::uint64_t map = put_map(row_of(one.type, one.element, from, 1024)),
                        q = allocate(1024);
    ASSERT_EQ(run({1}, {1}, {map, q}).end, End::kDone);
    EXPECT_EQ(hash_of(get<std::uint32_t>(q, 256)), one.hash) << one.type;
  }
  expect_no_reports();
}

TEST_F(TensorKinds, SumsOfHalvesWithoutAMap) {
  load(".shared .align 128 .b8 s[16];\n.visible .entry k(.param .u64 p) {\n"
       ".reg .b32 %r<2>; .reg .b64 %x; ld.param.u64 %x, [p]; mov.u32 %r0, s;\n"
       "mov.u32 %r1, 0x3c003c01; st.shared.b32 [s], %r1; st.shared.b32 [s+4], %r1;\n"
       "st.shared.b32 [s+8], %r1; st.shared.b32 [s+12], %r1; fence.proxy.async;\n"
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%x], [%r0], 16;\n"
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.bf16 [%x], [%r0], 16;\n"
       "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n");
  const std::uint64_t p = put(std::vector<std::uint32_t>{0x3c003c00, 0, 0xbc007c00, 0x7e000001});
  ASSERT_EQ(run({1}, {1}, {p}).end, End::kDone);
  const std::vector<std::uint32_t> wanted = {0x40004000, 0x3c003c01, 0x3c007c00, 0x3c003c01};
  EXPECT_EQ(get<std::uint32_t>(p, 4), wanted);
  expect_no_reports();
}

} // namespace
} // namespace gmt::executor
