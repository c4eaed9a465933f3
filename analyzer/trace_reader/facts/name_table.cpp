// SPDX-License-Identifier: Apache-2.0

#include "analyzer/trace_reader/facts/name_table.h"

#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

std::string_view find(const std::unordered_map<std::uint64_t, std::string>& names,
                      std::uint64_t key) {
  const auto found = names.find(key);
  return found == names.end() ? std::string_view() : std::string_view(found->second);
}

} // namespace

void NameTable::follow(const Event& e) {
  switch (e.kind) {
  case EventKind::kName:
    if (const event::Name& name = e.name(); name.is_whole) handles_[name.handle] = name.text;
    break;
  case EventKind::kText:
    if (const event::Text& text = e.text(); text.is_whole) texts_[text.id] = text.text;
    break;
  case EventKind::kRange:
    if (const event::Range& range = e.range(); range.op == trace::RangeOp::kNameResource) {
      handles_[range.named()] = text(range.text);
    }
    break;
  default: break;
  }
}

std::string_view NameTable::api_name(std::uint16_t api) const { return as_written(symbol(api)); }

std::string_view NameTable::handle_name(std::uint64_t handle) const {
  return find(handles_, handle);
}

std::string_view NameTable::text(std::uint64_t id) const { return find(texts_, id); }

} // namespace gmt
