// SPDX-License-Identifier: Apache-2.0

#include "analyzer/trace_reader/facts/name_table.h"

#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

template <class View> std::string text_of(const View& record) {
  return std::string(record.text().text(), static_cast<std::size_t>(record.length()));
}

std::string_view find(const std::unordered_map<std::uint64_t, std::string>& names,
                      std::uint64_t key) {
  const auto found = names.find(key);
  return found == names.end() ? std::string_view() : std::string_view(found->second);
}

} // namespace

void NameTable::follow(const Event& e) {
  switch (e.kind) {
  case trace::Kind::kName:
    if (const trace::NameView name(e); is_whole(name)) handles_[name.handle()] = text_of(name);
    break;
  case trace::Kind::kText:
    if (const trace::TextView text(e); is_whole(text)) texts_[text.id()] = text_of(text);
    break;
  case trace::Kind::kRange:
    if (const trace::RangeView range(e); range.op() == trace::RangeOp::kNameResource) {
      handles_[range.named()] = text(range.text());
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
