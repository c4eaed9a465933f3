// SPDX-License-Identifier: Apache-2.0
// Recorders of what uses memory without copying it: hints, memory operations, textures, surfaces,
// tensor maps. The memory is what matters: a record has its range, and the shape of the rows where
// there are rows; a texture or surface object that comes out stands in the stream's word, where its
// destruction finds it. Same rules as recorder.h.
#pragma once

#include "interposer/recorders/argument_scan.h"
#include "interposer/recorders/recorder.h"

namespace gmt::interposer {

// `stream` is what the word says in this case: a stream, an object, a graph or a location.
inline void set_use(Record& r, UseClass use, std::uint64_t address, std::uint64_t bytes,
                    std::uint64_t stream) {
  r.kind = Kind::kUse;
  r.use(trace::kFirstPayloadWords);
  trace::UseFields(r).address(address).bytes(bytes).use(use).stream(stream);
}

// Memory used row by row; the bytes reach to the end of the last row.
struct Rows {
  std::uint64_t pitch, width, height, element; // bytes, bytes, rows, bytes
};
inline void set_use_rows(Record& r, UseClass use, std::uint64_t address, std::uint64_t stream,
                         Rows rows) {
  set_use(r, use, address,
          rows.height <= 1 ? rows.width : rows.pitch * (rows.height - 1) + rows.width, stream);
  r.use_more(trace::UseWord::element_bytes + 1);
  trace::UseFields(r)
    .pitch(rows.pitch)
    .width(rows.width)
    .height(rows.height)
    .element_bytes(rows.element);
}

template <UseClass C, int Address, int Size, int Stream = -1> struct Use : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    set_use(r, C, arg<Address>(a), arg<Size>(a), arg<Stream>(a));
  }
};

// A stream waits for a value in memory, or writes one.
template <unsigned Bytes> struct WaitValue : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    set_use(r, UseClass::kMemOpWait, arg<1>(a), Bytes, arg<0>(a));
    r.flags |= trace::kUseReads;
  }
};
template <unsigned Bytes> struct WriteValue : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    set_use(r, UseClass::kMemOp, arg<1>(a), Bytes, arg<0>(a));
    r.flags |= trace::kUseWrites;
  }
};

// The memory behind a texture or surface object.
inline void set_resource(Record& r, UseClass use, const CUDA_RESOURCE_DESC& d) {
  switch (d.resType) {
  case CU_RESOURCE_TYPE_ARRAY: return set_use(r, use, as_word(d.res.array.hArray), 0, 0);
  case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
    return set_use(r, use, as_word(d.res.mipmap.hMipmappedArray), 0, 0);
  case CU_RESOURCE_TYPE_LINEAR:
    return set_use(r, use, as_word(d.res.linear.devPtr), d.res.linear.sizeInBytes, 0);
  case CU_RESOURCE_TYPE_PITCH2D: {
    const auto& p = d.res.pitch2D;
    const std::uint64_t element = element_bytes(p.format, p.numChannels);
    return set_use_rows(r, use, as_word(p.devPtr), 0,
                        {p.pitchInBytes, p.width * element, p.height, element});
  }
  default: return set_use(r, use, 0, 0, 0);
  }
}

template <UseClass C, int Out, int Resource> struct BindObject : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* resource = argument<Resource>(a);
    if (resource == nullptr) return Note::before(r, a);
    set_resource(r, C, *resource);
    r.droppable = false;
    r.order_at = OrderAt::kAfter;
  }
  template <class T> static void after(Record& r, const T& a) {
    const std::uint64_t object = out<Out>(a);
    note_object(object);
    trace::UseFields(r).object(object);
  }
};

template <int Descriptor, int Address, int Pitch> struct BindRows : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* d = argument<Descriptor>(a);
    if (d == nullptr) return Note::before(r, a);
    const std::uint64_t element = element_bytes(d->Format, d->NumChannels);
    set_use_rows(r, UseClass::kTexture, arg<Address>(a), 0,
                 {arg<Pitch>(a), d->Width * element, d->Height, element});
  }
};

// Bytes of `count` elements of a tensor map's innermost dimension. Source: cuda.h on
// cuTensorMapEncodeTiled.
constexpr std::uint64_t tensor_bytes(CUtensorMapDataType type, std::uint64_t count) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8: return count;
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return count * 2;
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return count * 8;
  case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B: return count / 2;
  case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
  case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
    return count; // 16 values take 16 bytes, gaps included
  default: return count * 4;
  }
}

// Rows are those of the innermost dimension; the bytes reach to the last one of all dimensions.
template <int Type, int Rank, int Address, int Sizes, int Strides> struct TensorMap : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    constexpr std::uint64_t kMaxRank = 5; // cuda.h: more is refused
    const cuuint64_t* sizes = argument<Sizes>(a);
    const cuuint64_t* strides = argument<Strides>(a);
    const std::uint64_t rank = arg<Rank>(a);
    const bool readable =
      sizes != nullptr && rank >= 1 && rank <= kMaxRank && (rank == 1 || strides != nullptr);
    if (!readable) return set_use(r, UseClass::kTensorMap, arg<Address>(a), 0, 0);
    const std::uint64_t width = tensor_bytes(argument<Type>(a), sizes[0]);
    std::uint64_t bytes = width;
    for (std::uint64_t i = 1; i < rank; ++i)
      bytes += sizes[i] > 1 ? (sizes[i] - 1) * strides[i - 1] : 0;
    set_use_rows(r, UseClass::kTensorMap, arg<Address>(a), 0,
                 {rank > 1 ? strides[0] : 0, width, rank > 1 ? sizes[1] : 1,
                  tensor_bytes(argument<Type>(a), 1)});
    trace::UseFields(r).bytes(bytes);
  }
};

} // namespace gmt::interposer
