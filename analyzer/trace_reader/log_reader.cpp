// SPDX-License-Identifier: Apache-2.0
// Reads one log. The hot path is parse() for a single-slot record, with what it calls inline, and
// what calls of decode() leave to do; everything else runs once a batch or once a stack. It is one
// file so that the compiler sees the hot path whole.

#include "analyzer/trace_reader/log_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "analyzer/model/device_number.h"

namespace gmt {
namespace {

using trace::Kind;

constexpr std::uint16_t kNumbersArguments =
  trace::kLaunchKeepsArguments | trace::kLaunchRepeatsArguments;

// What reading a record has to do.
enum class Role : std::uint8_t {
  kUnknown,
  kEvent,    // no more than to keep it
  kOddEvent, // more, see keep_odd()
  kStack,
  kPythonCode,
  kPythonStack,
};

constexpr Role role_of(Kind kind) {
  const auto k = static_cast<unsigned>(kind);
  const bool is_event =
    (k >= static_cast<unsigned>(Kind::kAlloc) &&
     k <= static_cast<unsigned>(trace::kLastEventKind)) ||
    (k >= static_cast<unsigned>(Kind::kName) && k <= static_cast<unsigned>(Kind::kExecution)) ||
    kind == Kind::kTensor || is_for_heap_alone(static_cast<EventKind>(kind));
  switch (kind) {
  case Kind::kStack: return Role::kStack;
  case Kind::kPythonCode: return Role::kPythonCode;
  case Kind::kPythonStack: return Role::kPythonStack;
  case Kind::kThread:
  case Kind::kLoss:
  case Kind::kContext:
  case Kind::kDevice: return Role::kOddEvent;
  default: return is_event ? Role::kEvent : Role::kUnknown;
  }
}

constexpr std::array<Role, 256> kRoles = [] {
  std::array<Role, 256> roles{};
  for (unsigned kind = 0; kind < roles.size(); ++kind)
    roles[kind] = role_of(static_cast<Kind>(kind));
  return roles;
}();

// A word that may name a device, or none, says neither.
bool is_damaged_device(std::uint64_t word) {
  const auto half = static_cast<std::uint32_t>(word);
  return device_number(word) < 0 && half != UINT32_MAX;
}

bool names_no_device(Kind kind, const trace::Slot& slot) {
  if (kind == Kind::kContext) return is_damaged_device(trace::ContextView(slot).device());
  return kind == Kind::kDevice && is_damaged_device(trace::DeviceView(slot).ordinal());
}

} // namespace

LogReader::LogReader(std::filesystem::path path, std::uint32_t log, StackTable& stacks,
                     bool keep_open, std::shared_ptr<const ReusedAddresses> reused)
    : stacks_(stacks), file_(std::move(path), stats_, ZeroHeads::kTorn, keep_open), log_(log),
      leases_{{0, log}}, reused_(std::move(reused)) {}

// Reads on until there is something to hand out, or the file ends.
void LogReader::refill() {
  do {
    drop_used();
    file_.read_more();
    parse();
    if (!sorted_) {
      std::stable_sort(records_.begin(), records_.end(),
                       [](const Record& a, const Record& b) { return a.order < b.order; });
      sorted_ = true;
    }
    limit_ = is_complete() ? records_.size() : records_.size() - std::min(records_.size(), kWindow);
  } while (next_ >= limit_ && !is_complete());
}

// A trace of days has tens of thousands of files.
void LogReader::rest() {
  file_.rest();
  records_ = {};
  next_ = limit_ = 0;
  leases_ = {leases_.back()};
  kept_ = {};
  repeats_ = {};
  stack_ids_ = {};
  odd_stack_ids_ = {};
  python_code_ = {};
  scratch_ = {};
}

// Keeps the slots of held-back records.
void LogReader::drop_used() {
  records_.erase(records_.begin(),
                 records_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, records_.size())));
  next_ = limit_ = 0;
  std::size_t first = file_.position();
  for (const Record& p : records_) first = std::min<std::size_t>(first, p.slot);
  const auto dropped = static_cast<std::uint32_t>(file_.drop_before(first));
  if (dropped == 0) return;
  for (Record& p : records_) p.slot -= dropped;
  while (leases_.size() > 1 && leases_[1].slot <= dropped) leases_.erase(leases_.begin());
  for (Lease& lease : leases_) lease.slot -= std::min(lease.slot, dropped);
  std::erase_if(repeats_, [dropped](const Repeat& r) { return r.slot < dropped; });
  for (Repeat& repeat : repeats_) repeat.slot -= dropped;
}

