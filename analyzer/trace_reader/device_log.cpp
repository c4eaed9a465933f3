// SPDX-License-Identifier: Apache-2.0
// Reads what kernels wrote, see device_log.h.

#include "analyzer/trace_reader/device_log.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "analyzer/base/text_format.h"
#include "trace/ring_reader.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

using trace::Kind;

constexpr std::uintmax_t kMaxRingBytes = std::uintmax_t{4} << 30; // many times what the interposer makes

bool is_device_kind(Kind kind) { return kind >= Kind::kDeviceAlloc && kind <= Kind::kDeviceDrained; }

trace::Head head_of(const trace::Slot& slot) { return trace::unpack(slot.head); }

} // namespace

trace::Slot DeviceRecord::host_slot() const { return std::bit_cast<trace::Slot>(slot); }

DeviceSite site_of(const DeviceRecord& record) {
  const trace::DeviceSiteView site(record);
  const std::uint64_t function = site.lengths().low, file = site.lengths().high;
  if (function + file > site.names().bytes()) return {};
  const char* text = site.names().text();
  return {.function = std::string(text, function),
          .file = std::string(text + function, file),
          .line = static_cast<std::uint32_t>(std::min<std::uint64_t>(site.line(), UINT32_MAX))};
}

DeviceLogReader::DeviceLogReader(const DeviceLogFiles& files) : last_ticket_(trace::kMaxSubRings) {
  if (!files.log.empty()) open_log(files.log);
  if (!files.ring.empty()) add_ring(files.ring);
}

void DeviceLogReader::open_log(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return; // a pipe of that name must not block us
  log_.open(path, std::ios::binary);
  char page[trace::kLogHeaderBytes];
  log_.read(page, sizeof page);
  if (!note_header({page, static_cast<std::size_t>(log_.gcount())}, stats_)) log_.close();
}

// A copy is read: the ring itself may still be written to, and is not ours to change.
void DeviceLogReader::add_ring(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  if (error || bytes < trace::kRingHeaderBytes || bytes > kMaxRingBytes) return;
  std::vector<trace::Slot> copy(static_cast<std::size_t>(bytes) / sizeof(trace::Slot));
  const std::size_t size = copy.size() * sizeof(trace::Slot);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(copy.data()), static_cast<std::streamsize>(size)) ||
      !trace::ring_is_sound(copy.data(), size)) {
    stats_.skipped = "what is left of the ring is damaged";
    return;
  }
  const trace::RingHeader header = trace::ring_header(copy.data());
  std::uint64_t slots = 0, lost = 0, torn = 0;
  for (unsigned i = 0; i < header.sub_rings; ++i) {
    trace::SubRingReader reader(copy.data(), i);
    const trace::RingProgress progress = reader.drain_rest([this](const trace::RingRecord& record) {
      for (unsigned slot = 0; slot < record.slots(); ++slot) ring_.push_back(record[slot]);
    });
    slots += progress.slots;
    lost += reader.lost();
    torn += progress.torn;
  }
  trace::Slot drained{};
  trace::SlotWords words{drained};
  trace::DeviceDrainedFields(words).slots(slots).lost(lost).torn(torn);
  drained.context = static_cast<std::uint16_t>(header.context);
  drained.head = trace::pack({Kind::kDeviceDrained, 1, trace::kNoApi, 0, 0});
  ring_.push_back(drained);
}

bool DeviceLogReader::fill() {
  raw_.erase(raw_.begin(), raw_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  const std::size_t before = raw_.size();
  if (log_.is_open()) {
    raw_.resize(before + kBatch);
    log_.read(reinterpret_cast<char*>(raw_.data() + before), kBatch * sizeof(trace::Slot));
    raw_.resize(before + static_cast<std::size_t>(log_.gcount()) / sizeof(trace::Slot));
    if (!log_) log_.close();
  }
  if (raw_.size() == before && !ring_.empty()) {
    raw_.insert(raw_.end(), ring_.begin(), ring_.end());
    ring_.clear();
  }
  return raw_.size() > before;
}

// Zero slots are the tail that files grow by, and stand in the middle where the log could not be written.
const DeviceRecord* DeviceLogReader::next() {
  for (;;) {
    while (at_ < raw_.size() && raw_[at_].head == 0) ++at_;
    const unsigned slots = at_ < raw_.size() ? head_of(raw_[at_]).slots : 0;
    if (at_ + std::max(slots, 1u) > raw_.size() && fill()) continue;
    if (at_ >= raw_.size()) return nullptr;
    if (take_record() && !is_repeated()) return &record_;
  }
}

// Moves on by one record; false if there is nothing to say about it.
bool DeviceLogReader::take_record() {
  const trace::Slot& first = raw_[at_];
  const trace::Head head = head_of(first);
  const auto is_more = [this](std::size_t i) {
    return i < raw_.size() && head_of(raw_[i]).kind == Kind::kMore;
  };
  unsigned whole = 1;
  while (whole < head.slots && is_more(at_ + whole)) ++whole;
  const bool sound = head.kind != Kind::kMore && head.slots != 0 && whole == head.slots;
  if (!sound) {
    ++stats_.damaged;
    at_ += whole;
    while (is_more(at_)) ++at_; // of a record whose first slot is missing
    return false;
  }
  payload_.assign(std::begin(first.a), std::end(first.a));
  for (unsigned i = 1; i < whole; ++i) {
    const auto more = std::bit_cast<trace::MoreSlot>(raw_[at_ + i]);
    payload_.insert(payload_.end(), std::begin(more.payload), std::end(more.payload));
  }
  record_ = {.head = head, .slot = std::bit_cast<trace::DeviceSlot>(first), .payload = payload_};
  at_ += whole;
  if (is_device_kind(head.kind)) {
    ++stats_.records;
    return true;
  }
  if (head.kind == Kind::kLoss) note_loss(trace::LossView(first), stats_);
  else if (head.kind != Kind::kAbandoned) ++stats_.unknown_kinds;
  return false;
}

// A sub-ring's tickets rise, unless what was moved to the log already was still found in the ring.
bool DeviceLogReader::is_repeated() {
  if (record_.head.kind == Kind::kDeviceDrained) return false;
  std::uint64_t& last = last_ticket_[trace::sub_ring_of(record_.slot.ticket)];
  const std::uint64_t ticket = trace::ticket_of(record_.slot.ticket) + 1;
  if (ticket <= last) return true;
  last = ticket;
  return false;
}

} // namespace gmt
