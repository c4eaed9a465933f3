// SPDX-License-Identifier: Apache-2.0
// CUDA's descriptor structures as payload words: arrays, and copies of two and three dimensions. Overloads per
// structure version, so that one recorder serves cuMemcpy2D, its version 1 twin and the 3D forms.
// Source of the fields' meaning: cuda.h of CUDA 13.0; x offsets are bytes, z offsets count slices of `Height` rows.
#pragma once

#include <cuda.h>

#include "interposer/record.h"

namespace gmt::interposer {

// Bytes of one channel of an array element; 0 for formats whose payload is not channels (block-compressed, planar).
constexpr std::uint64_t channel_bytes(CUarray_format format) {
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT8: return 1;
  case CU_AD_FORMAT_UNSIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_HALF: return 2;
  case CU_AD_FORMAT_UNSIGNED_INT32:
  case CU_AD_FORMAT_SIGNED_INT32:
  case CU_AD_FORMAT_FLOAT: return 4;
  default: return 0;
  }
}

template <class Descriptor> std::uint64_t array_depth(const Descriptor& d) {
  if constexpr (requires { d.Depth; }) {
    return d.Depth;
  } else {
    return 0;
  }
}

// P1 payload bytes, P4..P8 pitch (0), width in bytes, height, depth, element size.
template <class Descriptor> void describe_array(Record& r, const Descriptor& d) {
  const std::uint64_t element = channel_bytes(d.Format) * d.NumChannels;
  const std::uint64_t width = std::uint64_t{d.Width} * element;
  const std::uint64_t height = d.Height;
  const std::uint64_t depth = array_depth(d);
  r.set(1, width * (height == 0 ? 1 : height) * (depth == 0 ? 1 : depth));
  r.set(5, width);
  r.set(6, height);
  r.set(7, depth);
  r.set(8, element);
}

constexpr trace::Side side_of(CUmemorytype type) {
  switch (type) {
  case CU_MEMORYTYPE_HOST: return trace::Side::kHost;
  case CU_MEMORYTYPE_DEVICE: return trace::Side::kDevice;
  case CU_MEMORYTYPE_ARRAY: return trace::Side::kArray;
  default: return trace::Side::kUnified;
  }
}

// One side of a copy: where it starts, with its offsets folded in where it is linear.
struct CopySide {
  trace::Side side;
  std::uint64_t host, device, array;
  std::uint64_t x, y, z, pitch, rows; // rows per slice, 0 for two dimensions
};

// Writes side `s` into the record; `source` chooses the words.
inline void put_side(Record& r, const CopySide& s, bool source) {
  const unsigned pointer = source ? 1 : 0;
  const unsigned offset = source ? 14 : 11;
  std::uint64_t start = s.side == trace::Side::kHost ? s.host : s.device;
  if (s.side == trace::Side::kArray) {
    start = s.array;
    r.set(offset, s.x);
    r.set(offset + 1, s.y);
    r.set(offset + 2, s.z);
  } else {
    start += s.x + (s.y + s.z * s.rows) * s.pitch;
  }
  r.set(pointer, start);
  r.set(source ? 5 : 4, s.pitch);
  r.set(source ? 10 : 9, s.rows);
}

template <class Descriptor> std::uint64_t copy_depth(const Descriptor& d) {
  if constexpr (requires { d.Depth; }) {
    return d.Depth;
  } else {
    return 1;
  }
}

template <class Descriptor> void describe_copy(Record& r, const Descriptor& d) {
  CopySide destination{side_of(d.dstMemoryType), as_word(d.dstHost), as_word(d.dstDevice), as_word(d.dstArray),
                       d.dstXInBytes, d.dstY, 0, d.dstPitch, 0};
  CopySide source{side_of(d.srcMemoryType), as_word(d.srcHost), as_word(d.srcDevice), as_word(d.srcArray),
                  d.srcXInBytes, d.srcY, 0, d.srcPitch, 0};
  if constexpr (requires { d.Depth; }) {
    destination.z = d.dstZ;
    destination.rows = d.dstHeight;
    source.z = d.srcZ;
    source.rows = d.srcHeight;
  }
  put_side(r, destination, false);
  put_side(r, source, true);
  r.flags |= trace::copy_flags(destination.side, source.side, false);
  const std::uint64_t depth = copy_depth(d);
  r.set(2, std::uint64_t{d.WidthInBytes} * d.Height * depth);
  r.set(6, d.WidthInBytes);
  r.set(7, d.Height);
  r.set(8, depth);
}

} // namespace gmt::interposer
