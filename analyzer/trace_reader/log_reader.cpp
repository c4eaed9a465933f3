// SPDX-License-Identifier: Apache-2.0
// Reads one log. The hot path is parse_record() for a single-slot record, with what it calls inline, and
// decode(); everything else runs once a batch or once a stack.

#include "analyzer/trace_reader/log_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

using trace::Kind;

bool is_event(Kind kind) {
  const auto k = static_cast<unsigned>(kind);
  return (k >= static_cast<unsigned>(Kind::kAlloc) && k <= static_cast<unsigned>(Kind::kGraphChange)) ||
         (k >= static_cast<unsigned>(Kind::kName) && k <= static_cast<unsigned>(Kind::kThread));
}

// pread until `bytes` are there or the file ends.
std::size_t read_at(int fd, void* into, std::size_t bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
      ::pread(fd, static_cast<char*>(into) + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void add_saturating(std::uint64_t& sum, std::uint64_t n) {
  if (__builtin_add_overflow(sum, n, &sum)) sum = UINT64_MAX;
}

} // namespace

void note_loss(const trace::LossView& loss, LogStats& stats) {
  const auto cause = static_cast<std::size_t>(loss.cause());
  add_saturating(stats.lost[cause < stats.lost.size() ? cause : 0], loss.records());
}

bool note_header(std::span<const char> page, LogStats& stats) {
  trace::LogHeader header{};
  if (page.size() >= sizeof header) std::memcpy(&header, page.data(), sizeof header);
  if (page.size() < trace::kLogHeaderBytes) {
    stats.skipped = "it is shorter than its header";
  } else if (std::memcmp(header.magic, trace::kLogMagic, sizeof header.magic) != 0) {
    stats.skipped = "its header is damaged";
  } else if (header.major != trace::kFormatMajor) {
    stats.skipped = cat({"it has format ", std::to_string(header.major), ".", std::to_string(header.minor)});
  } else {
    std::copy(std::begin(header.lost), std::end(header.lost), stats.lost.begin());
    return true;
  }
  return false;
}

LogReader::LogReader(std::filesystem::path path, std::uint32_t log, StackTable& stacks, bool keep_open)
    : path_(std::move(path)), stacks_(stacks), keep_open_(keep_open), log_(log), leases_{{0, log}} {
  if (!open_file()) {
    stats_.skipped = std::strerror(errno);
    return;
  }
  read_header();
  if (!keep_open_) close_file();
}

LogReader::~LogReader() { close_file(); }

bool LogReader::open_file() {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return fd_ >= 0;
}

void LogReader::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void LogReader::read_header() {
  char page[trace::kLogHeaderBytes];
  if (note_header({page, read_at(fd_, page, sizeof page, 0)}, stats_)) {
    offset_ = trace::kLogHeaderBytes;
    at_end_ = false;
  }
}

// Reads on until there is something to hand out, or the file ends.
void LogReader::refill() {
  do {
    drop_used();
    read_more();
    parse();
    if (!sorted_) {
      std::stable_sort(records_.begin(), records_.end(),
                       [](const Record& a, const Record& b) { return a.order < b.order; });
      sorted_ = true;
    }
    limit_ = at_end_ ? records_.size() : records_.size() - std::min(records_.size(), kWindow);
  } while (next_ >= limit_ && !at_end_);
}

// Moves what is still needed to the front of raw_: the slots of held-back records and what is not parsed yet.
void LogReader::drop_used() {
  records_.erase(records_.begin(),
                 records_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, records_.size())));
  next_ = limit_ = 0;
  std::size_t first = parsed_;
  for (const Record& p : records_) first = std::min<std::size_t>(first, p.slot);
  if (first == 0) return;
  std::copy(raw_.begin() + static_cast<std::ptrdiff_t>(first),
            raw_.begin() + static_cast<std::ptrdiff_t>(available_), raw_.begin());
  available_ -= first;
  parsed_ -= first;
  for (Record& p : records_) p.slot -= static_cast<std::uint32_t>(first);
  while (leases_.size() > 1 && leases_[1].slot <= first) leases_.erase(leases_.begin());
  for (Lease& lease : leases_) lease.slot -= std::min(lease.slot, static_cast<std::uint32_t>(first));
}

