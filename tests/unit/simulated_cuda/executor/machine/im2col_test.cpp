// SPDX-License-Identifier: Apache-2.0
// Copies of tensors by maps of im2col leave in shared memory what an H100 left.
#include "simulated_cuda/executor/program/tensor_map.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <numeric>

namespace gmt::executor {
namespace {

// Sizes and coordinates begin with the channels and end with the image. `hash` is the recorded one,
// of all words.
struct PixelCopy {
  std::uint32_t rank;
  int sizes[5];
  int lower[3], upper[3];
  int channels, pixels;
  int steps[5];
  int swizzle, fills_with_nan;
  int at[5];
  int offsets[3];
  std::uint64_t hash;
};

// clang-format off: a copy a line
constexpr PixelCopy kCopies[] = {
  {3, {8, 6, 3}, {0}, {0}, 8, 4, {1, 1, 1}, 0, 0, {0, 0, 0}, {0}, 0xe6cb594c1a148ac5},
  {3, {8, 6, 3}, {-1}, {-1}, 8, 8, {1, 1, 1}, 0, 0, {0, -1, 0}, {0}, 0x4693e52177e5a875},
  {3, {8, 6, 3}, {-1}, {-1}, 8, 8, {1, 1, 1}, 0, 0, {0, -1, 0}, {2}, 0xe7940fe9f18f7ced},
  {4, {8, 6, 5, 3}, {0}, {0}, 8, 16, {1, 1, 1, 1}, 0, 0, {0}, {0}, 0x356c6cc8137514a5},
  {4, {8, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 16, {1, 1, 1, 1}, 0, 0, {0, -1, -1}, {0}, 0xa19ea41bcd568a05},
  {4, {8, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 16, {1, 1, 1, 1}, 0, 0, {0, 2, 1, 1}, {2, 1}, 0x33cdfd79a125673d},
  {4, {8, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 64, {1, 1, 1, 1}, 0, 0, {0, 2, 1, 1}, {2, 2}, 0xa3a84dbc9082d78d},
  {4, {8, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 12, {1, 2, 2, 1}, 0, 0, {0, -1, -1}, {0}, 0x673fa9f467db7ac5},
  {4, {8, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 12, {1, 2, 2, 1}, 0, 0, {0, -1, -1}, {1, 1}, 0xebc817f57854f745},
  {4, {16, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 16, {1, 1, 1, 1}, 0, 0, {8, -1, -1, 1}, {1}, 0x6eb53f58e94f0a15},
  {4, {16, 6, 5, 3}, {-1, -1}, {-1, -1}, 16, 16, {1, 1, 1, 1}, 2, 0, {8, -1, -1, 1}, {1}, 0x485fd69b79e77ed5},
  {4, {32, 6, 5, 3}, {-1, -1}, {-1, -1}, 32, 16, {1, 1, 1, 1}, 3, 0, {0, 1, 0, 1}, {0, 2}, 0xf0225b86aaac11a5},
  {4, {8, 6, 5, 3}, {-2, -1}, {0, 1}, 8, 16, {1, 1, 1, 1}, 0, 0, {0, -2, -1}, {1, 1}, 0x1d195cbd92189f85},
  {5, {8, 4, 3, 3, 2}, {-1, -1, -1}, {-1, -1, -1}, 8, 32, {1, 1, 1, 1, 1}, 0, 0, {0, -1, -1, -1}, {0, 1, 2}, 0xc25709db5447c6d5},
  {5, {8, 4, 3, 3, 2}, {-1, 0, -1}, {-1, -1, 0}, 8, 32, {1, 1, 1, 1, 1}, 0, 0, {0, 1, 1}, {1, 0, 1}, 0xc12e469121d50465},
  {4, {8, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 16, {1, 1, 1, 1}, 0, 1, {0, -1, -1, 2}, {2, 2}, 0x6bee215a8594c5c5},
  {4, {8, 6, 5, 3}, {-1, -1}, {-1, -1}, 8, 32, {1, 1, 1, 1}, 0, 0, {0, 3, 3, 2}, {2, 2}, 0xd80ac658736bb725},
};
// clang-format on

class Im2col : public KernelRunner {
protected:
  static TensorMap map_of(const PixelCopy& copy, std::uint64_t address) {
    constexpr std::uint8_t kWord = 4, kUnsigned = 2, kFloat = 7;
    TensorMap map;
    map.magic = TensorMap::kMagic;
    map.is_im2col = 1;
    map.address = address;
    map.rank = static_cast<std::uint8_t>(copy.rank);
    map.element = kWord;
    map.type = copy.fills_with_nan != 0 ? kFloat : kUnsigned;
    map.swizzle = static_cast<std::uint8_t>(copy.swizzle);
    map.fills_with_nan = static_cast<std::uint8_t>(copy.fills_with_nan);
    map.box[0] = static_cast<std::uint16_t>(copy.channels);
    map.box[1] = static_cast<std::uint16_t>(copy.pixels);
    std::uint64_t stride = kWord;
    for (std::uint32_t d = 0; d < copy.rank; ++d) {
      map.sizes[d] = static_cast<std::uint64_t>(copy.sizes[d]);
      map.strides[d] = stride;
      stride *= map.sizes[d];
      map.steps[d] = static_cast<std::uint8_t>(copy.steps[d]);
      if (d >= TensorMap::kMostOffsets) continue;
      map.lower[d] = static_cast<std::int16_t>(copy.lower[d]);
      map.upper[d] = static_cast<std::int16_t>(copy.upper[d]);
    }
    return map;
  }
  static std::string list(const int* values, std::uint32_t count) {
    std::string text = "{" + std::to_string(values[0]);
    for (std::uint32_t i = 1; i < count; ++i) text += ", " + std::to_string(values[i]);
    return text + "}";
  }
  static std::string kernel(const PixelCopy& copy, const std::string& way) {
    const std::string bytes = std::to_string(copy.channels * copy.pixels * 4);
    std::string text = ".shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 b;\n"
                       ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
                       ".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %x<4>; .reg .b16 %h<3>;\n"
                       "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, s;\n"
                       "mbarrier.init.shared.b64 [b], 1;\n"
                       "mbarrier.arrive.expect_tx.shared::cta.b64 %x2, [b], " +
                       bytes + ";\n";
    for (std::uint32_t d = 0; d + 2 < copy.rank; ++d)
      text += "mov.b16 %h" + std::to_string(d) + ", " + std::to_string(copy.offsets[d]) + ";\n";
    text += "cp.async.bulk.tensor." + std::to_string(copy.rank) + "d.shared::cluster.global." +
            way + ".mbarrier::complete_tx::bytes [%r0], [%x0, " + list(copy.at, copy.rank) +
            "], [b]";
    constexpr const char* kOffsets[] = {", {%h0}", ", {%h0, %h1}", ", {%h0, %h1, %h2}"};
    if (way == "im2col") text += kOffsets[copy.rank - 3];
    return text +
           ";\nW: mbarrier.try_wait.parity.shared.b64 %p0, [b], 0; @!%p0 bra W; mov.u32 %r1, 0;\n"
           "L: ld.shared.b32 %r2, [%r0]; st.global.b32 [%x1], %r2; add.u32 %r0, %r0, 4;\n"
           "add.u64 %x1, %x1, 4; add.u32 %r1, %r1, 4; setp.lt.u32 %p1, %r1, " +
           bytes + "; @%p1 bra L; ret; }\n";
  }
  End run_copy(const PixelCopy& copy, const std::string& way, std::vector<std::uint32_t>* words) {
    load(kernel(copy, way));
    std::vector<std::uint32_t> numbers(1 << 16);
    std::iota(numbers.begin(), numbers.end(), 0u);
    const TensorMap map = map_of(copy, put(numbers));
    std::vector<std::uint64_t> bytes(TensorMap::kBytes / sizeof(std::uint64_t));
    std::memcpy(bytes.data(), &map, sizeof map);
    const auto count = static_cast<std::size_t>(copy.channels * copy.pixels);
    const std::uint64_t q = allocate(count * 4);
    const End end = run({1}, {1}, {put(bytes), q}).end;
    *words = get<std::uint32_t>(q, count);
    return end;
  }
};

TEST_F(Im2col, LeavesWhatAnH100Left) {
  for (const PixelCopy& copy : kCopies) {
    std::vector<std::uint32_t> words;
    ASSERT_EQ(run_copy(copy, "im2col", &words), End::kDone);
    std::uint64_t hash = 14695981039346656037ull;
    for (const std::uint32_t word : words) hash = (hash ^ word) * 1099511628211ull;
    EXPECT_EQ(hash, copy.hash) << &copy - kCopies;
  }
  EXPECT_TRUE(recorder_.reports.empty());
}

TEST_F(Im2col, AMapOfTheOtherWayIsRefused) {
  PixelCopy copy = kCopies[0];
  std::vector<std::uint32_t> words;
  run_copy(copy, "tile", &words);
  ASSERT_FALSE(recorder_.reports.empty());
  EXPECT_EQ(recorder_.reports[0].kind, ReportKind::kOther);
  EXPECT_NE(recorder_.reports[0].message.find("im2col, and the copy is not"), std::string::npos);
}

} // namespace
} // namespace gmt::executor
