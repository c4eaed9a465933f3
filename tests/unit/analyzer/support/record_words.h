// SPDX-License-Identifier: Apache-2.0
// Payloads of records by the names of trace/records.def, for the writers of made-up traces:
//
//   log.record({.api = "cuEventCreate"},
//   Made<trace::LifeFields>().handle(7).object(ObjectClass::kEvent));
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "trace/object_class.h"
#include "trace/records.h"

namespace gmt::test {

struct PayloadWords {
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(trace::kFirstPayloadWords);

  void set(unsigned i, std::uint64_t value) {
    if (i >= words.size()) words.resize(i + std::size_t{1});
    words[i] = value;
  }
};

// A record's setters with words of their own. Each setter gives the setters back.
template <template <class> class Fields> class Made : private PayloadWords,
                                                      public Fields<PayloadWords> {
public:
  Made() : Fields<PayloadWords>(static_cast<PayloadWords&>(*this)) {}
};

// The words that have been set, and behind all that have names the rest.
template <template <class> class Fields>
std::vector<std::uint64_t> words_of(const Fields<PayloadWords>& made,
                                    const std::vector<std::uint64_t>& rest = {}) {
  std::vector<std::uint64_t> words = made.out().words;
  if (rest.empty()) return words;
  words.resize(Fields<PayloadWords>::kCount);
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

// The rest of a record that holds a string.
inline std::vector<std::uint64_t> string_words(const std::string& text) {
  std::vector<std::uint64_t> words((text.size() + 7) / 8);
  if (!text.empty()) std::memcpy(words.data(), text.data(), text.size());
  return words;
}

} // namespace gmt::test