void LogReader::read_more() {
  if (raw_.size() < available_ + kBatch) raw_.resize(available_ + kBatch);
  if (!open_file()) {
    stats_.skipped = std::strerror(errno);
    at_end_ = true;
    return;
  }
  trace::Slot* const into = raw_.data() + available_;
  const std::size_t bytes = read_at(fd_, into, kBatch * sizeof(trace::Slot), offset_);
  const std::size_t slots = bytes / sizeof(trace::Slot);
  offset_ += slots * sizeof(trace::Slot);
  available_ += slots;
  if (slots < kBatch) {
    at_end_ = true;
    if (bytes % sizeof(trace::Slot) != 0 && into[slots].head != 0) ++stats_.damaged; // cut in mid-slot
  }
  skip_hole(slots);
  if (!keep_open_) close_file();
}

// Files grow in steps and may be sparse: after a batch of zeros comes nothing, or what lies behind a hole.
void LogReader::skip_hole(std::size_t slots_read) {
  const trace::Slot* const begin = raw_.data() + available_ - slots_read;
  if (at_end_) return;
  if (std::any_of(begin, begin + slots_read, [](const trace::Slot& s) { return s.head != 0; })) return;
  const off_t data = ::lseek(fd_, static_cast<off_t>(offset_), SEEK_DATA);
  if (data < 0) {
    at_end_ = errno == ENXIO;
  } else if (static_cast<std::uint64_t>(data) > offset_) {
    const std::uint64_t slots = (static_cast<std::uint64_t>(data) - offset_) / sizeof(trace::Slot);
    zeros_ += slots;
    offset_ += slots * sizeof(trace::Slot);
  }
}

void LogReader::parse() {
  // Zero heads parsed here come before those of the hole that read_more() skipped; only their number matters.
  while (parsed_ < available_) {
    const std::uint64_t head = raw_[parsed_].head;
    if (head == 0) {
      ++zeros_;
      ++parsed_;
      continue;
    }
    if (zeros_ != 0) {
      stats_.torn += std::exchange(zeros_, 0);
      orphans_counted_ = true; // the slots that follow a torn first slot belong to it
    }
    if (!parse_record()) break;
  }
}

inline bool LogReader::parse_record() {
  const trace::Slot& slot = raw_[parsed_];
  const trace::Head head = trace::unpack(slot.head);
  const unsigned slots = head.slots;
  if (head.kind == Kind::kMore) {
    if (!std::exchange(orphans_counted_, true)) ++stats_.damaged;
    ++parsed_;
    return true;
  }
  orphans_counted_ = false;
  if (slots == 0 || slots > trace::kMaxSlotsPerRecord) {
    ++stats_.damaged;
    ++parsed_;
    orphans_counted_ = true;
    return true;
  }
  if (slots > available_ - parsed_ && !at_end_) return false;
  if (head.kind == Kind::kAbandoned) {
    skip_abandoned(slots);
    return true;
  }
  for (unsigned i = 1; i < slots; ++i) {
    const bool there = parsed_ + i < available_;
    if (there && trace::unpack(raw_[parsed_ + i].head).kind == Kind::kMore) continue;
    ++stats_.damaged;
    parsed_ += i;
    return true;
  }
  if (is_event(head.kind)) {
    keep(slot, slots);
  } else if (head.kind == Kind::kStack) {
    define_stack(slots);
  } else {
    ++stats_.unknown_kinds;
  }
  parsed_ += slots;
  return true;
}

// The slots of a record that was given up may never have been written.
void LogReader::skip_abandoned(unsigned slots) {
  ++parsed_;
  for (unsigned i = 1; i < slots && parsed_ < available_; ++i, ++parsed_) {
    const std::uint64_t head = raw_[parsed_].head;
    if (head != 0 && trace::unpack(head).kind != Kind::kMore) break;
  }
}

