// SPDX-License-Identifier: Apache-2.0
// The one file where payload words become what an event says. A word that the record does not have
// is 0, and so is what it says. A damaged word is taken as it stands: nothing is checked here.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/event.h"
#include "trace/records.h"

namespace gmt {

constexpr bool has(std::uint16_t flags, std::uint16_t flag) { return (flags & flag) != 0; }

// What an event points to, of records that have more words than an Event.
struct EventParts {
  std::vector<Argument> arguments; // of a graph's kernel
  std::vector<event::KernelParameter> parameters;
  event::AllocationShape allocation;
  event::CopyShape copy;
  event::SetShape set;
  event::UseShape use;
  event::Device device;
  event::Fault fault;
  event::Execution execution;
  std::vector<event::UsedRows> rows; // of the execution
  event::GuardCounts guard_counts;
  event::LaunchLimits launch_limits;
};

// An event that is known in part, and what is left to decode. Many wait at once, so they are small.
struct PendingEvent {
  Event event;
  trace::Payload payload;
  std::uint16_t flags = 0;
  std::vector<std::uint64_t> words; // of a record of several slots
  std::vector<Argument> arguments;  // of a launch
};

// Its kind, common flags, and what it says. `payload` must live as long as the event, and is of a
// kind that is an event.
void decode_words(trace::Kind kind, std::uint16_t flags, trace::Payload payload, EventParts& parts,
                  Event& event);

// The same of a launch: `payload` is what stands before its arguments, which must live as long as
// the event.
void decode_launch(std::uint16_t flags, trace::Payload payload, Arguments arguments, Event& event);

// The part of it that is for kinds that are no calls.
void decode_statement(trace::Kind kind, std::uint16_t flags, trace::Payload payload,
                      EventParts& parts, Event& event);

} // namespace gmt
