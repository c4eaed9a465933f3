// SPDX-License-Identifier: Apache-2.0
// Recorders of runtime rows: they lend the copy kind to the driver calls inside, and describe the
// call where the runtime refuses it itself or nothing is left to do. Groups of functions that look
// the same in the driver use the driver's recorders. Same rules as recorder.h.
#pragma once

#include "interposer/loader/real_dlsym.h"
#include "interposer/recorders/allocations.h"
#include "interposer/recorders/bindings.h"
#include "interposer/recorders/copies_and_launches.h"
#include "trace/api_id.h"

namespace gmt::interposer {

// The copy kind among a copy's flags.
template <class KindOfCopy> std::uint16_t kind_flags(KindOfCopy kind) {
  return trace::declared_kind_flags(static_cast<unsigned>(kind));
}

template <int Destination, int Source, int Bytes, int KindArg, int Stream = -1> struct RuntimeCopy
    : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Copy<Side::kUnified, Side::kUnified, Destination, Source, Bytes, Stream>::before(r, a);
    r.flags |= kind_flags(arg<KindArg>(a));
  }
};

template <int Destination, int DestinationPitch, int Source, int SourcePitch, int Width, int Height,
          int KindArg, int Stream = -1>
struct RuntimeCopy2D : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kCopy;
    r.flags |= trace::copy_flags(Side::kUnified, Side::kUnified, Stream >= 0);
    r.flags |= kind_flags(arg<KindArg>(a));
    r.use(trace::CopyWord::source_rows + 1);
    trace::CopyFields copy(r);
    copy.destination(arg<Destination>(a))
      .source(arg<Source>(a))
      .bytes(arg<Width>(a) * arg<Height>(a));
    copy.stream(arg<Stream>(a))
      .destination_pitch(arg<DestinationPitch>(a))
      .source_pitch(arg<SourcePitch>(a));
    copy.width(arg<Width>(a)).height(arg<Height>(a)).depth(1);
  }
};

// Copies with arrays: a side is one if it has an x offset (in bytes), else it has a pitch. Height
// -1 is one row.
template <int To, int ToX, int ToY, int ToPitch, int From, int FromX, int FromY, int FromPitch,
          int Width, int Height, int KindArg, int Stream = -1>
struct RuntimeCopyArray : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kCopy;
    r.use(trace::CopyWord::kCount);
    const CopySide destination = side<To, ToX, ToY, ToPitch>(a),
                   source = side<From, FromX, FromY, FromPitch>(a);
    put_sides(r, destination, source);
    put_extent(r, arg<Width>(a), Height >= 0 ? arg<Height>(a) : 1, 1);
    trace::CopyFields(r).stream(arg<Stream>(a));
    r.flags |= trace::copy_flags(destination.side, source.side, Stream >= 0);
    r.flags |= kind_flags(arg<KindArg>(a));
  }
  template <int Address, int X, int Y, int Pitch, class T> static CopySide side(const T& a) {
    if constexpr (X >= 0) {
      return {Side::kArray, 0, 0, arg<Address>(a), arg<X>(a), arg<Y>(a), 0, 0, 0};
    } else {
      return {Side::kUnified, 0, arg<Address>(a), 0, 0, 0, 0, arg<Pitch>(a), 0};
    }
  }
};

// cudaMemcpy3D and its peer form. Where an array takes part the extent counts its elements, whose
// size is not asked for: the width is left out.
template <int Params, int Stream = -1> struct RuntimeCopy3D : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* p = argument<Params>(a);
    if (p == nullptr) return Note::before(r, a);
    r.kind = Kind::kCopy;
    r.use(trace::CopyWord::kCount);
    const CopySide destination = side(p->dstArray, p->dstPtr, p->dstPos);
    const CopySide source = side(p->srcArray, p->srcPtr, p->srcPos);
    put_sides(r, destination, source);
    const bool linear = destination.side != Side::kArray && source.side != Side::kArray;
    put_extent(r, linear ? p->extent.width : 0, p->extent.height, p->extent.depth);
    trace::CopyFields(r).stream(arg<Stream>(a));
    r.flags |= trace::copy_flags(destination.side, source.side, Stream >= 0);
    if constexpr (requires { p->kind; }) r.flags |= kind_flags(p->kind);
  }
  template <class Array, class Pointer, class Position>
  static CopySide side(Array array, const Pointer& p, const Position& at) {
    if (array != nullptr) return {Side::kArray, 0, 0, as_word(array), 0, at.y, at.z, 0, 0};
    return {Side::kUnified, 0, as_word(p.ptr), 0, at.x, at.y, at.z, p.pitch, p.ysize};
  }
};

