// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/fold/log_folder.h"

#include <algorithm>
#include <cstring>

#include "analyzer/trace_reader/folded_calls.h"

namespace gmt {

namespace fs = std::filesystem;
using trace::LaunchWord;

namespace {

constexpr std::size_t kRead = 16384; // slots

// Those of which the order is their own, and which a plan may drop.
bool may_go(trace::Kind kind) {
  return kind == trace::Kind::kAlloc || kind == trace::Kind::kFree || kind == trace::Kind::kCopy ||
         kind == trace::Kind::kSet || kind == trace::Kind::kLaunch || kind == trace::Kind::kSync ||
         kind == trace::Kind::kExecution;
}

std::vector<std::uint64_t> words_of(const trace::Slot* record, unsigned slots) {
  std::vector<std::uint64_t> words(record->a, record->a + trace::kFirstPayloadWords);
  for (unsigned i = 1; i < slots; ++i) {
    trace::MoreSlot more;
    std::memcpy(&more, record + i, sizeof more);
    words.insert(words.end(), more.payload, more.payload + trace::kMorePayloadWords);
  }
  return words;
}

} // namespace

LogFolder::LogFolder(const fs::path& packed, const FoldPlan& plan, std::uint16_t api)
    : plan_(plan), api_(api), from_(PackedLog::open(packed)), to_(packed) {
  std::vector<char> header(trace::kLogHeaderBytes);
  if (from_ == nullptr) problem_ = "it cannot be opened";
  else if (read_at(from_->descriptor(), header.data(), header.size(), 0) != header.size())
    problem_ = "it is shorter than its header";
  else std::ranges::copy(kFoldedMark, header.end() - sizeof kFoldedMark);
  if (problem_.empty()) to_.begin(header.data());
  read_ = trace::kLogHeaderBytes;
}

bool LogFolder::read() {
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  const std::size_t before = in_.size();
  in_.resize(before + kRead);
  const std::size_t bytes = from_->read(in_.data() + before, kRead * trace::kSlotBytes, read_);
  read_ += bytes;
  in_.resize(before + bytes / trace::kSlotBytes);
  is_at_end_ = bytes < kRead * trace::kSlotBytes;
  if (from_->is_damaged()) problem_ = "it is damaged";
  return problem_.empty();
}

bool LogFolder::step() {
  if (!problem().empty() || !read()) return false;
  while (at_ < in_.size()) {
    const trace::Head head = trace::unpack(in_[at_].head);
    // What is torn, abandoned or damaged stays as it is, slot by slot.
    const unsigned slots = may_go(head.kind) && head.slots != 0 ? head.slots : 1;
    if (at_ + slots > in_.size() && !is_at_end_) break;
    if (is_whole(slots)) {
      take(&in_[at_], slots);
      at_ += slots;
    } else {
      put(&in_[at_++], 1);
    }
  }
  if (is_at_end_ && sums_.records != 0) note(dropped_);
  std::size_t done = 0;
  for (; out_.size() - done >= PackedLog::kSlots; done += PackedLog::kSlots)
    to_.add({out_.data() + done, PackedLog::kSlots});
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(done));
  if (!is_at_end_) return problem().empty();
  if (to_.add(out_)) to_.finish();
  return false;
}

bool LogFolder::is_whole(unsigned slots) const {
  if (at_ + slots > in_.size()) return false;
  for (unsigned i = 1; i < slots; ++i)
    if (trace::unpack(in_[at_ + i].head).kind != trace::Kind::kMore) return false;
  return true;
}

// What the simulated device says of a launch goes with it.
FoldPlan::Part LogFolder::part_of(const trace::Slot& record) const {
  const trace::Kind kind = trace::unpack(record.head).kind;
  if (!may_go(kind)) return Part::kNone;
  if (kind != trace::Kind::kExecution) return plan_.of(record.order & trace::kOrderMask);
  constexpr auto kAccesses = static_cast<std::uint64_t>(trace::ExecutionOp::kAccesses);
  if (record.a[trace::ExecutionWord::op] != kAccesses) return Part::kNone;
  const Part launch = plan_.of(record.a[trace::ExecutionWord::call]);
  return launch == Part::kDropped || launch == Part::kNote ? Part::kDropped : Part::kNone;
}

