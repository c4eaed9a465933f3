// SPDX-License-Identifier: Apache-2.0
// Reads slots; see slot_file.h. What SlotScan::next() does itself is the hot path; everything here
// runs once a batch, or for records of several slots and for damage.

#include "analyzer/trace_reader/slot_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

using trace::Kind;

void add_to_loss(std::uint64_t& sum, std::uint64_t n) {
  if (__builtin_add_overflow(sum, n, &sum)) sum = UINT64_MAX;
}

bool is_more(const trace::Slot& slot) { return trace::unpack(slot.head).kind == Kind::kMore; }

// Takes over what a log's header says. `page` is what the file begins with, kLogHeaderBytes unless
// the file is shorter. False if its slots cannot be read; `skipped` says why.
bool note_header(std::span<const char> page, LogStats& stats) {
  trace::LogHeader header{};
  if (page.size() >= sizeof header) std::memcpy(&header, page.data(), sizeof header);
  if (page.size() < trace::kLogHeaderBytes) {
    stats.skipped = "it is shorter than its header";
  } else if (std::memcmp(header.magic, trace::kLogMagic, sizeof header.magic) != 0) {
    stats.skipped = "its header is damaged";
  } else if (header.major != trace::kFormatMajor) {
    stats.skipped =
      cat({"it has format ", std::to_string(header.major), ".", std::to_string(header.minor)});
  } else {
    std::copy(std::begin(header.lost), std::end(header.lost), stats.lost.begin());
    stats.allocations_lost_from = header.minor >= 6 ? header.allocations_lost_from : 0;
    stats.releases_lost_from = header.minor >= 6 ? header.releases_lost_from : 0;
    stats.lost_unknown =
      header.minor < 6 && std::ranges::any_of(stats.lost, [](std::uint64_t n) { return n != 0; });
    return true;
  }
  return false;
}

} // namespace

void note_loss(const trace::LossView& loss, LogStats& stats) {
  const auto cause = static_cast<std::size_t>(loss.cause());
  add_to_loss(stats.lost[cause < stats.lost.size() ? cause : 0], loss.records());
  stats.lost_unknown = true;
}

void SlotScan::note_zeros() {
  if (zero_heads_ == ZeroHeads::kTorn) stats_.torn += zeros_;
  in_orphans_ = zero_heads_ == ZeroHeads::kTorn;
  zeros_ = 0;
}

void SlotScan::forget_zeros(std::size_t position) {
  at_ = position;
  zeros_ = 0;
}

// Whatever is not one good slot.
SlotScan::Step SlotScan::next_odd(std::span<const trace::Slot> slots, bool is_end,
                                  const trace::Head& head) {
  if (head.kind == Kind::kMore) {
    if (!std::exchange(in_orphans_, true)) ++stats_.damaged;
    ++at_;
    return Step::kSkipped;
  }
  if (head.slots == 0) {
    ++stats_.damaged;
    ++at_;
    in_orphans_ = true;
    return Step::kSkipped;
  }
  in_orphans_ = false;
  if (head.slots > slots.size() - at_ && !is_end) return Step::kNotRead;
  if (head.kind == Kind::kAbandoned) {
    skip_abandoned(slots, head.slots);
    return Step::kSkipped;
  }
  unsigned whole = 1;
  while (whole < head.slots && at_ + whole < slots.size() && is_more(slots[at_ + whole])) ++whole;
  at_ += whole;
  if (whole == head.slots) return Step::kRecord;
  ++stats_.damaged;
  return Step::kSkipped;
}

// The slots of a record that was given up may never have been written.
void SlotScan::skip_abandoned(std::span<const trace::Slot> slots, unsigned count) {
  ++at_;
  for (unsigned i = 1; i < count && at_ < slots.size(); ++i, ++at_) {
    if (slots[at_].head != 0 && !is_more(slots[at_])) break;
  }
}

SlotFile::SlotFile(std::filesystem::path path, LogStats& stats, ZeroHeads zero_heads,
                   bool keep_open)
    : path_(std::move(path)), stats_(stats), scan_(stats, zero_heads), keep_open_(keep_open) {
  if (!open_file()) {
    stats_.skipped = std::strerror(errno);
    return;
  }
  read_header();
  if (!keep_open_) close_file();
  let_packed_rest();
}

SlotFile::SlotFile(std::vector<trace::Slot> slots, LogStats& stats, ZeroHeads zero_heads)
    : stats_(stats), scan_(stats, zero_heads), raw_(std::move(slots)), available_(raw_.size()) {}

SlotFile::~SlotFile() { close_file(); }

bool SlotFile::open_file() {
  if (fd_ >= 0 || packed_ != nullptr) return true;
  fd_ = open_in_folder(path_).release();
  if (fd_ >= 0) return true;
  if (errno != ENOENT || path_.empty()) return false;
  packed_ = PackedLog::open(path_.string() + kPackedEnd, offset_ > trace::kLogHeaderBytes);
  return packed_ != nullptr;
}

