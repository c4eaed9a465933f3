// SPDX-License-Identifier: Apache-2.0
// A log of one kind of records in the real format: what the writers of device logs and of access
// logs share.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {

class SlotWriter {
public:
  void torn() { slots_.emplace_back(); } // reserved, never written

  void write(const std::filesystem::path& trace, const std::string& name) const {
    trace::LogHeader header{};
    std::memcpy(header.magic, trace::kLogMagic, sizeof header.magic);
    header.major = trace::kFormatMajor;
    header.minor = trace::kFormatMinor;
    std::string bytes(trace::kLogHeaderBytes, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.append(reinterpret_cast<const char*>(slots_.data()), slots_.size() * sizeof(trace::Slot));
    bytes.append(4 * sizeof(trace::Slot), '\0');
    write_file(trace / (name + ".log"), bytes);
  }

protected:
  // First is a Slot or a DeviceSlot, complete but for its payload.
  template <class First> void append_record(First first,
                                            const std::vector<std::uint64_t>& payload) {
    for (std::size_t i = 0; i < payload.size() && i < trace::kFirstPayloadWords; ++i)
      first.a[i] = payload[i];
    append(first);
    std::size_t word = trace::kFirstPayloadWords;
    while (word < payload.size()) {
      trace::MoreSlot more{};
      more.head = trace::pack({trace::Kind::kMore, 1, 0, 0, 0});
      for (unsigned i = 0; i < trace::kMorePayloadWords && word < payload.size(); ++i) {
        more.payload[i] = payload[word++];
      }
      append(more);
    }
  }
  static std::uint8_t slots_of(const std::vector<std::uint64_t>& payload) {
    return static_cast<std::uint8_t>(trace::slots_for(static_cast<unsigned>(payload.size())));
  }

  std::vector<trace::Slot> slots_;

private:
  template <class Any> void append(const Any& any) {
    trace::Slot raw;
    static_assert(sizeof any == sizeof raw);
    std::memcpy(&raw, &any, sizeof raw);
    slots_.push_back(raw);
  }
};

} // namespace gmt::test