void LogReader::parse() {
  for (SlotRecord record; file_.next(record);) {
    if (follows_ && waits_for(record)) return;
    switch (kRoles[static_cast<std::uint8_t>(record.head.kind)]) {
    case Role::kEvent:
      keep(record);
      if (record.head.kind == Kind::kLaunch && (record.head.flags & kNumbersArguments) != 0)
        note_arguments(record);
      break;
    case Role::kOddEvent: keep_odd(record); break;
    case Role::kStack: define_stack(record); break;
    case Role::kPythonCode: define_python_code(record); break;
    case Role::kPythonStack: define_python_stack(record); break;
    case Role::kUnknown: ++stats_.unknown_kinds; break;
    }
  }
}

// A call that has not returned, in a log that is being written.
bool LogReader::waits_for(const SlotRecord& record) {
  if (record.head.result != trace::kResultInFlight ||
      !is_call(static_cast<EventKind>(record.head.kind)))
    return false;
  file_.put_back(record);
  is_waiting_ = true;
  return true;
}

inline void LogReader::keep(const SlotRecord& record) {
  const trace::Slot& slot = file_[record.slot];
  ++stats_.records;
  const std::uint64_t own = trace::order_of(slot.order);
  const std::uint64_t order = own != 0 ? own : last_order_; // not a call: where it stands
  if (order < last_order_) {
    sorted_ = false;
  } else {
    last_order_ = order;
  }
  StackId stack = stack_of(slot.stack);
  // A call that has not returned has the order of the record before it.
  if (reused_ != nullptr) [[unlikely]]
    stack = stack_at(stack, order + (record.head.result == trace::kResultInFlight ? 1 : 0));
  records_.push_back({order, static_cast<std::uint32_t>(record.slot), stack});
}

void LogReader::keep_odd(const SlotRecord& record) {
  const trace::Slot& slot = file_[record.slot];
  if (names_no_device(record.head.kind, slot)) {
    ++stats_.damaged;
    return;
  }
  keep(record);
  if (record.head.kind == Kind::kThread) begin_thread(static_cast<std::uint32_t>(record.slot));
  if (record.head.kind == Kind::kLoss && record.head.slots == 1)
    note_loss(trace::LossView(slot), stats_);
}

void LogReader::begin_thread(std::uint32_t slot) {
  const auto number = static_cast<std::uint32_t>(trace::ThreadView(file_[slot]).number());
  stats_.numbers_threads = true;
  if (number != leases_.back().thread) leases_.push_back({slot, number});
}

std::uint32_t LogReader::thread_of(std::uint32_t slot) const {
  const auto later = std::ranges::upper_bound(leases_, slot, {}, &Lease::slot);
  return later == leases_.begin() ? later->thread : (later - 1)->thread;
}

