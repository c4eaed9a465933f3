// SPDX-License-Identifier: Apache-2.0
// Reads what kernels wrote, see device_log.h.

#include "analyzer/trace_reader/device_log.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/trace_reader/ring_rest.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

using trace::Kind;

// Many times what the interposer makes unless it is asked for more
constexpr std::uintmax_t kMaxRingBytes = std::uintmax_t{256} << 20;

constexpr const char *kRingFolder = "/dev/shm", *kRingPrefix = "gpumemtrace.";

bool is_device_kind(Kind kind) {
  return kind >= Kind::kDeviceAlloc && kind <= Kind::kDeviceDrained;
}

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

// Zero slots stand where the log could not be written.
DeviceLogReader::DeviceLogReader(const DeviceLogFiles& files) : last_ticket_(trace::kMaxSubRings) {
  if (!files.log.empty()) log_.emplace(files.log, stats_, ZeroHeads::kHoles);
  if (!files.ring.empty()) read_ring(files.ring);
}

// A copy is read: the ring itself may still be written to, and is not ours to change. The ring of a
// process that runs lies in shared memory, and the trace has a link: no other link is followed.
void DeviceLogReader::read_ring(const fs::path& path) {
  std::error_code error;
  const fs::path linked = fs::read_symlink(path, error);
  if (!error &&
      (linked.parent_path() != kRingFolder || !linked.filename().string().starts_with(kRingPrefix)))
    return;
  const Descriptor file = open_in_folder(error ? path : linked);
  const std::uintmax_t bytes = bytes_of(file);
  if (bytes > kMaxRingBytes) stats_.skipped = "what is left of the ring is too large";
  if (bytes < trace::kRingHeaderBytes || bytes > kMaxRingBytes) return;
  std::vector<trace::Slot> copy(static_cast<std::size_t>(bytes) / sizeof(trace::Slot));
  const std::size_t size = copy.size() * sizeof(trace::Slot);
  if (read_at(file.number(), copy.data(), size, 0) != size ||
      !trace::ring_is_sound(copy.data(), size)) {
    stats_.skipped = "what is left of the ring is damaged";
    return;
  }
  RingRest rest = take_rest(copy.data());
  rest.slots.push_back(drained_slot(trace::ring_header(copy.data()), rest));
  ring_.emplace(std::move(rest.slots), stats_, ZeroHeads::kHoles);
}

const DeviceRecord* DeviceLogReader::next() {
  while (read_slots()) {
    if (is_event() && !is_repeated()) return &record_;
  }
  return nullptr;
}

bool DeviceLogReader::read_slots() {
  for (std::optional<SlotFile>* file : {&log_, &ring_}) {
    SlotRecord record;
    if (!file->has_value()) continue;
    if ((*file)->read(record)) {
      (*file)->words_of(record, payload_);
      record_ = {.head = record.head,
                 .slot = std::bit_cast<trace::DeviceSlot>((**file)[record.slot]),
                 .payload = payload_};
      return true;
    }
    file->reset();
  }
  return false;
}

bool DeviceLogReader::is_event() {
  const Kind kind = record_.head.kind;
  if (is_device_kind(kind)) {
    ++stats_.records;
    return true;
  }
  if (kind == Kind::kLoss) note_loss(trace::LossView(record_), stats_);
  else ++stats_.unknown_kinds;
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
