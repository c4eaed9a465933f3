// SPDX-License-Identifier: Apache-2.0
// What a texture or surface object says: where its texels lie, how they become values, and which
// texels a coordinate means. A kernel names it by the 64 bits of its handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt::executor {

enum class TexelKind : std::uint8_t { kUnsigned, kSigned, kFloat };
// How texels lie there: channel by channel, as 10, 10, 10 and 2 bits of a word, or in blocks of 4
// x 4.
enum class TexelPacking : std::uint8_t {
  kPlain,
  k1010102,
  kBc1,
  kBc2,
  kBc3,
  kBc4,
  kBc5,
  kBc6,
  kBc7
};
enum class AddressMode : std::uint8_t { kWrap, kClamp, kMirror, kBorder }; // as CUaddress_mode

// Texels of one level, row by row. An array's lie where the host reads and writes them; those of
// linear memory at an address of the device, which is checked at each access.
struct TexelRows {
  std::byte* host = nullptr; // null: linear memory
  std::uint64_t address = 0;
  std::uint64_t pitch = 0, slice = 0;             // bytes from a row, a slice, to the next
  std::uint32_t width = 0, height = 1, depth = 1; // texels; depth: slices or layers
};

struct Texture {
  bool is_surface = false, is_linear_memory = false; // without rows: of one dimension
  std::uint8_t dimensions = 1;                       // of an array: 1 to 3, layers left out
  bool is_layered = false, is_cube = false;
  TexelKind kind = TexelKind::kUnsigned;
  // Of texels that are no plain ones: as of what they become
  std::uint8_t channel_bytes = 4, channels = 1;
  TexelPacking packing = TexelPacking::kPlain;
  TexelKind kind_of_bits = TexelKind::kUnsigned; // of BC6H, whose texels are floats
  AddressMode modes[3] = {AddressMode::kClamp, AddressMode::kClamp, AddressMode::kClamp};
  bool interpolates = false, interpolates_levels = false;
  bool is_normalized = false;   // coordinates are parts of the whole
  bool reads_fractions = false; // integers of 8 and 16 bits become floats up to 1
  bool is_srgb = false;
  bool is_seamless = false; // a cube
  float bias = 0, least_level = 0, most_level = 0;
  float border[4] = {};
  std::vector<TexelRows> levels;

  bool is_of_blocks() const { return packing >= TexelPacking::kBc1; }
  // Of a texel, or of a block of them.
  std::uint32_t texel_bytes() const {
    if (packing == TexelPacking::kBc1 || packing == TexelPacking::kBc4) return 8;
    if (is_of_blocks()) return 16;
    return packing == TexelPacking::k1010102 ? 4 : std::uint32_t{channel_bytes} * channels;
  }
};

// What a handle leads to.
struct FoundTexture {
  enum class State : std::uint8_t { kUnknown, kDestroyed, kFreed, kAlive };
  State state = State::kUnknown;
  const Texture* texture = nullptr; // null: unknown or destroyed
};

} // namespace gmt::executor
