// SPDX-License-Identifier: Apache-2.0
// The payload of records by name: trace/records.def as types. For a record that it calls Alloc
// there are
//
//   AllocView alloc(event);              // reads: alloc.address(), alloc.memory_kind() ==
//   MemoryKind::kDevice AllocFields(record).address(p).bytes(n); // writes, by record.set(word,
//   value) AllocWord::address, AllocWord::kCount    // numbers of words, and how many have a name
//   (record_words.h) AllocView::kKind, AllocColumn::address   // the kind; the column's name in
//   `dump`
//
// A view is two words: where the payload is and how long it is. It lives as long as the payload,
// and reads 0 where the record ends earlier. It takes anything that has a `payload`, or a
// payload_of() in its namespace. It does not ask whether the record is of its kind. A setter stores
// one word and nothing else: the record must have room for it. C++17, no call, no memory; each
// accessor is one load or store.
#pragma once

#include "trace/device_ring.h"
#include "trace/format.h"
#include "trace/guard.h"
#include "trace/kernel_faults.h"
#include "trace/record_words.h"

namespace gmt::trace {

// Payload words, wherever they are.
struct Payload {
  const std::uint64_t* words = nullptr; // of a whole record, at least kFirstPayloadWords
  std::size_t count = 0;

  const std::uint64_t* begin() const { return words; }
  const std::uint64_t* end() const { return words + count; }
  bool empty() const { return count == 0; }
  std::size_t size() const { return count; }
  std::uint64_t operator[](std::size_t i) const { return words[i]; }
  const char* text() const {
    return reinterpret_cast<const char*>(words);
  } // of a rest of the form Bytes
  std::size_t bytes() const { return count * sizeof *words; }
  Payload from(std::size_t first) const {
    return first < count ? Payload{words + first, count - first} : Payload{};
  }
};

template <class Record>
auto payload_of(const Record& record)
  -> decltype(Payload{record.payload.data(), record.payload.size()}) {
  return {record.payload.data(), record.payload.size()};
}
constexpr Payload payload_of(Payload payload) { return payload; }
inline Payload payload_of(const Slot& slot) {
  return {slot.a, kFirstPayloadWords};
} // of a record of one slot

class RecordView {
public:
  template <class Record> explicit RecordView(const Record& record)
      : payload_(payload_of(record)) {}

