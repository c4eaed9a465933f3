// SPDX-License-Identifier: Apache-2.0
// Writes what kernels would leave of their malloc and free: device logs and rings in the real
// format (trace/device_ring.h).
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/analyzer/support/slot_writer.h"
#include "trace/device_ring.h"

namespace gmt::test {

// One call in a kernel. Designated initialisers keep tests readable.
struct InKernel {
  std::uint64_t grid = 1;
  std::uint32_t site = 1;
  trace::Index3 block = {0, 0, 0}, thread = {0, 0, 0};
  std::uint64_t time = 0; // 0: behind the record before it
  unsigned sub_ring = 0;
  trace::DeviceOp op = trace::DeviceOp::kMalloc; // device_free: kMalloc stands for kFree
  trace::DeviceSpace space = trace::DeviceSpace::kUnknown;
  std::uint64_t alignment = 0;
};

class DeviceLogWriter : public SlotWriter {
public:
  void site(std::uint32_t id, const std::string& function, const std::string& file,
            std::uint64_t line) {
    const auto functions = static_cast<std::uint32_t>(function.size()),
               files = static_cast<std::uint32_t>(file.size());
    record({}, 0, 0, Made<trace::DeviceSiteFields>().id(id).line(line).lengths({functions, files}),
           string_words(function + file));
  }
  void grid(std::uint64_t id, unsigned blocks, unsigned threads, std::uint64_t time = 0) {
    record({.site = 0, .time = time}, 0, 0,
           Made<trace::DeviceGridFields>().id(id).grid({blocks, 1, 1}).block({threads, 1, 1}));
  }
  // An address of 0 is a call that got NULL.
  void device_malloc(const InKernel& at, std::uint64_t address, std::uint64_t bytes) {
    Made<trace::DeviceAllocFields> made;
    made.pointer(address).bytes(bytes).grid(at.grid).block(at.block);
    if (at.op == trace::DeviceOp::kAlignedMalloc) made.alignment(at.alignment);
    const std::uint16_t result = address == 0 ? trace::kDeviceOutOfMemory : std::uint16_t{0};
    record(at, trace::device_flags(at.op, trace::DeviceSpace::kUnknown), result, made);
  }
  void device_free(const InKernel& at, std::uint64_t address) {
    const trace::DeviceOp op = at.op == trace::DeviceOp::kMalloc ? trace::DeviceOp::kFree : at.op;
    record(at, trace::device_flags(op, at.space), 0,
           Made<trace::DeviceFreeFields>().pointer(address).grid(at.grid).block(at.block));
  }
  void drained(std::uint16_t context = 1, std::uint64_t lost = 0, std::uint64_t torn = 0,
               std::uint64_t ticks = 0) {
    trace::Slot slot{};
    slot.head = trace::pack({trace::Kind::kDeviceDrained, 1, trace::kNoApi, 0, 0});
    slot.context = context;
    slot.time = ticks;
    trace::SlotWords words{slot};
    trace::DeviceDrainedFields(words).lost(lost).torn(torn);
    slots_.push_back(slot);
  }
  void slot(const trace::Slot& slot) { slots_.push_back(slot); } // as it stands, damage included

  void write(const std::filesystem::path& trace, const std::string& name = "device-0") const {
    SlotWriter::write(trace, name);
  }
  // The same as a ring of one sub-ring that was not drained, but for its first `consumed` slots.
  // Slots with no head are torn.
  void write_ring(const std::filesystem::path& trace, std::uint16_t context,
                  std::uint64_t consumed = 0, const std::string& name = "device-0") const {
    std::uint32_t capacity = 1;
    while (capacity < slots_.size()) capacity *= 2;
    trace::RingHeader header{};
    std::memcpy(header.magic, trace::kRingMagic, sizeof header.magic);
    header.version = trace::kRingVersion;
    header.sub_rings = 1;
    header.slots_per_sub_ring = capacity;
    header.context = context;
    std::string bytes(trace::ring_bytes(1, capacity), '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    trace::RingCounters counters{};
    counters.consumed = consumed;
    std::memcpy(bytes.data() + trace::kRingHeaderBytes, &counters, sizeof counters);
    for (std::size_t i = consumed; i < slots_.size(); ++i) {
      if (slots_[i].head == 0) continue;
      std::uint64_t words[sizeof(trace::Slot) / 8];
      std::memcpy(words, &slots_[i], sizeof words);
      unsigned zeros = 0;
      for (unsigned k = 1; k < std::size(words); ++k) {
        zeros |= (words[k] == 0 ? 1u : 0u) << (k - 1);
        words[k] = trace::sent_word(words[k]);
      }
      words[0] = trace::sent_head(words[0], zeros);
      std::memcpy(bytes.data() + trace::ring_slots_offset(1) + i * sizeof words, words,
                  sizeof words);
    }
    write_file(trace / (name + ".ring"), bytes);
  }
  void torn() { // in sub-ring 0
    SlotWriter::torn();
    ++tickets_[0];
  }
  std::size_t size() const { return slots_.size(); }

private:
  template <template <class> class Fields>
  void record(const InKernel& at, std::uint16_t flags, std::uint16_t result,
              const Fields<PayloadWords>& fields, const std::vector<std::uint64_t>& rest = {}) {
    const std::vector<std::uint64_t> payload = words_of(fields, rest);
    trace::DeviceSlot first{};
    first.head = trace::pack({fields.kKind, slots_of(payload), trace::kNoApi, flags, result});
    time_ = at.time != 0 ? at.time : time_ + 32;
    first.time = time_;
    std::uint64_t& ticket = tickets_[at.sub_ring];
    first.ticket = trace::pack_ticket(ticket, at.sub_ring);
    ticket += slots_of(payload);
    first.who = trace::pack_who(at.site, at.thread.x, at.thread.y, at.thread.z);
    append_record(first, payload);
  }

  std::uint64_t time_ = 1'700'000'000'000'000'000;
  std::uint64_t tickets_[trace::kMaxSubRings] = {};
};

} // namespace gmt::test