// cudaMemset3D: rows from the first slice to the last.
template <int Stream = -1> struct RuntimeSet3D : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto& p = argument<0>(a);
    const auto& extent = argument<2>(a);
    r.kind = Kind::kSet;
    r.use(trace::SetWord::kCount);
    trace::SetFields set(r);
    set.destination(as_word(p.ptr)).bytes(extent.width * extent.height * extent.depth);
    set.value(arg<1>(a)).stream(arg<Stream>(a)).pitch(p.pitch).width(extent.width);
    set.height(extent.depth <= 1 ? extent.height : p.ysize * (extent.depth - 1) + extent.height)
      .element_bytes(1);
    if constexpr (Stream >= 0) r.flags |= trace::kSetAsync;
  }
};

// cudaMalloc3D: an extent of no bytes reaches no driver.
struct RuntimeAlloc3D : AllocBase {
  template <class T> static void before(Record& r, const T& a) {
    const auto& extent = argument<1>(a);
    start(r, MemoryKind::kPitched, kAllWords);
    trace::AllocFields alloc(r);
    alloc.bytes(extent.width * extent.height * extent.depth);
    alloc.width(extent.width).height(extent.height).depth(extent.depth);
  }
};

// A texture or surface object; see BindObject.
template <UseClass C, int Resource> struct RuntimeBind : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    const auto* d = argument<Resource>(a);
    if (d == nullptr) return Note::before(r, a);
    const auto element = [](const auto& format) {
      return static_cast<std::uint64_t>(format.x + format.y + format.z + format.w) / 8;
    };
    // The runtime's enumeration has the same numbers
    switch (static_cast<CUresourcetype>(d->resType)) {
    case CU_RESOURCE_TYPE_ARRAY: return set_use(r, C, as_word(d->res.array.array), 0, 0);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return set_use(r, C, as_word(d->res.mipmap.mipmap), 0, 0);
    case CU_RESOURCE_TYPE_LINEAR:
      return set_use(r, C, as_word(d->res.linear.devPtr), d->res.linear.sizeInBytes, 0);
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& p = d->res.pitch2D;
      const std::uint64_t bytes = element(p.desc);
      return set_use_rows(r, C, as_word(p.devPtr), 0,
                          {p.pitchInBytes, p.width * bytes, p.height, bytes});
    }
    default: return set_use(r, C, 0, 0, 0);
    }
  }
};

// The address of a symbol, 0 if the runtime that `caller` uses does not know it. It has met the
// symbol before, so this asks no driver.
inline std::uint64_t address_of_symbol(const void* symbol, const void* caller) {
  using Query = int (*)(void**, const void*);
  const auto query =
    reinterpret_cast<Query>(runtime_function(trace::kApi_cudaGetSymbolAddress, caller));
  void* address = nullptr;
  return query != nullptr && query(&address, symbol) == 0 ? as_word(address) : 0;
}

// A copy whose other side is a symbol: the address is the runtime's business, the kind is lent to
// the driver's call. What lies outside the symbol is refused before that, and then the record says
// which memory it was.
template <int Symbol, int Other, int KindArg, int Stream = -1> struct RuntimeSymbolCopy : Note {
  template <class T> static void before(Record& r, const T& a) {
    Note::before(r, a);
    r.flags |= kind_flags(arg<KindArg>(a));
  }
  template <class T> static void refused(Record& r, const T& a, const void* caller) {
    if (arg<2>(a) == 0 || arg<Symbol>(a) == 0) return;
    static_assert(Symbol + Other == 1,
                  "the first parameter is the destination, the second the source");
    const std::uint64_t address = address_of_symbol(argument<Symbol>(a), caller);
    if (address == 0) return;
    const std::uint64_t inside = address + arg<3>(a);
    r.kind = Kind::kCopy;
    r.flags |= trace::copy_flags(Side::kUnified, Side::kUnified, Stream >= 0);
    trace::CopyFields copy(r);
    copy.destination(Symbol == 0 ? inside : arg<Other>(a))
      .source(Symbol == 0 ? arg<Other>(a) : inside);
    copy.bytes(arg<2>(a)).stream(arg<Stream>(a));
  }
};

// What makes or changes a graph's copy node: the kind is lent to the driver's call. Params is a
// structure that has it.
template <int KindArg> struct RuntimeNodeCopy : Note {
  template <class T> static void before(Record& r, const T& a) {
    Note::before(r, a);
    r.flags |= kind_flags(arg<KindArg>(a));
  }
};
template <int Params> struct RuntimeNodeCopy3D : Note {
  template <class T> static void before(Record& r, const T& a) {
    Note::before(r, a);
    const auto* p = argument<Params>(a);
    if (p != nullptr) r.flags |= kind_flags(p->kind);
  }
};
// A node of any type.
template <int Params> struct RuntimeNode : Note {
  template <class T> static void before(Record& r, const T& a) {
    Note::before(r, a);
    const auto* p = argument<Params>(a);
    if (p == nullptr || static_cast<CUgraphNodeType>(p->type) != CU_GRAPH_NODE_TYPE_MEMCPY)
      return; // the same numbers
    r.flags |= kind_flags(p->memcpy.copyParams.kind);
  }
};

} // namespace gmt::interposer