  // The word as it stands, 0 if the record has none; the first slot's are always there.
  std::uint64_t word(std::size_t i) const {
    return i < kFirstPayloadWords || i < payload_.count ? payload_.words[i] : 0;
  }
  bool has(std::size_t i) const { return i < payload_.count; }
  bool has_second_slot() const { return has(kFirstPayloadWords); }
  Payload payload() const { return payload_; }

private:
  Payload payload_;
};

// How a word of each form is read and written.
namespace forms {

struct Number {
  using Type = std::uint64_t;
  static constexpr Type of(std::uint64_t word) { return word; }
  static constexpr std::uint64_t word(Type value) { return value; }
};
using Hex = Number;
using Decimal = Number;
using Handle = Number;
using Text = Number;
// A damaged word is no other member: what does not fit becomes the largest number, which has no
// name.
template <class T> struct Enumeration {
  using Type = T;
  static constexpr std::uint64_t kLargest = 0xff;
  static_assert(sizeof(T) == 1);
  static constexpr Type of(std::uint64_t word) {
    return static_cast<T>(word < kLargest ? word : kLargest);
  }
  static constexpr std::uint64_t word(Type value) { return static_cast<std::uint64_t>(value); }
};
using MemoryKind = Enumeration<trace::MemoryKind>;
using FreeFunction = Enumeration<trace::FreeFunction>;
using ObjectClass = Enumeration<trace::ObjectClass>;
using LifeOp = Enumeration<trace::LifeOp>;
using SyncOp = Enumeration<trace::SyncOp>;
using UseClass = Enumeration<trace::UseClass>;
using GraphOp = Enumeration<trace::GraphOp>;
using RangeOp = Enumeration<trace::RangeOp>;
using ExitWay = Enumeration<trace::ExitWay>;
using LossCause = Enumeration<trace::LossCause>;
using AccessTrouble = Enumeration<trace::AccessTrouble>;
using GuardMoment = Enumeration<trace::GuardMoment>;
using TensorOp = Enumeration<trace::TensorOp>;
using FaultKind = Enumeration<trace::FaultKind>;
using FaultSpace = Enumeration<trace::FaultSpace>;
using FaultAccess = Enumeration<trace::FaultAccess>;
using ExecutionOp = Enumeration<trace::ExecutionOp>;
using UnwrittenForm = Enumeration<trace::UnwrittenForm>;
struct Grid {
  using Type = Index3;
  static constexpr Type of(std::uint64_t word) { return grid_of(word); }
  static constexpr std::uint64_t word(Type value) { return pack_grid(value); }
};
struct Block {
  using Type = Index3;
  static constexpr Type of(std::uint64_t word) { return block_extents_of(word); }
  static constexpr std::uint64_t word(Type value) { return pack_block_extents(value); }
};
using ThreadIndex = Block;
struct BlockIndex {
  using Type = Index3;
  static constexpr Type of(std::uint64_t word) { return block_of(word); }
  static constexpr std::uint64_t word(Type value) { return pack_block(value.x, value.y, value.z); }
};
struct Halves {
  using Type = trace::Halves;
  static constexpr Type of(std::uint64_t word) { return halves_of(word); }
  static constexpr std::uint64_t word(Type value) { return pack_halves(value); }
};

} // namespace forms

// ---- what is packed into a word comes out again

static_assert(destination_side(copy_flags(Side::kHost, Side::kArray, true)) == Side::kHost);
static_assert(source_side(copy_flags(Side::kHost, Side::kArray, true)) == Side::kArray);
static_assert(declared_kind_plus_1(declared_kind_flags(3)) == 4);
static_assert(argument_address(argument_word(0x7fffdeadbeef, 5)) == 0x7fffdeadbeef &&
              argument_parameter(argument_word(1, 5)) == 5);
static_assert(grid_of(pack_grid({0xffffffff, 7, 0xffff})) == Index3{0xffffffff, 7, 0xffff});
static_assert(block_extents_of(pack_block_extents({1024, 2, 64})) == Index3{1024, 2, 64});
static_assert(halves_of(pack_halves({7, 0xffffffff})) == Halves{7, 0xffffffff});
static_assert(order_of(with_ticks(5, 2047)) == 5 && ticks_of(with_ticks(5, 2047)) == 2047);
static_assert(unpack(pack({Kind::kCopy, 3, 70, 33, 700})).api == 70 &&
              unpack(pack({Kind::kCopy, 3, 70, 33, 700})).result == 700);
static_assert(device_op(device_flags(DeviceOp::kDelete, DeviceSpace::kLocal)) == DeviceOp::kDelete);
static_assert(device_space(device_flags(DeviceOp::kDelete, DeviceSpace::kLocal)) ==
              DeviceSpace::kLocal);
static_assert(ticket_of(pack_ticket(77, 255)) == 77 && sub_ring_of(pack_ticket(77, 255)) == 255);
static_assert(thread_of(pack_who(9, 1023, 5, 63)) == Index3{1023, 5, 63} &&
              site_of(pack_who(9, 1023, 5, 63)) == 9);
static_assert(block_of(pack_block(0x7fffffff, 5, 0xffff)) == Index3{0x7fffffff, 5, 0xffff});

// ---- columns of `dump`

#define RECORD(record, number, what, since, meaning) struct record##Column {
#define FIELD(record, number, name, form, column, since, meaning)                                  \
  static constexpr const char* name = column;
#define ALIAS(record, name, field, form, when)
#define REST(record, name, form, since, meaning)
#define END_RECORD(record)                                                                         \
  }                                                                                                \
  ;
#include "trace/records.def"
#undef RECORD
#undef FIELD
#undef ALIAS
#undef REST
#undef END_RECORD

// ---- views

