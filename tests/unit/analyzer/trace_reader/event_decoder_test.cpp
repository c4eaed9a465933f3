// SPDX-License-Identifier: Apache-2.0
// What an event says of the words of its record, and of those that the record lacks.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/analyzer/support/event_maker.h"
#include "trace/cuda_constants.h"

namespace gmt::test {
namespace {

using trace::Side;

class EventDecoder : public testing::Test {
protected:
  EventMaker make;
};

TEST_F(EventDecoder, FlagsOfAllKinds) {
  const auto note = [this](std::uint16_t flags) {
    return make(Made<trace::NoteFields>().first(1).fourth(4), {.flags = flags});
  };
  const Event plain = note(0), nested = note(trace::kFlagNested),
              runtime = note(trace::kFlagRuntime);
  EXPECT_EQ(plain.kind, EventKind::kNote);
  EXPECT_FALSE(plain.is_nested || plain.from_runtime);
  EXPECT_TRUE(nested.is_nested && !nested.from_runtime);
  EXPECT_TRUE(runtime.from_runtime && !runtime.is_nested);
  EXPECT_EQ(plain.note().first, 1u);
  EXPECT_EQ(plain.note().fourth, 4u);
}

TEST_F(EventDecoder, ARecordOfOneSlotHasNoShape) {
  const Event e = make(Made<trace::AllocFields>()
                         .address(0x1000)
                         .bytes(64)
                         .memory_kind(trace::MemoryKind::kPinned)
                         .stream(7),
                       {.flags = trace::kAllocFenced});
  EXPECT_EQ(e.allocation().address, 0x1000u);
  EXPECT_EQ(e.allocation().bytes, 64u);
  EXPECT_EQ(e.allocation().memory_kind, trace::MemoryKind::kPinned);
  EXPECT_EQ(e.allocation().location(), 7u);
  EXPECT_TRUE(e.allocation().is_fenced);
  EXPECT_FALSE(e.allocation().is_shaped);
  EXPECT_EQ(e.allocation().shape->pitch, 0u);
  EXPECT_EQ(e.allocation().shape->pool, 0u);
}

TEST_F(EventDecoder, TheSubjectOfEachCallComesFirst) {
  const Event alloc = make(Made<trace::AllocFields>().address(1).bytes(2));
  const Event copy = make(Made<trace::CopyFields>().destination(3).source(4));
  const Event launch = make(Made<trace::LaunchFields>().function(5).stream(6));
  const Event free = make(Made<trace::FreeFields>().address(7).bytes(8));
  EXPECT_EQ(alloc.subject().first, 1u);
  EXPECT_EQ(alloc.subject().second, 2u);
  EXPECT_EQ(copy.subject().first, 3u);
  EXPECT_EQ(copy.subject().second, 4u);
  EXPECT_EQ(launch.subject().first, 5u);
  EXPECT_EQ(launch.subject().second, 6u);
  EXPECT_EQ(free.subject().first, 7u);
  EXPECT_EQ(free.subject().second, 8u);
}

TEST_F(EventDecoder, CopiesOfRowsAndArrays) {
  const auto flags = static_cast<std::uint16_t>(trace::copy_flags(Side::kHost, Side::kArray, true) |
                                                trace::declared_kind_flags(2));
  const Event flat = make(Made<trace::CopyFields>().bytes(10), {.flags = flags});
  EXPECT_EQ(flat.copy().destination_side, Side::kHost);
  EXPECT_EQ(flat.copy().source_side, Side::kArray);
  EXPECT_EQ(flat.copy().declared_kind_plus_1, 3u);
  EXPECT_TRUE(flat.copy().is_async);
  EXPECT_FALSE(flat.copy().is_batched || flat.copy().is_shaped || is_shaped(flat));
  const Event rows = make(Made<trace::CopyFields>().width(20).source_rows(3));
  EXPECT_TRUE(is_shaped(rows));
  EXPECT_EQ(rows.copy().shape->width, 20u);
  EXPECT_EQ(rows.copy().shape->source_rows, 3u);
  EXPECT_FALSE(rows.copy().shape->has_offsets);
  const Event array = make(Made<trace::CopyFields>().source_z(4));
  EXPECT_TRUE(array.copy().shape->has_offsets);
  EXPECT_EQ(array.copy().shape->source_z, 4u);
}

TEST_F(EventDecoder, ArgumentsOfLaunches) {
  const std::vector<std::uint64_t> words = {trace::argument_word(0x7f0000000010, 3), 0,
                                            trace::argument_word(0x20, 1000), 0, 0}; // the rest of
                                                                                     // the last
                                                                                     // slot
  const Event e = make(Made<trace::LaunchFields>().grid({9, 2, 3}).block({128, 4, 5}),
                       {.flags = trace::kLaunchScanned}, words);
  EXPECT_TRUE(e.launch().is_scanned);
  EXPECT_EQ(e.launch().grid, (trace::Index3{9, 2, 3}));
  EXPECT_EQ(e.launch().block, (trace::Index3{128, 4, 5}));
  ASSERT_EQ(arguments_of(e).size(), 3u);
  EXPECT_EQ(arguments_of(e)[0], Argument(0x7f0000000010, 3));
  EXPECT_EQ(arguments_of(e)[0].address(), 0x7f0000000010u);
  EXPECT_EQ(arguments_of(e)[0].parameter(), 3u);
  EXPECT_TRUE(arguments_of(e)[1].is_unused());
  EXPECT_EQ(arguments_of(e)[2].parameter(), kNoParameter);
  EXPECT_TRUE(arguments_of(make(Made<trace::FreeFields>().address(1))).empty());
}

TEST_F(EventDecoder, TheWholeCopyOfANode) {
  const Event e = make(Made<trace::UseFields>()
                         .address(1)
                         .use(trace::UseClass::kGraphNode)
                         .node(5)
                         .node_type(cuda::kNodeTypeCopy)
                         .copy_destination(6)
                         .copy_source(7)
                         .copy_width(8)
                         .flags_of_copy(trace::copy_flags(Side::kDevice, Side::kHost, false)),
                       {.flags = trace::kUseWrites});
  const event::Use& use = e.use();
  EXPECT_TRUE(use.writes && !use.reads && !use.is_of_recorded_copy);
  ASSERT_TRUE(use.shape->has_node && use.shape->has_copy);
  EXPECT_EQ(use.shape->node, 5u);
  EXPECT_EQ(use.shape->copy.destination, 6u);
  EXPECT_EQ(use.shape->copy.source, 7u);
  EXPECT_EQ(use.shape->copy.shape->width, 8u);
  EXPECT_EQ(use.shape->copy.destination_side, Side::kDevice);
  const Event old = make(Made<trace::UseFields>().node(5).node_type(cuda::kNodeTypeCopy));
  EXPECT_TRUE(old.use().shape->has_node && !old.use().shape->has_copy);
}

TEST_F(EventDecoder, TextsThatEndEarly) {
  const Event whole =
    make(Made<trace::NameFields>().handle(9).length(6), {}, string_words("kernel"));
  EXPECT_TRUE(whole.name().is_whole);
  EXPECT_EQ(whole.name().text, "kernel");
  const Event cut =
    make(Made<trace::NameFields>().handle(9).length(60), {}, string_words("kernel"));
  EXPECT_FALSE(cut.name().is_whole);
  EXPECT_EQ(cut.name().text.size(), 8u); // what the record has
}

TEST_F(EventDecoder, DamagedEnumerationsAreNoOtherMember) {
  EXPECT_EQ(static_cast<int>(make(Made<trace::FaultFields>().bytes(0x100)).fault().fault), 0);
  PayloadWords damaged;
  damaged.set(trace::SyncWord::op, 0x101);
  EventParts parts;
  Event e;
  decode_words(trace::Kind::kSync, 0, {damaged.words.data(), damaged.words.size()}, parts, e);
  EXPECT_EQ(static_cast<int>(e.sync().op), 0xff);
}

TEST_F(EventDecoder, FaultsAndTheirFlags) {
  const Event e = make(Made<trace::FaultFields>()
                         .fault(trace::FaultKind::kSharedRace)
                         .neighbour_bytes(3)
                         .other_function(77),
                       {.flags = trace::kFaultHasAddress | trace::kFaultOtherHasThread});
  EXPECT_EQ(e.fault().fault, trace::FaultKind::kSharedRace);
  EXPECT_TRUE(e.fault().has_address && e.fault().other_has_thread);
  EXPECT_FALSE(e.fault().has_thread || e.fault().has_other || e.fault().is_neighbour_freed);
  EXPECT_EQ(e.fault().neighbour_bytes, 3u);
  EXPECT_EQ(e.fault().other_function, 77u);
}

} // namespace
} // namespace gmt::test
