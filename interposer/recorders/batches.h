// SPDX-License-Identifier: Apache-2.0
// Recorders of calls that mean several things at once: a record for each member, all with the
// call's result and stack. Besides before() and after() such a recorder has
//   members(args)             how many there are; 0 where the call names none, which leaves a note;
//   member(Record&, args, i)  fills the record of one of them; the first one stands in flight for
//   the call.
// Members beyond kMaxMembers are left out, and a note of the call at their end says so. Same rules
// as recorder.h.
#pragma once

#include <algorithm>
#include <concepts>

#include "interposer/recorders/bindings.h"

namespace gmt::interposer {

inline constexpr std::size_t kMaxMembers = 1024;

template <class Rec, class T>
concept HasMembers = requires(Record& r, const T& a) {
  { Rec::members(a) } -> std::convertible_to<std::size_t>;
  Rec::member(r, a, std::size_t{});
};

// Records that the call makes: one, unless it is a batch.
template <class Rec, class T> unsigned records_of(const T& a) {
  if constexpr (HasMembers<Rec, T>) {
    return static_cast<unsigned>(std::clamp<std::size_t>(Rec::members(a), 1, kMaxMembers + 1));
  } else {
    return 1;
  }
}

// Fills the i-th of them.
template <class Rec, class T> void fill_record(Record& r, const T& a, unsigned i) {
  if constexpr (HasMembers<Rec, T>) {
    const bool is_member = i < kMaxMembers && Rec::members(a) != 0;
    return is_member ? Rec::member(r, a, i) : Note::before(r, a);
  } else {
    return Rec::before(r, a);
  }
}

template <int Destinations, int Sources, int Sizes, int Count, int Stream> struct CopyBatch
    : Recorder {
  template <class T> static std::size_t members(const T& a) {
    const bool given = arg<Destinations>(a) != 0 && arg<Sources>(a) != 0 && arg<Sizes>(a) != 0;
    return given ? arg<Count>(a) : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    r.kind = Kind::kCopy;
    r.flags |= trace::copy_flags(Side::kUnified, Side::kUnified, true);
    r.flags |= trace::kCopyBatched;
    r.use(trace::kFirstPayloadWords);
    trace::CopyFields copy(r);
    copy.destination(as_word(argument<Destinations>(a)[i]))
      .source(as_word(argument<Sources>(a)[i]));
    copy.bytes(argument<Sizes>(a)[i]).stream(arg<Stream>(a));
  }
};

template <int Count, int Operations, int Stream> struct CopyBatch3D : Recorder {
  template <class T> static std::size_t members(const T& a) {
    return arg<Operations>(a) != 0 ? arg<Count>(a) : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    r.kind = Kind::kCopy;
    r.use(trace::CopyWord::kCount);
    describe_copy_operation(r, argument<Operations>(a)[i]);
    trace::CopyFields(r).stream(arg<Stream>(a));
    r.flags |= trace::kCopyAsync;
    r.flags |= trace::kCopyBatched;
  }
};

template <UseClass C, int Addresses, int Sizes, int Count, int Stream> struct UseBatch : Recorder {
  template <class T> static std::size_t members(const T& a) {
    return arg<Addresses>(a) != 0 && arg<Sizes>(a) != 0 ? arg<Count>(a) : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    set_use(r, C, as_word(argument<Addresses>(a)[i]), argument<Sizes>(a)[i], arg<Stream>(a));
  }
};

// One memory operation of a stream, or of a node of a graph, which stands in the stream's word
// then; barriers and flushes name no memory.
inline void set_memory_operation(Record& r, const CUstreamBatchMemOpParams& p, UseClass waits,
                                 UseClass others, std::uint64_t stream) {
  switch (p.operation) {
  case CU_STREAM_MEM_OP_WAIT_VALUE_32:
  case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    set_use(r, waits, as_word(p.waitValue.address),
            p.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8, stream);
    r.flags |= trace::kUseReads;
    break;
  case CU_STREAM_MEM_OP_WRITE_VALUE_32:
  case CU_STREAM_MEM_OP_WRITE_VALUE_64:
    set_use(r, others, as_word(p.writeValue.address),
            p.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8, stream);
    r.flags |= trace::kUseWrites;
    break;
  default: set_use(r, others, 0, 0, stream); break;
  }
}

template <int Stream, int Count, int Operations> struct MemoryOperations : Recorder {
  template <class T> static std::size_t members(const T& a) {
    return arg<Operations>(a) != 0 ? arg<Count>(a) : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    set_memory_operation(r, argument<Operations>(a)[i], UseClass::kMemOpWait, UseClass::kMemOp,
                         arg<Stream>(a));
  }
};

// Pieces of memory mapped into sparse arrays, or unmapped: the arrays are used.
template <int List, int Count, int Stream> struct MapArrays : Recorder {
  template <class T> static std::size_t members(const T& a) {
    return arg<List>(a) != 0 ? arg<Count>(a) : 0;
  }
  template <class T> static void member(Record& r, const T& a, std::size_t i) {
    const CUarrayMapInfo& info = argument<List>(a)[i];
    const bool mipmapped = info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    set_use(r, UseClass::kAccess,
            mipmapped ? as_word(info.resource.mipmap) : as_word(info.resource.array), 0,
            arg<Stream>(a));
  }
};

} // namespace gmt::interposer
