// SPDX-License-Identifier: Apache-2.0
// CUDA's descriptor structures as payload words: arrays, and copies of two and three dimensions.
// Overloads per structure version, so that one recorder serves cuMemcpy2D, its version 1 twin and
// the 3D forms. Source of the fields' meaning: cuda.h of CUDA 13.0; x offsets are bytes, z offsets
// count slices of `Height` rows.
#pragma once

#include <cuda.h>

#include "interposer/loader/driver_function.h"
#include "interposer/log/record.h"

namespace gmt::interposer {

// How an array's format is laid out. Source: the formats' comments in cuda.h; block sizes are those
// of the BC formats (BC1 and BC4: 8 bytes for 4 x 4 texels, the others 16).
struct FormatLayout {
  unsigned channel = 0; // bytes of one channel, NumChannels of them an element
  unsigned element = 0; // bytes of an element, whatever NumChannels says
  unsigned block = 0;   // bytes of a block of 4 x 4 texels
  unsigned planes = 0;  // half bytes of a pixel, all planes together
};

constexpr FormatLayout layout_of(CUarray_format format) {
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT8: return {.channel = 1};
  case CU_AD_FORMAT_UNSIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_HALF: return {.channel = 2};
  case CU_AD_FORMAT_UNSIGNED_INT32:
  case CU_AD_FORMAT_SIGNED_INT32:
  case CU_AD_FORMAT_FLOAT: return {.channel = 4};
  case CU_AD_FORMAT_UNORM_INT8X1:
  case CU_AD_FORMAT_SNORM_INT8X1: return {.element = 1};
  case CU_AD_FORMAT_UNORM_INT8X2:
  case CU_AD_FORMAT_SNORM_INT8X2:
  case CU_AD_FORMAT_UNORM_INT16X1:
  case CU_AD_FORMAT_SNORM_INT16X1: return {.element = 2};
  case CU_AD_FORMAT_UNORM_INT8X4:
  case CU_AD_FORMAT_SNORM_INT8X4:
  case CU_AD_FORMAT_UNORM_INT16X2:
  case CU_AD_FORMAT_SNORM_INT16X2:
  case CU_AD_FORMAT_UNORM_INT_101010_2: return {.element = 4};
  case CU_AD_FORMAT_UNORM_INT16X4:
  case CU_AD_FORMAT_SNORM_INT16X4: return {.element = 8};
  case CU_AD_FORMAT_BC1_UNORM:
  case CU_AD_FORMAT_BC1_UNORM_SRGB:
  case CU_AD_FORMAT_BC4_UNORM:
  case CU_AD_FORMAT_BC4_SNORM: return {.block = 8};
  case CU_AD_FORMAT_BC2_UNORM:
  case CU_AD_FORMAT_BC2_UNORM_SRGB:
  case CU_AD_FORMAT_BC3_UNORM:
  case CU_AD_FORMAT_BC3_UNORM_SRGB:
  case CU_AD_FORMAT_BC5_UNORM:
  case CU_AD_FORMAT_BC5_SNORM:
  case CU_AD_FORMAT_BC6H_UF16:
  case CU_AD_FORMAT_BC6H_SF16:
  case CU_AD_FORMAT_BC7_UNORM:
  case CU_AD_FORMAT_BC7_UNORM_SRGB: return {.block = 16};
  case CU_AD_FORMAT_NV12: return {.planes = 3};
  case CU_AD_FORMAT_NV16: return {.planes = 4};
  case CU_AD_FORMAT_P010:
  case CU_AD_FORMAT_P016: return {.planes = 6};
  case CU_AD_FORMAT_P210:
  case CU_AD_FORMAT_P216: return {.planes = 8};
  case CU_AD_FORMAT_Y444_PLANAR8:
  case CU_AD_FORMAT_YUV444_8bit_SemiPlanar: return {.planes = 6};
  case CU_AD_FORMAT_Y444_PLANAR10:
  case CU_AD_FORMAT_YUV444_16bit_SemiPlanar: return {.planes = 12};
  default: return {}; // packed video formats
  }
}

// Bytes of an array's element; 0 for formats whose rows are not made of elements.
constexpr std::uint64_t element_bytes(CUarray_format format, std::uint64_t channels) {
  const FormatLayout layout = layout_of(format);
  return layout.element != 0 ? layout.element : layout.channel * channels;
}

constexpr std::uint64_t slice_bytes(CUarray_format format, std::uint64_t channels,
                                    std::uint64_t width, std::uint64_t height) {
  const FormatLayout layout = layout_of(format);
  if (layout.block != 0) return (width + 3) / 4 * ((height + 3) / 4) * layout.block;
  if (layout.planes != 0) return width * height * layout.planes / 2;
  return width * height * element_bytes(format, channels);
}

constexpr unsigned kMaxLevels = 32;

