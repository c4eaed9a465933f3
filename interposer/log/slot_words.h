// SPDX-License-Identifier: Apache-2.0
// The payload words of a record that stands in a log, for records that are raised in place.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace gmt::interposer {

inline std::uint64_t* word_at(trace::Slot* record, unsigned word) noexcept {
  if (word < trace::kFirstPayloadWords) return record->a + word;
  const unsigned beyond = word - trace::kFirstPayloadWords;
  auto* more = reinterpret_cast<trace::MoreSlot*>(record + 1 + beyond / trace::kMorePayloadWords);
  return more->payload + beyond % trace::kMorePayloadWords;
}

} // namespace gmt::interposer
