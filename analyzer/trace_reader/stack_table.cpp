// SPDX-License-Identifier: Apache-2.0
// Interning of call stacks: all frames in one array, an open-addressing table of (hash, id) over
// it. A stack is looked up once per log, so this is never in the path of an event.

#include "analyzer/trace_reader/stack_table.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace gmt {
namespace {

std::uint32_t hash_of(std::span<const std::uint64_t> addresses) {
  std::uint64_t h = 0x9e3779b97f4a7c15ULL ^ addresses.size();
  for (const std::uint64_t a : addresses) {
    h = (h ^ a) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  }
  return static_cast<std::uint32_t>(h ^ (h >> 29));
}

bool is_in(const StackTable::Ranges& ranges, std::uint64_t address) {
  return std::ranges::any_of(
    ranges, [address](const auto& r) { return address >= r.first && address < r.second; });
}

} // namespace

// Its bucket, or the one that is to have it.
std::size_t StackTable::find(std::span<const std::uint64_t> addresses, std::uint32_t hash) const {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t at = hash & mask;
  for (; buckets_[at].id != 0; at = (at + 1) & mask) {
    if (buckets_[at].hash != hash) continue;
    if (std::ranges::equal(frames({buckets_[at].id}), addresses)) break;
  }
  return at;
}

// Python frames stand behind the native ones: the outermost of those are kept then.
StackId StackTable::intern(std::span<const std::uint64_t> addresses) {
  if (const StackId known = add_or_find(addresses, kMostStacks)) return known;
  if (addresses.empty()) return {};
  ++merged_;
  std::size_t most = kMostStacks;
  for (const std::size_t kept : std::initializer_list<std::size_t>{8, 4, 2, 1}) {
    most += kMostStacks / 8; // each step has room of its own
    if (const StackId outer = add_or_find(addresses.last(std::min(kept, addresses.size())), most))
      return outer;
  }
  return {};
}

// No id if it is not there, and there are as many already.
StackId StackTable::add_or_find(std::span<const std::uint64_t> addresses, std::size_t most) {
  if (addresses.empty()) return {};
  if (size() * 2 >= buckets_.size()) grow();
  const std::uint32_t hash = hash_of(addresses);
  const std::size_t at = find(addresses, hash);
  if (buckets_[at].id != 0) return {buckets_[at].id};
  if (size() >= most) return {};
  const auto id = static_cast<std::uint32_t>(size() + 1);
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  begins_.push_back(addresses_.size());
  buckets_[at] = {hash, id};
  return {id};
}

// In the order in which reports show them: a run of Python frames stands before the native frame of
// its evaluator, or behind all if that is not known, as where the stack was cut off.
std::vector<std::uint64_t>
StackTable::shown_frames(const std::vector<std::uint64_t>& addresses) const {
  const auto python = std::ranges::find_if(addresses, PythonFrames::is_python);
  std::vector<std::uint64_t> shown;
  auto run = python;
  const auto show_runs = [&](std::uint32_t before) {
    for (;;) {
      const auto end = std::find_if(run, addresses.end(), PythonFrames::is_entry);
      const std::uint32_t evaluator = end != addresses.end() ? PythonFrames::evaluator_of(*end) : 0;
      if (evaluator == 0 || evaluator > before) return;
      shown.insert(shown.end(), run, end);
      run = end + 1;
    }
  };
  for (auto native = addresses.begin(); native != python; ++native) {
    show_runs(static_cast<std::uint32_t>(native - addresses.begin() + 1));
    if (!is_in(interpreter_, *native)) shown.push_back(*native);
  }
  while (!shown.empty() && is_in(c_library_, shown.back())) shown.pop_back();
  std::copy_if(run, addresses.end(), std::back_inserter(shown),
               [](std::uint64_t a) { return !PythonFrames::is_entry(a); });
  return shown;
}

StackId StackTable::intern_python(const std::vector<std::uint64_t>& addresses) {
  std::vector<std::uint64_t> shown;
  if (!interpreter_.empty()) shown = shown_frames(addresses);
  if (shown.empty()) return intern(addresses);
  if (size() >= kMostStacks) {
    const auto known = by_shown_frames_.find(shown);
    return known != by_shown_frames_.end() ? known->second : intern(addresses);
  }
  const auto [at, is_new] = by_shown_frames_.try_emplace(std::move(shown));
  if (is_new) at->second = intern(addresses);
  return at->second;
}

std::span<const std::uint64_t> StackTable::frames(StackId id) const {
  if (!id || id.value > size()) return {};
  const std::uint64_t begin = begins_[id.value];
  return {addresses_.data() + begin, static_cast<std::size_t>(begins_[id.value + 1] - begin)};
}

void StackTable::grow() {
  std::vector<Bucket> old(std::max<std::size_t>(64, buckets_.size() * 2));
  old.swap(buckets_);
  const std::size_t mask = buckets_.size() - 1;
  for (const Bucket& bucket : old) {
    if (bucket.id == 0) continue;
    std::size_t at = bucket.hash & mask;
    while (buckets_[at].id != 0) at = (at + 1) & mask;
    buckets_[at] = bucket;
  }
}

} // namespace gmt
