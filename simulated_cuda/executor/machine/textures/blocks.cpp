// SPDX-License-Identifier: Apache-2.0
// As an H100 computes them: colours of 8 bits, of which red and blue have other steps between the
// ends than green; single channels (BC4, BC5) of 16 bits, whose steps are parts of 257.
#include "simulated_cuda/executor/machine/textures/blocks.h"

#include "simulated_cuda/executor/machine/textures/bc6.h"
#include "simulated_cuda/executor/machine/textures/bc7.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kWholeByte = 255, kWholeWord = 65535, kWholeSigned = 32767;

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Eight codes of a colour's channel: five or six bits, as bytes.
int wide5(int value) { return value << 3 | value >> 2; }
int wide6(int value) { return value << 2 | value >> 4; }

struct Color {
  int red, green, blue; // as they lie there
};
Color color_of(std::uint32_t bits) {
  return {static_cast<int>(bits >> 11), static_cast<int>(bits >> 5 & 0x3f),
          static_cast<int>(bits & 0x1f)};
}

// `first` is nearer, by 2 to 1 or, `is_half`, as near as the other.
int mixed5(int first, int second, bool is_half) {
  return is_half ? (first + second) * 33 / 8 : (2 * first + second) * 22 / 8;
}
int mixed6(int first, int second, bool is_half) {
  const int from = wide6(first), step = wide6(second) - from;
  return (256 * from + step / 4 + 128 + step * (is_half ? 128 : 80)) / 256;
}

// Eight bytes of two colours and 16 codes. False: it is transparent black, which BC1 alone has.
bool color_at(const std::byte* block, std::uint32_t index, bool always_four, std::uint32_t* words) {
  const auto first_bits = read<std::uint16_t>(block), second_bits = read<std::uint16_t>(block + 2);
  const std::uint32_t code = read<std::uint32_t>(block + 4) >> (2 * index) & 3;
  const bool is_four = always_four || first_bits > second_bits;
  if (!is_four && code == 3) return false;
  const bool is_first = code % 2 == 0;
  const Color near = color_of(is_first ? first_bits : second_bits),
              far = color_of(is_first ? second_bits : first_bits);
  const bool is_end = code < 2;
  const int color[] = {is_end ? wide5(near.red) : mixed5(near.red, far.red, !is_four),
                       is_end ? wide6(near.green) : mixed6(near.green, far.green, !is_four),
                       is_end ? wide5(near.blue) : mixed5(near.blue, far.blue, !is_four)};
  for (std::size_t c = 0; c < 3; ++c) words[c] = static_cast<std::uint32_t>(color[c]);
  return true;
}

// Eight bytes of two ends and 16 codes of three bits.
struct Ramp {
  int first = 0, second = 0;
  std::uint32_t code = 0;
  bool has_six = false; // values between the ends, not four and the two extremes
};
Ramp ramp_at(const std::byte* block, std::uint32_t index, bool is_signed) {
  Ramp ramp;
  ramp.first = is_signed ? read<std::int8_t>(block) : read<std::uint8_t>(block);
  ramp.second = is_signed ? read<std::int8_t>(block + 1) : read<std::uint8_t>(block + 1);
  ramp.has_six = ramp.first > ramp.second;
  if (is_signed) {
    ramp.first = std::max(ramp.first, -127);
    ramp.second = std::max(ramp.second, -127);
  }
  ramp.code = static_cast<std::uint32_t>(read<std::uint64_t>(block) >> (16 + 3 * index) & 7);
  return ramp;
}
bool is_extreme(const Ramp& ramp) { return !ramp.has_six && ramp.code >= 6; }

// How far the value lies from the nearer end, in 257ths of a step; `from_second`: which that is.
int distance_of(const Ramp& ramp, bool* from_second) {
  static constexpr int kOfSix[] = {0, 0, 36, 72, 144, 144, 72, 36};
  static constexpr int kOfFour[] = {0, 0, 48, 96, 96, 48, 0, 0};
  static constexpr bool kFromSecond[2][8] = {{false, true, false, false, true, true, false, false},
                                             {false, true, false, false, true, false, true, true}};
  *from_second = kFromSecond[ramp.has_six ? 1 : 0][ramp.code];
  return (ramp.has_six ? kOfSix : kOfFour)[ramp.code];
}

// 16 bits, with a sign if the ends have one.
int word_of_end(int end, bool is_signed) {
  if (!is_signed) return end * 257;
  const int size = std::abs(end), word = size * 258 + (size >> 6);
  return end < 0 ? -word : word;
}
std::uint32_t word_of(const Ramp& ramp, bool is_signed) {
  const int most = static_cast<int>(is_signed ? kWholeSigned : kWholeWord);
  if (is_extreme(ramp)) {
    const int least = is_signed ? -most : 0;
    return static_cast<std::uint32_t>(ramp.code == 6 ? least : most);
  }
  bool from_second = false;
  const int part = distance_of(ramp, &from_second) * (ramp.second - ramp.first);
  const int word = from_second ? word_of_end(ramp.second, is_signed) - part
                               : word_of_end(ramp.first, is_signed) + part;
  return static_cast<std::uint32_t>(word);
}

// The same as a byte, of BC3's last channel: 1/7 of a step is 289/2048 of it, and 1/5 is 385/2048.
std::uint32_t byte_of(const Ramp& ramp) {
  if (is_extreme(ramp)) return ramp.code == 6 ? 0 : kWholeByte;
  bool from_second = false;
  const int distance = distance_of(ramp, &from_second);
  const int step = from_second ? ramp.first - ramp.second : ramp.second - ramp.first;
  const int part = distance / (ramp.has_six ? 36 : 48); // 1, 2 or 4 of them
  const int size = (std::abs(step) * (8 * distance + part) + 1024) >> 11;
  const int end = from_second ? ramp.second : ramp.first;
  return static_cast<std::uint32_t>(step < 0 ? end - size : end + size);
}

} // namespace

Texel texel_of_block(const Texture& t, const std::byte* block, std::uint32_t index) {
  Texel texel;
  switch (t.packing) {
  case TexelPacking::kBc1:
    texel.word[3] = color_at(block, index, false, texel.word) ? kWholeByte : 0;
    break;
  case TexelPacking::kBc2:
    color_at(block + 8, index, true, texel.word);
    texel.word[3] = static_cast<std::uint32_t>(read<std::uint64_t>(block) >> (4 * index) & 15) * 17;
    break;
  case TexelPacking::kBc3:
    color_at(block + 8, index, true, texel.word);
    texel.word[3] = byte_of(ramp_at(block, index, false));
    break;
  case TexelPacking::kBc6:
    bc6_texel(block, t.kind_of_bits == TexelKind::kSigned, index, texel.word);
    for (std::size_t c = 0; c < 3; ++c) texel.word[c] = as_bits(float_of_half(texel.word[c]));
    texel.word[3] = as_bits(1);
    break;
  case TexelPacking::kBc7: bc7_texel(block, index, texel.word); break;
  default: {
    const bool is_signed = t.kind == TexelKind::kSigned;
    texel.word[0] = word_of(ramp_at(block, index, is_signed), is_signed);
    if (t.packing == TexelPacking::kBc5)
      texel.word[1] = word_of(ramp_at(block + 8, index, is_signed), is_signed);
    texel.word[3] = is_signed ? kWholeSigned : kWholeWord;
    break;
  }
  }
  return texel;
}

} // namespace gmt::executor
