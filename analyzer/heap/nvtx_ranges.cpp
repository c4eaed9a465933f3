// SPDX-License-Identifier: Apache-2.0
// Records of ranges come from programs that may pop more than they push, and logs that may have
// lost some: whatever does not fit is left out.

#include "analyzer/heap/nvtx_ranges.h"

#include <algorithm>

#include "analyzer/base/glob.h"
#include "analyzer/base/text_format.h"
#include "analyzer/heap/heap.h"

namespace gmt {

using trace::RangeOp;

Ranges::Thread& Ranges::thread(std::uint32_t number) const { return threads_[number]; }

void Ranges::on_range(const Event& e) {
  any_ = true;
  const event::Range& view = e.range();
  const Open range{view.domain, view.text};
  Thread& thread = this->thread(e.thread);
  switch (view.op) {
  case RangeOp::kThread: thread = {.open = {}, .id = view.thread()}; break;
  case RangeOp::kPush:
    thread.open.push_back(range);
    thread.version = 0;
    break;
  case RangeOp::kPop:
    if (view.open_ranges() < thread.open.size()) thread.open.resize(view.open_ranges());
    thread.version = 0;
    break;
  case RangeOp::kStart: {
    const bool known =
      std::ranges::any_of(started_, [&](const Started& started) { return started.id == view.id; });
    if (!known) started_.push_back({view.id, range});
    ++version_;
    break;
  }
  case RangeOp::kEnd:
    std::erase_if(started_, [&](const Started& started) { return started.id == view.id; });
    ++version_;
    break;
  case RangeOp::kNameDomain: domains_[range.domain] = range.text; break;
  case RangeOp::kNameThread: thread_names_[view.named()] = range.text; break;
  case RangeOp::kMark:
  case RangeOp::kNameResource: break;
  }
}

void Ranges::on_access(const Access& access) {
  if (access.kind == Access::Kind::kAllocated) {
    if (const Path path = here(); path != 0) allocation_paths_[access.block->allocated_at] = path;
  } else if (access.kind == Access::Kind::kEnded) {
    allocation_paths_.erase(access.block->allocated_at);
  }
}

Ranges::Path Ranges::here() const {
  if (!any_) return 0;
  Thread& thread = this->thread(thread_);
  if (thread.version == version_) return thread.path;
  Path path = 0;
  for (const Started& started : started_) path = inside(path, started.range);
  for (const Open& range : thread.open) path = inside(path, range);
  thread.version = version_;
  return thread.path = path;
}

Ranges::Path Ranges::inside(Path parent, const Open& range) const {
  const auto [at, is_new] = paths_.try_emplace({parent, range.domain, range.text}, 0);
  if (is_new) {
    nodes_.push_back({parent, range});
    at->second = static_cast<Path>(nodes_.size());
  }
  return at->second;
}

Ranges::Path Ranges::path_of_allocation(const Block& block) const {
  const auto found = allocation_paths_.find(block.allocated_at);
  return found == allocation_paths_.end() ? 0 : found->second;
}

std::string Ranges::text(Path path) const {
  std::string text;
  for (; path != 0; path = nodes_[path - 1].parent) {
    const std::string outer = name_of(nodes_[path - 1].range);
    text = text.empty() ? outer : cat({outer, " / ", text});
  }
  return text;
}

bool Ranges::contains(Path path, std::string_view glob) const {
  for (; path != 0; path = nodes_[path - 1].parent) {
    if (matches(glob, name_of(nodes_[path - 1].range))) return true;
  }
  return false;
}

bool Ranges::matches(std::string_view glob, std::string_view name) {
  if (glob_match(glob, name)) return true;
  const std::size_t colon = name.find(": "); // behind a domain
  return colon != std::string_view::npos && glob_match(glob, name.substr(colon + 2));
}

std::string Ranges::name_of(const Open& range) const {
  const std::string_view name = text_of(range.text);
  const std::string_view shown = name.empty() ? "(unnamed range)" : name;
  if (range.domain == 0) return std::string(shown);
  const auto domain = domains_.find(range.domain);
  return domain == domains_.end() ? std::string(shown)
                                  : cat({text_of(domain->second), ": ", shown});
}

std::string_view Ranges::text_of(std::uint64_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view Ranges::thread_name(std::uint32_t number) const {
  const auto thread = threads_.find(number);
  if (thread == threads_.end()) return {};
  const auto name = thread_names_.find(thread->second.id);
  return name == thread_names_.end() ? std::string_view() : text_of(name->second);
}

} // namespace gmt