// The bytes are those of all levels; a pitch is left out.
template <class Descriptor> void describe_array(Record& r, const Descriptor& d,
                                                std::uint64_t levels) {
  std::uint64_t depth = 0, flags = 0;
  if constexpr (requires { d.Depth; }) {
    depth = d.Depth;
    flags = d.Flags;
  }
  // Layers do not shrink
  const bool layered = (flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const auto shrunk = [](std::uint64_t extent, unsigned level) {
    return extent >> level != 0 ? extent >> level : std::uint64_t{1};
  };
  std::uint64_t bytes = 0;
  for (unsigned level = 0; level < levels && level < kMaxLevels; ++level) {
    bytes += slice_bytes(d.Format, d.NumChannels, shrunk(d.Width, level), shrunk(d.Height, level)) *
             shrunk(depth, layered ? 0 : level);
  }
  const std::uint64_t element = element_bytes(d.Format, d.NumChannels);
  trace::AllocFields alloc(r);
  alloc.bytes(bytes)
    .width(d.Width * element)
    .height(d.Height)
    .depth(depth)
    .element_bytes(element)
    .flags(flags);
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

inline std::uint64_t start_of(const CopySide& s) {
  if (s.side == trace::Side::kArray) return s.array;
  return (s.side == trace::Side::kHost ? s.host : s.device) + s.x + (s.y + s.z * s.rows) * s.pitch;
}

// The words and flags of a node's copy inside its kUse.
struct InnerCopy {
  Record& record;
  std::uint16_t flags = 0;
  void set(unsigned i, std::uint64_t value) {
    record.set(trace::UseWord::copy_destination + i, value);
  }
};

// Both sides into the record, or into the part of one that describes a copy.
template <class Out> void put_sides(Out& r, const CopySide& destination, const CopySide& source) {
  trace::CopyFields copy(r);
  const CopySide& d = destination;
  const CopySide& s = source;
  if (d.side == trace::Side::kArray) copy.destination_x(d.x).destination_y(d.y).destination_z(d.z);
  copy.destination(start_of(d)).destination_pitch(d.pitch).destination_rows(d.rows);
  if (s.side == trace::Side::kArray) copy.source_x(s.x).source_y(s.y).source_z(s.z);
  copy.source(start_of(s)).source_pitch(s.pitch).source_rows(s.rows);
}

template <class Descriptor> std::uint64_t copy_depth(const Descriptor& d) {
  if constexpr (requires { d.Depth; }) {
    return d.Depth;
  } else {
    return 1;
  }
}

template <class Descriptor> CopySide destination_of(const Descriptor& d) {
  CopySide side{side_of(d.dstMemoryType),
                as_word(d.dstHost),
                as_word(d.dstDevice),
                as_word(d.dstArray),
                d.dstXInBytes,
                d.dstY,
                0,
                d.dstPitch,
                0};
  if constexpr (requires { d.Depth; }) {
    side.z = d.dstZ;
    side.rows = d.dstHeight;
  }
  return side;
}

template <class Descriptor> CopySide source_of(const Descriptor& d) {
  CopySide side{side_of(d.srcMemoryType),
                as_word(d.srcHost),
                as_word(d.srcDevice),
                as_word(d.srcArray),
                d.srcXInBytes,
                d.srcY,
                0,
                d.srcPitch,
                0};
  if constexpr (requires { d.Depth; }) {
    side.z = d.srcZ;
    side.rows = d.srcHeight;
  }
  return side;
}

template <class Out> void put_extent(Out& r, std::uint64_t width, std::uint64_t height,
                                     std::uint64_t depth) {
  trace::CopyFields(r).bytes(width * height * depth).width(width).height(height).depth(depth);
}

template <class Out, class Descriptor> void describe_copy(Out& r, const Descriptor& d) {
  const CopySide destination = destination_of(d), source = source_of(d);
  put_sides(r, destination, source);
  r.flags |= trace::copy_flags(destination.side, source.side, false);
  put_extent(r, d.WidthInBytes, d.Height, copy_depth(d));
}

// ---- one copy of cuMemcpy3DBatchAsync: extents are counted in elements of the array that takes
// part, else in bytes

inline constinit DriverFunction<CUDA_ARRAY3D_DESCRIPTOR*, CUarray> array_descriptor{
  "cuArray3DGetDescriptor_v2"};

// By the array's format, which the driver answers during stream capture, too; 0 if it does not.
inline std::uint64_t element_bytes_of(CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR d{};
  return array_descriptor(&d, array) == 0 ? element_bytes(d.Format, d.NumChannels) : 0;
}

inline CopySide operand_side(const CUmemcpy3DOperand& operand, const CUextent3D& extent,
                             std::uint64_t element) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& a = operand.op.array;
    return {trace::Side::kArray, 0, 0, as_word(a.array), a.offset.x * element, a.offset.y,
            a.offset.z,          0, 0};
  }
  const auto& p = operand.op.ptr;
  const std::uint64_t row = p.rowLength != 0 ? p.rowLength : extent.width;
  const std::uint64_t rows = p.layerHeight != 0 ? p.layerHeight : extent.height;
  return {trace::Side::kUnified, 0, as_word(p.ptr), 0, 0, 0, 0, row * element, rows};
}

inline void describe_copy_operation(Record& r, const CUDA_MEMCPY3D_BATCH_OP& d) {
  std::uint64_t element = 1;
  for (const CUmemcpy3DOperand* operand : {&d.src, &d.dst}) {
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
      element = element_bytes_of(operand->op.array.array);
  }
  const CopySide destination = operand_side(d.dst, d.extent, element);
  const CopySide source = operand_side(d.src, d.extent, element);
  put_sides(r, destination, source);
  r.flags |= trace::copy_flags(destination.side, source.side, false);
  put_extent(r, d.extent.width * element, d.extent.height, d.extent.depth);
}

} // namespace gmt::interposer