inline void LogReader::keep(const trace::Slot& slot, unsigned slots) {
  ++stats_.records;
  const std::uint64_t own = trace::order_of(slot.order);
  const std::uint64_t order = own != 0 ? own : last_order_; // not a call: where it stands
  if (order < last_order_) {
    sorted_ = false;
  } else {
    last_order_ = order;
  }
  records_.push_back({order, static_cast<std::uint32_t>(parsed_), stack_of(slot.stack)});
  const Kind kind = trace::unpack(slot.head).kind;
  if (kind == Kind::kThread) begin_thread(slot);
  if (slots == 1 && kind == Kind::kLoss) note_loss(trace::LossView(slot), stats_);
}

void LogReader::begin_thread(const trace::Slot& slot) {
  const auto number = static_cast<std::uint32_t>(trace::ThreadView(slot).number());
  stats_.tells_threads = true;
  if (number != leases_.back().thread) leases_.push_back({static_cast<std::uint32_t>(parsed_), number});
}

inline std::uint32_t LogReader::thread_of(std::uint32_t slot) const {
  if (leases_.size() == 1) return leases_.front().thread;
  const auto later = std::ranges::upper_bound(leases_, slot, {}, &Lease::slot);
  return later == leases_.begin() ? later->thread : (later - 1)->thread;
}

inline StackId LogReader::stack_of(std::uint32_t id) const {
  if (id < stack_ids_.size()) return stack_ids_[id];
  const auto odd = odd_stack_ids_.find(id);
  return odd == odd_stack_ids_.end() ? StackId{} : odd->second;
}

std::uint64_t LogReader::payload_word(std::size_t slot, unsigned word) const {
  if (word < trace::kFirstPayloadWords) return raw_[slot].a[word];
  const unsigned more = word - trace::kFirstPayloadWords;
  std::uint64_t words[sizeof(trace::Slot) / 8];
  std::memcpy(words, &raw_[slot + 1 + more / trace::kMorePayloadWords], sizeof words);
  return words[1 + more % trace::kMorePayloadWords];
}

void LogReader::define_stack(unsigned slots) {
  const std::uint64_t id = payload_word(parsed_, trace::StackWord::id);
  const std::uint64_t frames = payload_word(parsed_, trace::StackWord::frame_count);
  const unsigned words = trace::kFirstPayloadWords + (slots - 1) * trace::kMorePayloadWords;
  if (id == 0 || id > UINT32_MAX || frames > trace::kMaxStackFrames || frames + trace::StackWord::kCount > words) {
    ++stats_.damaged;
    return;
  }
  ++stats_.records;
  scratch_.resize(frames);
  for (unsigned i = 0; i < frames; ++i) scratch_[i] = payload_word(parsed_, trace::StackWord::kCount + i);
  const StackId stack = stacks_.intern(scratch_);
  constexpr std::size_t kGap = 4096; // ids count up; a far one is damage, and must not cost memory
  if (id < stack_ids_.size() + kGap) {
    if (id >= stack_ids_.size()) stack_ids_.resize(id + 1);
    stack_ids_[id] = stack;
  } else {
    odd_stack_ids_[static_cast<std::uint32_t>(id)] = stack;
  }
}

void LogReader::decode(const Record& record, Event& event, std::vector<std::uint64_t>& payload) const {
  const trace::Slot& slot = raw_[record.slot];
  const trace::Head head = trace::unpack(slot.head);
  event.kind = head.kind;
  event.api = head.api;
  event.via = slot.via;
  event.flags = head.flags;
  event.result = head.result;
  event.context = slot.context;
  event.thread = thread_of(record.slot);
  event.log = log_;
  event.stack = record.stack;
  event.order = record.order;
  event.time = slot.time;
  event.ticks = trace::ticks_of(slot.order);
  if (head.slots == 1) {
    event.payload = {slot.a, trace::kFirstPayloadWords};
    return;
  }
  payload.resize(trace::kFirstPayloadWords + (head.slots - 1u) * trace::kMorePayloadWords);
  std::memcpy(payload.data(), slot.a, sizeof slot.a);
  for (unsigned i = 1; i < head.slots; ++i) {
    const auto* more = reinterpret_cast<const char*>(&raw_[record.slot + i]);
    std::memcpy(payload.data() + trace::kFirstPayloadWords + (i - 1) * trace::kMorePayloadWords, more + 8,
                trace::kMorePayloadWords * 8);
  }
  event.payload = payload;
}

} // namespace gmt