void LogFolder::take(const trace::Slot* record, unsigned slots) {
  const trace::Kind kind = trace::unpack(record->head).kind;
  const Part part = part_of(*record);
  const bool is_dropped = part == Part::kDropped || part == Part::kNote;
  if (kind == trace::Kind::kLaunch) note_arguments(record, slots, is_dropped);
  if (is_dropped) {
    drop(*record);
    if (part == Part::kNote) note(*record);
  } else if (Arguments* missing = missing_arguments(*record)) {
    put_launch(*record, *missing);
  } else {
    put(record, slots);
  }
}

void LogFolder::drop(const trace::Slot& record) {
  ++sums_.records;
  dropped_ = record;
  switch (trace::unpack(record.head).kind) {
  case trace::Kind::kAlloc:
    ++sums_.allocations;
    sums_.allocated_bytes += record.a[trace::AllocWord::bytes];
    break;
  case trace::Kind::kLaunch: ++sums_.launches; break;
  case trace::Kind::kCopy: ++sums_.copies; break;
  case trace::Kind::kExecution: ++sums_.others; break;
  default: break;
  }
}

void LogFolder::note(const trace::Slot& record) {
  trace::Slot slot{};
  slot.head = trace::pack({trace::Kind::kNote, 1, api_, 0, 0});
  slot.order = record.order & trace::kOrderMask;
  slot.time = record.time;
  slot.via = trace::kNoApi;
  const FoldedCalls calls{sums_.records,  sums_.allocations, sums_.allocated_bytes,
                          sums_.launches, sums_.copies,      sums_.others};
  slot.a[trace::NoteWord::first] = calls.records;
  slot.a[trace::NoteWord::second] = calls.second();
  slot.a[trace::NoteWord::third] = calls.third();
  slot.a[trace::NoteWord::fourth] = calls.fourth();
  sums_ = {};
  out_.push_back(slot);
}

void LogFolder::note_arguments(const trace::Slot* launch, unsigned slots, bool is_dropped) {
  if ((trace::unpack(launch->head).flags & trace::kLaunchKeepsArguments) == 0) return;
  const unsigned number = trace::arguments_number_of(launch->a[LaunchWord::block]);
  if (number == 0 || number > trace::kMostKeptArguments) return;
  arguments_.resize(trace::kMostKeptArguments + 1);
  Arguments& arguments = arguments_[number];
  arguments.is_missing = is_dropped;
  if (!is_dropped) return;
  arguments.words = words_of(launch, slots);
  arguments.scanned = trace::unpack(launch->head).flags & trace::kLaunchScanned;
}

// Of a launch that repeats the arguments of one that was dropped.
LogFolder::Arguments* LogFolder::missing_arguments(const trace::Slot& record) {
  const trace::Head head = trace::unpack(record.head);
  const bool repeats =
    head.kind == trace::Kind::kLaunch && (head.flags & trace::kLaunchRepeatsArguments) != 0;
  const unsigned number = repeats ? trace::arguments_number_of(record.a[LaunchWord::block]) : 0;
  const bool is_missing = number < arguments_.size() && arguments_[number].is_missing;
  return repeats && is_missing ? &arguments_[number] : nullptr;
}

// From here on it is the one that others repeat.
void LogFolder::put_launch(const trace::Slot& launch, Arguments& arguments) {
  trace::Head head = trace::unpack(launch.head);
  head.flags &= static_cast<std::uint16_t>(~trace::kLaunchRepeatsArguments);
  head.flags |= static_cast<std::uint16_t>(trace::kLaunchKeepsArguments | arguments.scanned);
  const std::size_t more = arguments.words.size() - trace::kFirstPayloadWords;
  head.slots = static_cast<std::uint8_t>(1 + more / trace::kMorePayloadWords);
  trace::Slot first = launch;
  first.head = trace::pack(head);
  out_.push_back(first);
  for (std::size_t i = trace::kFirstPayloadWords; i < arguments.words.size();
       i += trace::kMorePayloadWords) {
    trace::MoreSlot slot{trace::pack({trace::Kind::kMore, 1, trace::kNoApi, 0, 0}), {}};
    std::memcpy(slot.payload, &arguments.words[i], sizeof slot.payload);
    std::memcpy(static_cast<void*>(&out_.emplace_back()), &slot, sizeof slot);
  }
  arguments = {};
}

void LogFolder::put(const trace::Slot* record, unsigned slots) {
  out_.insert(out_.end(), record, record + slots);
}

} // namespace gmt
