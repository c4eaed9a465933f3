// SPDX-License-Identifier: Apache-2.0
// Which words of a launch's arguments could be pointers, by the layout of its kernel's parameters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interposer/log/record.h"

namespace gmt::interposer {

// The aligned words of the parameter block that lie in one parameter.
struct ArgumentRun {
  std::uint16_t parameter;
  std::uint16_t words;
  std::uint16_t offset;   // of the first, in the parameter
  std::uint16_t in_block; // and in the block
};

// A header, followed by its runs. Kernels with the same parameters share one.
struct ArgumentLayout {
  std::uint32_t count; // of runs
  std::uint32_t parameters;
  const ArgumentRun* runs() const noexcept {
    return reinterpret_cast<const ArgumentRun*>(this + 1);
  }
};
static_assert(sizeof(ArgumentLayout) == 8 && sizeof(ArgumentRun) == 8);

// Addresses below the first are never mapped, those above the last do not exist.
inline constexpr std::uint64_t kLowestAddress = 1 << 16;
inline bool could_be_pointer(std::uint64_t value) noexcept {
  return value - kLowestAddress < (std::uint64_t{1} << trace::kArgumentShift) - kLowestAddress;
}

// Texture and surface objects are numbers, mostly small ones: words up to the largest object that
// the program has made are taken as well. 0: it has made none.
inline constinit std::atomic<std::uint64_t> largest_object{0};
inline void note_object(std::uint64_t object) noexcept {
  if (object >= kLowestAddress) return; // could be a pointer
  std::uint64_t largest = largest_object.load(std::memory_order_relaxed);
  while (object > largest &&
         !largest_object.compare_exchange_weak(largest, object, std::memory_order_relaxed)) {
  }
}
inline bool is_taken(std::uint64_t value, std::uint64_t largest) noexcept {
  return could_be_pointer(value) || value - 1 < largest;
}

inline std::uint64_t word_at(const char* bytes) noexcept {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Where words of arguments lie.
struct ArgumentWords {
  const char* bytes;
  unsigned count;
};

// Those that could be pointers or objects go to `out`, up to `end`. False if one found no room.
inline bool take_pointers(ArgumentWords words, unsigned parameter, std::uint64_t*& out,
                          std::uint64_t* end) noexcept {
  const std::uint64_t largest = largest_object.load(std::memory_order_relaxed);
  while (words.count != 0) {
    const auto room = static_cast<unsigned>(end - out);
    if (room == 0) [[unlikely]] {
      for (unsigned i = 0; i < words.count; ++i) {
        if (is_taken(word_at(words.bytes + sizeof(std::uint64_t) * i), largest)) return false;
      }
      return true;
    }
    const unsigned now = words.count < room ? words.count : room;
    for (unsigned i = 0; i < now; ++i) {
      const std::uint64_t value = word_at(words.bytes + sizeof value * i);
      *out = trace::argument_word(value, parameter);
      out += is_taken(value, largest) ? 1 : 0;
    }
    words = {words.bytes + sizeof(std::uint64_t) * now, words.count - now};
  }
  return true;
}

// The words of one launch into the record, until it is full. `find_words(run)` gives the words of
// the run that are there.
template <class Find>
void scan_arguments(Record& r, const ArgumentLayout& layout, Find find_words) noexcept {
  std::uint64_t* out = r.w.data() + r.words;
  std::uint64_t* const end = r.w.data() + kMaxRecordWords;
  const ArgumentRun* run = layout.runs();
  const ArgumentRun* const last = run + layout.count;
  for (; run != last; ++run) {
    const ArgumentWords words = find_words(*run);
    if (!take_pointers(words, run->parameter, out, end) || words.count != run->words) break;
  }
  r.words = static_cast<std::uint16_t>(out - r.w.data());
  if (run == last) r.flags |= trace::kLaunchScanned;
}

struct ArgumentBlock {
  const char* bytes = nullptr;
  std::size_t size = 0;
};

// The block of parameters that `extra` names: pairs of a word and a pointer (CU_LAUNCH_PARAM_... of
// cuda.h).
inline ArgumentBlock block_of(void* const* extra) noexcept {
  constexpr std::uintptr_t kBufferPointer = 1, kBufferSize = 2;
  constexpr unsigned kMostPairs = 8;
  ArgumentBlock block;
  for (unsigned i = 0; i < kMostPairs; ++i, extra += 2) {
    const auto word = reinterpret_cast<std::uintptr_t>(*extra);
    if (word == kBufferPointer) {
      block.bytes = static_cast<const char*>(extra[1]);
    } else if (word == kBufferSize && extra[1] != nullptr) {
      block.size = *static_cast<const std::size_t*>(extra[1]);
    } else {
      break; // the end, or something unknown
    }
  }
  return block;
}

} // namespace gmt::interposer