#define RECORD(record, number, what, since, meaning)                                               \
  class record##View : public RecordView {                                                         \
  public:                                                                                          \
    using RecordView::RecordView;                                                                  \
    static constexpr Kind kKind = Kind::k##record;
#define FIELD(record, number, name, form, column, since, meaning)                                  \
  forms::form::Type name() const { return forms::form::of(word(record##Word::name)); }
#define ALIAS(record, name, field, form, when)                                                     \
  forms::form::Type name() const { return forms::form::of(word(record##Word::field)); }
#define REST(record, name, form, since, meaning)                                                   \
  Payload name() const { return payload().from(record##Word::kCount); }
#define END_RECORD(record)                                                                         \
  }                                                                                                \
  ;
#include "trace/records.def"
#undef RECORD
#undef FIELD
#undef ALIAS
#undef REST
#undef END_RECORD

// ---- setters

#define RECORD(record, number, what, since, meaning)                                               \
  template <class Out> class record##Fields {                                                      \
  public:                                                                                          \
    static constexpr Kind kKind = Kind::k##record;                                                 \
    static constexpr unsigned kCount = record##Word::kCount;                                       \
    explicit record##Fields(Out& out) : out_(out) {}                                               \
    Out& out() const { return out_; }
#define FIELD(record, number, name, form, column, since, meaning)                                  \
  record##Fields& name(typename forms::form::Type value) {                                         \
    out_.set(record##Word::name, forms::form::word(value));                                        \
    return *this;                                                                                  \
  }
#define ALIAS(record, name, field, form, when)                                                     \
  record##Fields& name(typename forms::form::Type value) {                                         \
    out_.set(record##Word::field, forms::form::word(value));                                       \
    return *this;                                                                                  \
  }
#define REST(record, name, form, since, meaning)
#define END_RECORD(record)                                                                         \
private:                                                                                           \
  Out& out_;                                                                                       \
  }                                                                                                \
  ;
#include "trace/records.def"
#undef RECORD
#undef FIELD
#undef ALIAS
#undef REST
#undef END_RECORD

// The named words of a record that is written as a whole: `Words<ContextWord> words;
// ContextFields(words).handle(h);`.
template <class Word, unsigned Count = Word::kCount> struct Words {
  static constexpr unsigned kCount = Count;
  std::uint64_t w[Count] = {};
  void set(unsigned i, std::uint64_t value) { w[i] = value; }
};

// The words of a record of one slot, for setters.
struct SlotWords {
  Slot& slot;
  void set(unsigned i, std::uint64_t value) { slot.a[i] = value; }
};

// The whole copy that a node's Use has: words as Copy's. Those of what a node sets are as Set's.
static_assert(unsigned{UseWord::pitch} == unsigned{SetWord::pitch} &&
              unsigned{UseWord::width} == unsigned{SetWord::width} &&
              unsigned{UseWord::height} == unsigned{SetWord::height} &&
              unsigned{UseWord::element_bytes} == unsigned{SetWord::element_bytes});
static_assert(unsigned{UseWord::flags_of_copy} ==
              unsigned{UseWord::copy_destination} + unsigned{CopyWord::kCount});

static_assert(unsigned{UseWord::copy_destination} == kNodeCopy &&
              unsigned{UseWord::flags_of_copy} == kNodeCopyFlags);

static_assert(unsigned{DeviceFreeWord::pointer} == unsigned{DeviceAllocWord::pointer} &&
              unsigned{DeviceFreeWord::grid} == unsigned{DeviceAllocWord::grid} &&
              unsigned{DeviceFreeWord::block} == unsigned{DeviceAllocWord::block});
static_assert(unsigned{GraphKernelWord::function} == unsigned{LaunchWord::function});

// The words of the parameter block that could be pointers; empty for other kinds.
inline Payload arguments_of(Kind kind, Payload payload) {
  return kind == Kind::kLaunch        ? LaunchView(payload).arguments()
         : kind == Kind::kGraphKernel ? GraphKernelView(payload).arguments()
                                      : Payload{};
}

} // namespace gmt::trace
