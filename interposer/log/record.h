// SPDX-License-Identifier: Apache-2.0
// One record under construction: what a recorder fills and Entry commits. Its words have their
// names in trace/records.def; AllocFields(record) and AllocView(record) of trace/records.h write
// and read them. Lives on the caller's stack, allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "interposer/log/arguments.h"
#include "trace/format.h"
#include "trace/records.h"

namespace gmt::interposer {

// A first slot and ten more: 70 pointers of a launch
inline constexpr unsigned kMaxRecordWords = 74;

// What a release must do before its real call and an allocation after it (see trace/FORMAT.md,
// "order").
enum class OrderAt : std::uint8_t { kBefore, kAfter };

struct Record {
  trace::Kind kind = trace::Kind::kNote;
  OrderAt order_at = OrderAt::kBefore;
  bool droppable = true; // dropped first when the trace is at its limit
  std::uint16_t flags = 0;
  std::uint16_t words = trace::kFirstPayloadWords;
  std::array<std::uint64_t, kMaxRecordWords> w; // only the first `words` are set

  void reset() {
    kind = trace::Kind::kNote;
    order_at = OrderAt::kBefore;
    droppable = true;
    flags = 0;
    words = trace::kFirstPayloadWords;
  }
  // Whether the call's duration is recorded: those that may wait for the device or for memory.
  // Launches and stream-ordered releases are left out: they wait for neither, and their budget is a
  // few nanoseconds.
  bool is_timed() const {
    using trace::Kind;
    if (kind == Kind::kSync) {
      const trace::SyncOp op = trace::SyncView(*this).op();
      return op == trace::SyncOp::kStreamSynchronize || op == trace::SyncOp::kContextSynchronize ||
             op == trace::SyncOp::kEventSynchronize;
    }
    if (kind == Kind::kFree) return (flags & trace::kSetAsync) == 0;
    return kind == Kind::kAlloc || kind == Kind::kCopy || kind == Kind::kSet;
  }
  // Whether the program waits in there for the device anyway.
  bool is_wait() const {
    using trace::Kind;
    return (kind == Kind::kSync && is_timed()) ||
           (kind == Kind::kCopy && (flags & trace::kCopyAsync) == 0);
  }
  void set(unsigned i, std::uint64_t value) { w[i] = value; }
  // Clears and claims the payload up to `count` words.
  void use(unsigned count) {
    for (unsigned i = 0; i < count; ++i) w[i] = 0;
    words = static_cast<std::uint16_t>(count);
  }
  // Claims more of it, keeping what is there.
  void use_more(unsigned count) {
    for (unsigned i = words; i < count; ++i) w[i] = 0;
    words = static_cast<std::uint16_t>(count);
  }
  friend trace::Payload payload_of(const Record& record) { return {record.w.data(), record.words}; }
};

// As many words as a record of the trace can have.
inline constexpr unsigned kMaxPayloadWords =
  trace::kFirstPayloadWords + trace::kMorePayloadWords * (trace::kMaxSlotsPerRecord - 1);

// The payload of a record for ThreadLog::append_words() that ends in a list or a string. Nothing is
// cleared.
template <unsigned Count> struct PayloadWords {
  std::uint64_t w[Count];
  void set(unsigned i, std::uint64_t value) { w[i] = value; }
  // A string from word `first` on, its last word filled up with zeros. How many words the payload
  // has then.
  unsigned set_text(unsigned first, std::string_view text) {
    const unsigned end = first + static_cast<unsigned>((text.size() + sizeof *w - 1) / sizeof *w);
    if (end != first) w[end - 1] = 0;
    std::memcpy(w + first, text.data(), text.size());
    return end;
  }
};

// Any argument as a payload word: pointers and integers keep their value, structures passed by
// value are not read.
template <class T> std::uint64_t as_word(const T& value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uint64_t>(value);
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    return 0;
  }
}

// The I-th argument as a word; -1 means the call has none.
template <int I, class Tuple> std::uint64_t arg(const Tuple& args) {
  if constexpr (I < 0) {
    return 0;
  } else {
    return as_word(argument<I>(args));
  }
}

// What the I-th argument points to, as a word; only after success, and only if the caller gave a
// pointer.
template <int I, class Tuple> std::uint64_t out(const Tuple& args) {
  if constexpr (I < 0) {
    return 0;
  } else {
    const auto pointer = argument<I>(args);
    static_assert(std::is_pointer_v<std::remove_cv_t<decltype(pointer)>>,
                  "an output parameter is a pointer");
    return pointer == nullptr ? 0 : as_word(*pointer);
  }
}

} // namespace gmt::interposer