// A number that no launch before it has kept is damage: the launch has no known arguments then.
void LogReader::note_arguments(const SlotRecord& launch) {
  const std::uint64_t extents = file_[launch.slot].a[trace::LaunchWord::block];
  const unsigned number = trace::arguments_number_of(extents);
  if (number == 0 || number > trace::kMostKeptArguments) {
    ++stats_.damaged;
    return;
  }
  if (kept_.empty()) kept_.resize(trace::kMostKeptArguments + 1);
  if ((launch.head.flags & trace::kLaunchKeepsArguments) != 0) {
    file_.words_of(launch, scratch_);
    Arguments arguments{static_cast<std::uint16_t>(launch.head.flags & trace::kLaunchScanned),
                        {scratch_.begin() + trace::LaunchWord::kCount, scratch_.end()}};
    kept_[number] = std::make_shared<const Arguments>(std::move(arguments));
  } else if (kept_[number] != nullptr) {
    repeats_.push_back({static_cast<std::uint32_t>(launch.slot), kept_[number]});
  } else {
    ++stats_.damaged;
  }
}

inline StackId LogReader::stack_of(std::uint32_t id) const {
  if (id < stack_ids_.size()) return stack_ids_[id];
  const auto odd = odd_stack_ids_.find(id);
  return odd == odd_stack_ids_.end() ? StackId{} : odd->second;
}

// The stack with the addresses that its object files have for themselves.
StackId LogReader::stack_at(StackId stack, std::uint64_t order) {
  const auto may_move = [this](std::uint64_t address) { return reused_->may_move(address); };
  const auto [known, is_new] = moves_.try_emplace(stack.value, false);
  if (is_new) known->second = std::ranges::any_of(stacks_.frames(stack), may_move);
  if (!known->second) return stack;
  std::vector<std::uint64_t> own;
  for (const std::uint64_t address : stacks_.frames(stack))
    own.push_back(reused_->own_address(address, order));
  return stacks_.intern(own);
}

void LogReader::define_stack(const SlotRecord& record) {
  file_.words_of(record, scratch_);
  const trace::StackView view(trace::Payload{scratch_.data(), scratch_.size()});
  const std::uint64_t id = view.id(), count = view.frame_count();
  if (id == 0 || id > UINT32_MAX || count > trace::kMaxStackFrames ||
      count > view.frames().size()) {
    ++stats_.damaged;
    return;
  }
  ++stats_.records;
  name_stack(id, stacks_.intern(std::span(scratch_).subspan(trace::StackWord::kCount, count)));
}

void LogReader::define_python_code(const SlotRecord& record) {
  file_.words_of(record, scratch_);
  const trace::PythonCodeView view(trace::Payload{scratch_.data(), scratch_.size()});
  const trace::Payload text = view.text();
  const std::uint64_t name = view.function_length(), file = view.file_length();
  if (view.id() == 0 || view.id() > UINT32_MAX || name > text.bytes() ||
      file > text.bytes() - name) {
    ++stats_.damaged;
    return;
  }
  ++stats_.records;
  python_code_[static_cast<std::uint32_t>(view.id())] = {std::string(text.text(), name),
                                                         std::string(text.text() + name, file)};
}

// A native stack that is not known gives a stack of Python frames alone.
void LogReader::define_python_stack(const SlotRecord& record) {
  file_.words_of(record, scratch_);
  const trace::PythonStackView view(trace::Payload{scratch_.data(), scratch_.size()});
  const std::uint64_t id = view.id(), count = view.frame_count();
  if (id == 0 || id > UINT32_MAX || view.native() > UINT32_MAX || count > trace::kMaxStackFrames ||
      count > view.frames().size()) {
    ++stats_.damaged;
    return;
  }
  ++stats_.records;
  const std::span<const std::uint64_t> native =
    stacks_.frames(stack_of(static_cast<std::uint32_t>(view.native())));
  std::vector<std::uint64_t> addresses(native.begin(), native.end());
  for (std::uint64_t i = 0; i < count; ++i) {
    const trace::Halves frame = trace::halves_of(view.frames()[i]);
    if (frame.high == trace::kPythonEntry) {
      addresses.push_back(PythonFrames::entry(frame.low));
      continue;
    }
    const auto code = python_code_.find(frame.high);
    addresses.push_back(
      stacks_.python().intern(code != python_code_.end() ? code->second : PythonCode{}, frame.low));
  }
  name_stack(id, stacks_.intern_python(addresses));
}

