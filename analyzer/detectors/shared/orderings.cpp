// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/orderings.h"

#include "analyzer/base/text_format.h"
#include "trace/api_id.h"

namespace gmt {

using trace::Ordering;

namespace {

// A call that is not in the table is one of a later version. What it orders is said by its record,
// unless that is a mere note.
Ordering look_up(std::string_view name, EventKind kind) {
  for (std::uint16_t row = 0; row < trace::kDriverApiCount; ++row) {
    if (as_written(trace::kApiNames[row]) == name) return trace::kApiOrderings[row];
  }
  return kind == EventKind::kNote ? Ordering::kUnknown : Ordering::kNone;
}

} // namespace

// What a runtime call orders is said by the driver calls inside it.
Ordering Orderings::of(const Event& e) {
  if (e.from_runtime || e.api == trace::kNoApi) return Ordering::kNone;
  if (e.api >= known_.size()) known_.resize(e.api + std::size_t{1});
  std::optional<Ordering>& known = known_[e.api];
  if (!known) known = look_up(names_.api_name(e.api), e.kind);
  return *known;
}

} // namespace gmt
