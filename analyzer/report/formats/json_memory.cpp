// SPDX-License-Identifier: Apache-2.0
// docs/report-json.md documents every field.
#include "analyzer/report/formats/json_parts.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/report/formats/json_stack.h"
#include "analyzer/report/formats/json_values.h"

namespace gmt::json {
namespace {

using Json = nlohmann::ordered_json; // keys in the order of the documentation

Json device_or_null(int device) { return device >= 0 ? Json(device) : Json(nullptr); }

Json json_of(const MemoryTables::KindRow& f) {
  return {{"family", f.memory_kind},
          {"device", device_or_null(f.device)},
          {"allocations", f.allocations},
          {"allocated_bytes", f.allocated_bytes},
          {"frees", f.frees},
          {"peak_bytes", f.peak_bytes},
          {"live_blocks", f.live_blocks},
          {"live_bytes", f.live_bytes}};
}

Json json_of(const MemoryTables::Device& d) {
  return {{"device", device_or_null(d.device)},
          {"peak_bytes", d.peak_bytes},
          {"live_bytes", d.live_bytes}};
}

Json json_of(const MemoryTables::Copies& c) {
  return {{"direction", c.direction},
          {"copies", c.copies},
          {"bytes", c.bytes},
          {"pageable_bytes", c.pageable_bytes}};
}

Json json_of(const MemoryTables::Module& m) {
  return {{"module", text_or_null(m.path)}, {"owner", text_or_null(m.owner)},
          {"allocations", m.allocations},   {"allocated_bytes", m.allocated_bytes},
          {"peak_bytes", m.peak_bytes},     {"live_bytes", m.live_bytes}};
}

Json json_of(const HeldMemory::Module& m) {
  return {{"module", text_or_null(m.path)},
          {"owner", text_or_null(m.owner)},
          {"bytes", m.bytes},
          {"blocks", m.blocks}};
}

Json json_of(const HeldMemory::Pool& p) {
  return {{"pool", p.name},
          {"bytes", p.bytes},
          {"blocks", p.blocks},
          {"freed_bytes", p.freed_bytes},
          {"largest_freed_bytes", p.largest_freed},
          {"fragmentation", p.freed_bytes != 0 ? Json(p.fragmentation()) : Json(nullptr)},
          {"release_threshold", number_or_null(p.release_threshold)}};
}

Json json_of(const MemoryTables::Library& l) {
  return {{"owner", l.owner}, {"bytes", l.bytes}, {"blocks", l.blocks}};
}

template <class Row> Json rows_of(const std::vector<Row>& rows) {
  Json array = Json::array();
  for (const Row& row : rows) array.push_back(json_of(row));
  return array;
}

Json json_of(const MemoryTables::Holder& h, unsigned depth) {
  return {{"bytes", h.bytes},
          {"blocks", h.blocks},
          {"stack", stack_json(h.stack, stack_label(StackRole::kAllocated), depth)}};
}

Json tensors_or_null(const MemoryTables::Tensors& tensors, unsigned depth) {
  constexpr std::size_t kMost = 20;
  if (tensors.allocations == 0) return nullptr;
  Json holders = Json::array();
  std::uint64_t others = tensors.other_holders, other_bytes = tensors.other_bytes;
  for (const MemoryTables::Holder& h : tensors.holders) {
    if (holders.size() < kMost) {
      Json& row = holders.emplace_back(json_of(h, depth));
      row["model_part"] = text_or_null(h.model_part);
    } else {
      ++others;
      other_bytes += h.bytes;
    }
  }
  return {{"allocations", tensors.allocations},
          {"peak_bytes", tensors.peak_bytes},
          {"live_bytes", tensors.live_bytes},
          {"live_blocks", tensors.live_blocks},
          {"holders_at_peak", std::move(holders)},
          {"other_holders", {{"stacks", others}, {"bytes", other_bytes}}}};
}

} // namespace

Json memory_json(const MemoryTables& tables, unsigned depth) {
  Json holders = Json::array();
  for (const MemoryTables::Holder& h : tables.holders) holders.push_back(json_of(h, depth));
  return {{"families", rows_of(tables.memory_kinds)},
          {"devices", rows_of(tables.devices)},
          {"copies", rows_of(tables.copies)},
          {"modules", rows_of(tables.modules)},
          {"holders_at_peak", std::move(holders)},
          {"other_holders", {{"stacks", tables.other_holders}, {"bytes", tables.other_bytes}}},
          {"tensors", tensors_or_null(tables.tensors, depth)},
          {"libraries", rows_of(tables.libraries)}};
}

Json held_json(const HeldMemory& held) {
  Json holders = Json::array();
  for (const HeldMemory::Holder& h : held.holders) {
    holders.push_back({{"stack", h.stack}, {"bytes", h.bytes}, {"blocks", h.blocks}});
  }
  return {{"requested_bytes", held.requested_bytes},
          {"memory", held.is_host ? "host" : "device"},
          {"device", device_or_null(held.device)},
          {"bytes", held.bytes},
          {"blocks", held.blocks},
          {"free_bytes", number_or_null(held.free_bytes)},
          {"total_bytes", number_or_null(held.total_bytes)},
          {"untraced_bytes_estimate", number_or_null(held.untraced_bytes())},
          {"holders", std::move(holders)},
          {"other_holders", {{"stacks", held.other_holders}, {"bytes", held.other_bytes}}},
          {"modules", rows_of(held.modules)},
          {"pools", rows_of(held.pools)}};
}

} // namespace gmt::json
