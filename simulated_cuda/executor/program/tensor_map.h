// SPDX-License-Identifier: Apache-2.0
// A tensor map, as the simulated device lays it out in the 128 bytes of a CUtensorMap (CUDA leaves
// that open): where a tensor lies, and which box of it a copy moves. Dimension 0 is the one whose
// elements lie side by side.
//
// im2col: dimension 0 are the channels of a pixel, the last one is the image, and those between
// are the image's. A copy takes pixels one after the other, row by row, inside of a box that begins
// `lower` behind the image's beginning and ends `upper` behind its end, and goes on in the next
// image. Offsets that the copy gives move each pixel.
//
// Interleaved: the channels of a pixel lie in slices of 16 or 32 bytes. Dimension 0 is a row's
// pixels, a slice from each to the next, and the last but one counts slices; as an H100 has it.
#pragma once

#include <cstdint>

namespace gmt::executor {

struct TensorMap {
  static constexpr std::uint32_t kMostRank = 5, kBytes = 128, kMostOffsets = 3;
  static constexpr std::uint32_t kMagic = 0x544d4701; // else it is no map

  std::uint32_t magic = 0;
  std::uint8_t is_im2col = 0; // 2: of cuTensorMapEncodeIm2colWide, whose copies newer GPUs have
  std::uint8_t slice = 0;     // bytes, where channels are interleaved; 0: they are not
  std::uint64_t address = 0;
  std::uint64_t strides[kMostRank] = {}; // bytes; the first is that of an element
  std::uint64_t sizes[kMostRank] = {};   // elements
  std::uint16_t box[kMostRank] = {};     // elements that a copy passes over; im2col: channels,
                                         // pixels
  std::uint8_t steps[kMostRank] = {};    // every so many of them is moved
  std::uint8_t rank = 0;
  std::uint8_t element = 0; // bytes
  std::uint8_t type = 0;    // CUtensorMapDataType
  std::uint8_t swizzle = 0; // shared memory: rows of 16 << swizzle bytes are mixed; 0: none
  std::uint8_t fills_with_nan = 0;
  std::int16_t lower[kMostOffsets] = {}, upper[kMostOffsets] = {};
};
static_assert(sizeof(TensorMap) <= TensorMap::kBytes);

} // namespace gmt::executor
