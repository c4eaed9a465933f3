// SPDX-License-Identifier: Apache-2.0
// Packets of Perfetto's own form of a trace (perfetto/trace/trace_packet.proto): messages of
// Protocol Buffers, packed by zlib in parts. Names stand once, times are differences: a call takes
// some ten bytes.
//
// Each track (a thread's calls, its ranges, a counter) is a sequence of packets with a clock and
// names of its own, so that tracks are written one behind the other and times only grow within one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include <zlib.h>

#include "analyzer/base/user_error.h"
#include "analyzer/report/formats/proto_message.h"
#include "analyzer/report/formats/tool_words.h"

namespace gmt::perfetto {

// Numbers of fields, as Perfetto's .proto files have them.
struct TraceField {
  static constexpr unsigned packet = 1;
};
struct PacketField {
  static constexpr unsigned clocks = 6, timestamp = 8, sequence = 10, event = 11, names = 12,
                            flags = 13, compressed = 50, defaults = 59, track = 60;
};
struct ClocksField {
  static constexpr unsigned clock = 1, id = 1, timestamp = 2, is_incremental = 3;
};
struct DefaultsField {
  static constexpr unsigned event = 11, clock = 58;
};
struct TrackField {
  static constexpr unsigned uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
};
struct ProcessField {
  static constexpr unsigned pid = 1, name = 6, labels = 8;
};
struct ThreadField {
  static constexpr unsigned pid = 1, tid = 2, name = 5;
};
struct CounterField {
  static constexpr unsigned unit = 3;
};
struct EventField {
  static constexpr unsigned annotations = 4, type = 9, name_id = 10, track = 11, category = 22,
                            name = 23, counter_value = 30;
};
struct AnnotationField {
  static constexpr unsigned name_id = 1, number = 3, text = 6, name = 10, text_id = 17;
};
struct NamesField {
  static constexpr unsigned events = 2, annotations = 3, texts = 29, id = 1, value = 2;
};
inline constexpr std::uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4; // TrackEvent.Type
inline constexpr std::uint64_t kBootTime = 6;       // the clock that is shown
inline constexpr std::uint64_t kSequenceClock = 64; // the first of those that a sequence defines
inline constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2; // sequence_flags
inline constexpr std::uint64_t kBytesUnit = 3; // CounterDescriptor.UNIT_SIZE_BYTES

// The file: packets, compressed in parts.
class PacketStream {
public:
  explicit PacketStream(std::ostream& out) : out_(out) {}

  void add(const ProtoMessage& packet) {
    all_.message(TraceField::packet, packet);
    if (all_.data().size() >= kPart) flush();
  }
  void flush() {
    if (all_.is_empty()) return;
    constexpr int kFast = 1;
    uLongf size = ::compressBound(all_.data().size());
    packed_.resize(size);
    if (::compress2(reinterpret_cast<Bytef*>(packed_.data()), &size,
                    reinterpret_cast<const Bytef*>(all_.data().data()), all_.data().size(),
                    kFast) != Z_OK)
      throw UserError("no memory to compress the report", ExitStatus::kInternal);
    ProtoMessage packet, trace;
    packet.bytes(PacketField::compressed, {packed_.data(), size});
    out_ << trace.message(TraceField::packet, packet).data();
    all_.clear();
  }
  std::uint64_t next_number() { return ++numbers_; } // of a track and its sequence

private:
  static constexpr std::size_t kPart = 1 << 20;

  std::ostream& out_;
  ProtoMessage all_;
  std::string packed_;
  std::uint64_t numbers_ = 0;
};

// The packets of one track, whose times never fall.
class Track {
public:
  Track(PacketStream& stream, ProtoMessage descriptor, std::uint64_t number)
      : stream_(stream), number_(number) {
    descriptor.number(TrackField::uuid, number);
    ProtoMessage packet;
    stream_.add(packet.message(PacketField::track, descriptor));
    begin_sequence();
  }

  // An event at a time; `fields` are those of the event beside its type and its name.
  void add(std::uint64_t type, std::uint64_t time, std::uint64_t name_id = 0,
           const ProtoMessage& fields = {}) {
    event_.clear();
    event_.number(EventField::type, type);
    if (name_id != 0) event_.number(EventField::name_id, name_id);
    packet_.clear();
    packet_.number(PacketField::timestamp, time - std::min(time, last_))
      .number(PacketField::sequence, number_)
      .number(PacketField::flags, kNeedsState);
    last_ = std::max(time, last_);
    if (!names_.is_empty()) packet_.message(PacketField::names, names_);
    names_.clear();
    packet_.bytes(PacketField::event, event_.data() + fields.data());
    stream_.add(packet_);
  }

  // Numbers of names, which go into the next packet where they are new.
  std::uint64_t event_name(const std::string& name) {
    return id_of(events_, NamesField::events, name);
  }
  std::uint64_t annotation_name(const std::string& name) {
    return id_of(annotations_, NamesField::annotations, name);
  }
  std::uint64_t text(const std::string& value) { return id_of(texts_, NamesField::texts, value); }

private:
  using Ids = std::unordered_map<std::string, std::uint64_t>;

  std::uint64_t id_of(Ids& ids, unsigned field, const std::string& name) {
    const auto [at, is_new] = ids.try_emplace(name, ids.size() + 1);
    if (is_new) {
      ProtoMessage entry;
      entry.number(NamesField::id, at->second).bytes(NamesField::value, tools::clean_utf8(name));
      names_.message(field, entry);
    }
    return at->second;
  }

  void begin_sequence() {
    ProtoMessage shown, own, clocks, event, defaults, packet;
    shown.number(ClocksField::id, kBootTime).number(ClocksField::timestamp, 0);
    own.number(ClocksField::id, kSequenceClock)
      .number(ClocksField::timestamp, 0)
      .number(ClocksField::is_incremental, 1);
    clocks.message(ClocksField::clock, shown).message(ClocksField::clock, own);
    event.number(EventField::track, number_);
    defaults.message(DefaultsField::event, event).number(DefaultsField::clock, kSequenceClock);
    packet.number(PacketField::sequence, number_)
      .number(PacketField::flags, kStateCleared)
      .message(PacketField::clocks, clocks)
      .message(PacketField::defaults, defaults);
    stream_.add(packet);
  }

  PacketStream& stream_;
  const std::uint64_t number_;
  std::uint64_t last_ = 0;
  Ids events_, annotations_, texts_;
  ProtoMessage names_, event_, packet_;
};

// Slices of one track: what has begun ends in time, and what lies in another ends with it.
class Slices {
public:
  explicit Slices(Track& track) : track_(track) {}
  ~Slices() { end_until(~std::uint64_t{0}); }
  Slices(const Slices&) = delete;
  Slices& operator=(const Slices&) = delete;

  void end_until(std::uint64_t time) {
    while (!ends_.empty() && ends_.back() <= time) {
      track_.add(kEnd, ends_.back());
      ends_.pop_back();
    }
  }
  void add(std::uint64_t begin, std::uint64_t end, std::uint64_t name,
           const ProtoMessage& fields = {}) {
    end_until(begin);
    track_.add(kBegin, begin, name, fields);
    ends_.push_back(ends_.empty() ? end : std::min(end, ends_.back()));
  }

private:
  Track& track_;
  std::vector<std::uint64_t> ends_; // of those that have begun, the innermost last
};

} // namespace gmt::perfetto
