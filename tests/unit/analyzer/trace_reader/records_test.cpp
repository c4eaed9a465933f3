// SPDX-License-Identifier: Apache-2.0
// Views and setters of records, trace/records.h: what is written by a name is read by it, in the
// word that records.def says.
#include <gtest/gtest.h>

#include "tests/unit/analyzer/support/record_words.h"

namespace gmt::test {
namespace {

trace::Payload payload_of(const std::vector<std::uint64_t>& words) {
  return {words.data(), words.size()};
}

// A value of each form's type that is another one for each word.
template <class T> T value_for(unsigned word) {
  return static_cast<T>(static_cast<std::uint64_t>(word) + 1);
}
template <> trace::Index3 value_for(unsigned word) { return {word + 1, 2, 3}; }
template <> trace::Halves value_for(unsigned word) { return {word + 1, 2}; }

TEST(Records, EachFieldIsReadAsItWasWritten) {
#define RECORD(record, number, what, since, meaning)                                               \
  {                                                                                                \
    Made<trace::record##Fields> fields;                                                            \
    const auto view = [&] { return trace::record##View(payload_of(fields.out().words)); };
#define FIELD(record, number, field, form, column, since, meaning)                                 \
  const auto field = value_for<trace::forms::form::Type>(number);                                  \
  fields.field(field);                                                                             \
  EXPECT_TRUE(view().field() == field) << #record "." #field;                                      \
  EXPECT_EQ(view().word(number), trace::forms::form::word(field)) << #record "." #field;
#define ALIAS(record, name, field, form, when)                                                     \
  EXPECT_EQ(trace::forms::form::word(view().name()), view().word(trace::record##Word::field))      \
    << #record "." #name;
#define REST(record, name, form, since, meaning)                                                   \
  const std::vector<std::uint64_t> all = words_of(fields, {77, 78});                               \
  const trace::Payload name##_rest = trace::record##View(payload_of(all)).name();                  \
  EXPECT_TRUE(name##_rest.size() >= 2 && name##_rest[0] == 77 && name##_rest[1] == 78) << #record;
#define END_RECORD(record) }
#include "trace/records.def"
#undef RECORD
#undef FIELD
#undef ALIAS
#undef REST
#undef END_RECORD
}

TEST(Records, WhatTheRecordDoesNotHaveIsZero) {
  const std::vector<std::uint64_t> words = {1, 2, 3, 4};
  const trace::UseView use(payload_of(words));
  EXPECT_EQ(use.stream(), 4u);
  EXPECT_EQ(use.pitch(), 0u);
  EXPECT_EQ(use.flags_of_copy(), 0u);
  EXPECT_FALSE(use.has_second_slot());
  EXPECT_TRUE(trace::LaunchView(payload_of(words)).arguments().empty());
  EXPECT_TRUE(trace::GraphKernelView(payload_of(words)).arguments().empty());
}

TEST(Records, DamagedWordIsNoOtherMember) {
  std::vector<std::uint64_t> words = {
    0, 0, 0x100 + static_cast<std::uint64_t>(trace::MemoryKind::kManaged), 0};
  EXPECT_GT(trace::AllocView(payload_of(words)).memory_kind(), trace::MemoryKind::kTensor);
  words[2] = 0x77;
  EXPECT_EQ(trace::AllocView(payload_of(words)).memory_kind(),
            static_cast<trace::MemoryKind>(0x77));
}

TEST(Records, OnlyLaunchesHaveArguments) {
  const std::vector<std::uint64_t> words = {0, 0, 0, 0, 5, 6, 0, 0, 0, 0, 0};
  EXPECT_EQ(trace::arguments_of(trace::Kind::kLaunch, payload_of(words)).size(), 7u);
  EXPECT_EQ(trace::arguments_of(trace::Kind::kGraphKernel, payload_of(words))[0], 6u);
  EXPECT_TRUE(trace::arguments_of(trace::Kind::kCopy, payload_of(words)).empty());
}

} // namespace
} // namespace gmt::test