void LogReader::name_stack(std::uint64_t id, StackId stack) {
  constexpr std::size_t kGap = 4096; // ids count up; a far one is damage, and must not cost memory
  if (id < stack_ids_.size() + kGap) {
    if (id >= stack_ids_.size()) stack_ids_.resize(id + 1);
    stack_ids_[id] = stack;
  } else {
    odd_stack_ids_[static_cast<std::uint32_t>(id)] = stack;
  }
}

void LogReader::decode_rest(const SlotRecord& record, PendingEvent& pending) const {
  file_.words_of(record, pending.words);
  pending.payload = {pending.words.data(), pending.words.size()};
}

// Its arguments stand in the slots behind the first one, or with another launch.
void LogReader::decode_launch_at(std::uint32_t slot, PendingEvent& pending) const {
  static_assert(trace::LaunchWord::kCount == trace::kFirstPayloadWords);
  const trace::Slot& first = file_[slot];
  const trace::Head head = trace::unpack(first.head);
  if ((head.flags & kNumbersArguments) != 0) {
    const std::uint16_t flags = resolve_launch(slot, pending.words);
    const std::span<const std::uint64_t> words = pending.words;
    pending.arguments.resize(words.size() - trace::LaunchWord::kCount);
    std::ranges::transform(words.subspan(trace::LaunchWord::kCount), pending.arguments.begin(),
                           [](std::uint64_t word) { return std::bit_cast<Argument>(word); });
    const trace::Payload payload{words.data(), trace::LaunchWord::kCount};
    return decode_launch(flags, payload, pending.arguments, pending.event);
  }
  pending.arguments.resize((head.slots - 1u) * std::size_t{trace::kMorePayloadWords});
  Argument* to = pending.arguments.data();
  for (unsigned i = 1; i < head.slots; ++i, to += trace::kMorePayloadWords)
    std::memcpy(static_cast<void*>(to), file_.more_words(slot + i),
                trace::kMorePayloadWords * sizeof *to);
  decode_launch(head.flags, {first.a, trace::LaunchWord::kCount}, pending.arguments, pending.event);
}

std::span<const std::uint64_t> LogReader::words_of(const Record& record,
                                                   std::vector<std::uint64_t>& words) const {
  const trace::Slot& slot = file_[record.slot];
  const trace::Head head = trace::unpack(slot.head);
  if (head.kind == Kind::kLaunch && (head.flags & kNumbersArguments) != 0) {
    resolve_launch(record.slot, words);
  } else if (head.slots == 1) {
    return slot.a;
  } else {
    file_.words_of({head, record.slot}, words);
  }
  return words;
}

// Gives the launch its arguments, and takes their number out. Returns its flags.
std::uint16_t LogReader::resolve_launch(std::uint32_t slot,
                                        std::vector<std::uint64_t>& words) const {
  const trace::Head head = trace::unpack(file_[slot].head);
  std::uint16_t flags = head.flags;
  file_.words_of({head, slot}, words);
  if ((flags & trace::kLaunchKeepsArguments) == 0) {
    words.resize(trace::LaunchWord::kCount);
    flags &= static_cast<std::uint16_t>(~trace::kLaunchScanned);
    const auto repeat = std::ranges::lower_bound(repeats_, slot, {}, &Repeat::slot);
    if (repeat != repeats_.end() && repeat->slot == slot) {
      const Arguments& arguments = *repeat->arguments;
      words.insert(words.end(), arguments.words.begin(), arguments.words.end());
      flags |= arguments.scanned;
    }
  }
  words[trace::LaunchWord::block] =
    trace::without_arguments_number(words[trace::LaunchWord::block]);
  return flags & static_cast<std::uint16_t>(~kNumbersArguments);
}

} // namespace gmt