void SlotFile::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

// Logs of one thread are read one behind the other, but the first batch of each is wanted at once.
void SlotFile::let_packed_rest() {
  const bool is_first = offset_ <= trace::kLogHeaderBytes + kBatch * sizeof(trace::Slot);
  if (packed_ != nullptr && (is_first || at_end_)) packed_->rest(at_end_);
}

void SlotFile::read_header() {
  char page[trace::kLogHeaderBytes];
  const int file = packed_ != nullptr ? packed_->descriptor() : fd_;
  if (note_header({page, read_at(file, page, sizeof page, 0)}, stats_)) {
    offset_ = trace::kLogHeaderBytes;
    at_end_ = false;
  }
}

bool SlotFile::read(SlotRecord& record) {
  while (!next(record)) {
    if (at_end_) return false;
    drop_before(position());
    read_more();
  }
  return true;
}

std::size_t SlotFile::read_slots(trace::Slot* into) {
  constexpr std::size_t kBytes = kBatch * sizeof(trace::Slot);
  if (packed_ == nullptr) return read_at(fd_, into, kBytes, offset_);
  const std::size_t bytes = packed_->read(into, kBytes, offset_);
  if (packed_->is_damaged()) ++stats_.damaged;
  return bytes;
}

void SlotFile::read_more() {
  if (raw_.size() < available_ + kBatch) raw_.resize(available_ + kBatch);
  if (!open_file()) {
    stats_.skipped = std::strerror(errno);
    at_end_ = true;
    return;
  }
  trace::Slot* const into = raw_.data() + available_;
  const std::size_t bytes = read_slots(into);
  const std::size_t slots = bytes / sizeof(trace::Slot);
  offset_ += slots * sizeof(trace::Slot);
  available_ += slots;
  if (slots < kBatch) {
    at_end_ = true;
    if (bytes % sizeof(trace::Slot) != 0 && into[slots].head != 0)
      ++stats_.damaged; // cut in mid-slot
  }
  skip_hole(slots);
  if (!keep_open_) close_file();
  let_packed_rest();
}

// Zeros lie in memory, but for those of a hole.
void SlotFile::read_on() {
  if (is_put_back_) { // it and what lies behind it is read anew
    offset_ -= (available_ - scan_.position()) * sizeof(trace::Slot);
    available_ = scan_.position();
    at_end_ = is_put_back_ = false;
    return;
  }
  if (packed_ != nullptr) return; // it does not grow
  if (!at_end_ || offset_ == 0 || scan_.position() != available_) return;
  std::size_t written = available_;
  const std::uint64_t zeros = scan_.zeros();
  while (written > 0 && available_ - written < zeros && raw_[written - 1].head == 0) --written;
  scan_.forget_zeros(written);
  available_ = written;
  offset_ -= zeros * sizeof(trace::Slot);
  at_end_ = false;
}

// Files grow in steps and may be sparse: after a batch of zeros comes nothing, or what lies behind
// a hole.
void SlotFile::skip_hole(std::size_t slots_read) {
  const trace::Slot* const begin = raw_.data() + available_ - slots_read;
  if (at_end_ || packed_ != nullptr) return;
  if (std::any_of(begin, begin + slots_read, [](const trace::Slot& s) { return s.head != 0; }))
    return;
  const off_t data = ::lseek(fd_, static_cast<off_t>(offset_), SEEK_DATA);
  if (data < 0) {
    at_end_ = errno == ENXIO;
  } else if (static_cast<std::uint64_t>(data) > offset_) {
    const std::uint64_t slots = (static_cast<std::uint64_t>(data) - offset_) / sizeof(trace::Slot);
    scan_.passed_zeros(slots);
    offset_ += slots * sizeof(trace::Slot);
  }
}

std::size_t SlotFile::drop_before(std::size_t first) {
  if (first == 0) return 0;
  const auto begin = raw_.begin() + static_cast<std::ptrdiff_t>(first);
  std::copy(begin, raw_.begin() + static_cast<std::ptrdiff_t>(available_), raw_.begin());
  available_ -= first;
  scan_.dropped(first);
  return first;
}

void SlotFile::words_of(const SlotRecord& record, std::vector<std::uint64_t>& words) const {
  const trace::Slot* const slots = raw_.data() + record.slot;
  words.resize(trace::kFirstPayloadWords + (record.head.slots - 1u) * trace::kMorePayloadWords);
  std::memcpy(words.data(), slots->a, sizeof slots->a);
  for (unsigned i = 1; i < record.head.slots; ++i) {
    std::memcpy(words.data() + trace::kFirstPayloadWords + (i - 1) * trace::kMorePayloadWords,
                more_words(record.slot + i), sizeof(trace::MoreSlot::payload));
  }
}

} // namespace gmt
