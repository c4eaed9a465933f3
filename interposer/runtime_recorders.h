// SPDX-License-Identifier: Apache-2.0
// Recorders of runtime rows: they lend the copy kind to the driver calls inside, and describe the call where the runtime
// refuses it itself or nothing is left to do. Families that look the same in the driver use recorders.h. Same rules.
#pragma once

#include "interposer/recorders.h"

namespace gmt::interposer {

// Bits 8-11 of a copy's flags: kind + 1, so that 0 means unknown.
inline std::uint16_t kind_flags(std::uint64_t kind) {
  return kind < 15 ? static_cast<std::uint16_t>((kind + 1) << 8) : std::uint16_t{0xf00};
}

template <int Destination, int Source, int Bytes, int KindArg, int Stream = -1> struct RuntimeCopy : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    Copy<Side::kUnified, Side::kUnified, Destination, Source, Bytes, Stream>::before(r, a);
    r.flags |= kind_flags(arg<KindArg>(a));
  }
};

template <int Destination, int DestinationPitch, int Source, int SourcePitch, int Width, int Height, int KindArg,
          int Stream = -1>
struct RuntimeCopy2D : Recorder {
  template <class T> static void before(Record& r, const T& a) {
    r.kind = Kind::kCopy;
    r.flags |= trace::copy_flags(Side::kUnified, Side::kUnified, Stream >= 0);
    r.flags |= kind_flags(arg<KindArg>(a));
    r.use(11);
    r.set(0, arg<Destination>(a));
    r.set(1, arg<Source>(a));
    r.set(2, arg<Width>(a) * arg<Height>(a));
    r.set(3, arg<Stream>(a));
    r.set(4, arg<DestinationPitch>(a));
    r.set(5, arg<SourcePitch>(a));
    r.set(6, arg<Width>(a));
    r.set(7, arg<Height>(a));
    r.set(8, 1);
  }
};

// A copy whose other side is a symbol or an array: only the kind is lent, the rest stays a note.
template <int KindArg> struct RuntimeKind : Note {
  template <class T> static void before(Record& r, const T& a) {
    Note::before(r, a);
    r.flags |= kind_flags(arg<KindArg>(a));
  }
};

} // namespace gmt::interposer
