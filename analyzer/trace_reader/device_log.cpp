// SPDX-License-Identifier: Apache-2.0
// Reads what kernels wrote, see device_log.h.

#include "analyzer/trace_reader/device_log.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/trace_reader/ring_rest.h"
#include "analyzer/trace_reader/slot_file.h"
#include "trace/records.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

using trace::Kind;

// Many times what the interposer makes unless it is asked for more
constexpr std::uintmax_t kMaxRingBytes = std::uintmax_t{256} << 20;

constexpr const char *kRingFolder = "/dev/shm", *kRingPrefix = "gpumemtrace.";

DeviceSite site_of(const trace::DeviceSiteView& view) {
  const std::uint64_t function = view.lengths().low, file = view.lengths().high;
  if (function + file > view.names().bytes()) return {};
  const char* text = view.names().text();
  return {.function = std::string(text, function),
          .file = std::string(text + function, file),
          .line = static_cast<std::uint32_t>(std::min<std::uint64_t>(view.line(), UINT32_MAX))};
}

// The words of a release are the same, as far as it has them.
void describe_call(const trace::DeviceAllocView& view, const trace::Head& head,
                   DeviceRecord& record) {
  record.op = trace::device_op(head.flags);
  record.space = trace::device_space(head.flags);
  record.is_out_of_memory = head.result == trace::kDeviceOutOfMemory;
  record.pointer = view.pointer();
  record.bytes = view.bytes();
  record.id = view.grid();
  record.block = PackedIndex(view.block());
  record.alignment = view.alignment();
}

} // namespace

// Zero slots stand where the log could not be written.
DeviceLogReader::DeviceLogReader(const DeviceLogFiles& files) : last_ticket_(trace::kMaxSubRings) {
  if (!files.log.empty()) log_ = std::make_unique<SlotFile>(files.log, stats_, ZeroHeads::kHoles);
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
  ring_ = std::make_unique<SlotFile>(std::move(rest.slots), stats_, ZeroHeads::kHoles);
}

DeviceLogReader::~DeviceLogReader() = default;

const DeviceRecord* DeviceLogReader::next() {
  for (std::unique_ptr<SlotFile>* file : {&log_, &ring_}) {
    SlotRecord record;
    while (*file != nullptr) {
      if (!(*file)->read(record)) file->reset();
      else if (take(**file, record)) return &record_;
    }
  }
  return nullptr;
}

bool DeviceLogReader::take(const SlotFile& file, const SlotRecord& record) {
  file.words_of(record, words_);
  const trace::Payload words{words_.data(), words_.size()};
  const Kind kind = record.head.kind;
  if (kind < Kind::kDeviceAlloc || kind > Kind::kDeviceDrained) {
    if (kind == Kind::kLoss) note_loss(trace::LossView(words), stats_);
    else ++stats_.unknown_kinds;
    return false;
  }
  ++stats_.records;
  const auto slot = std::bit_cast<trace::DeviceSlot>(file[record.slot]);
  if (kind != Kind::kDeviceDrained && is_repeated(slot.ticket)) return false;
  record_ = {.time = slot.time,
             .ticket = slot.ticket,
             .thread = PackedThread(trace::site_of(slot.who), trace::thread_of(slot.who))};
  switch (kind) {
  case Kind::kDeviceSite: {
    const trace::DeviceSiteView view(words);
    record_.kind = DeviceRecord::Kind::kSite;
    record_.id = view.id();
    record_.site = site_of(view);
    break;
  }
  case Kind::kDeviceGrid: {
    const trace::DeviceGridView view(words);
    record_.kind = DeviceRecord::Kind::kGrid;
    record_.id = view.id();
    record_.extents = PackedIndex(view.grid());
    record_.block = PackedIndex(view.block());
    break;
  }
  case Kind::kDeviceDrained: {
    const trace::DeviceDrainedView view(words);
    record_.kind = DeviceRecord::Kind::kDrained;
    record_.context = file[record.slot].context;
    record_.time = file[record.slot].time;
    record_.slots = view.slots();
    record_.lost = view.lost();
    record_.torn = view.torn();
    break;
  }
  default:
    record_.kind =
      kind == Kind::kDeviceFree ? DeviceRecord::Kind::kFree : DeviceRecord::Kind::kAllocation;
    describe_call(trace::DeviceAllocView(words), record.head, record_);
  }
  return true;
}

// A sub-ring's tickets rise, unless what was moved to the log already was still found in the ring.
bool DeviceLogReader::is_repeated(std::uint64_t ticket) {
  std::uint64_t& last = last_ticket_[trace::sub_ring_of(ticket)];
  if (trace::ticket_of(ticket) + 1 <= last) return true;
  last = trace::ticket_of(ticket) + 1;
  return false;
}

} // namespace gmt
