// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/reports.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <pthread.h>
#include <sched.h>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/heap_blocks.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/patches/patch_reports.h"
#include "interposer/kernel_checks/library/report_words.h"

namespace gmt::interposer::kernel_checks {

namespace {

using rewriter::Record;

bool may_be_of(const Launch& launch, const Module& module, const Record& record) noexcept {
  bool fits = launch.module == &module;
  for (unsigned i = 0; i < 3; ++i)
    fits = fits && record.block[i] < launch.grid[i] && record.thread[i] < launch.block[i];
  return fits;
}

// The launch that the record names. A function that was called by a pointer knows none: then it is
// the only one that can be meant, if there is one alone.
Launch launch_of(const Module& module, const Table& table, const Record& record) noexcept {
  Launch launch, found;
  found.table = table.index();
  if (record.launch != 0) return find_launch(record.launch, &launch) ? launch : found;
  if (module.is_in_graphs.load()) return found; // their launches are not counted
  const std::uint64_t latest = newest_launch();
  const std::uint64_t oldest = latest - std::min(latest, kMostLaunches);
  for (std::uint64_t number = latest; number > oldest; --number) {
    if (!find_launch(number, &launch) || launch.table != table.index() ||
        !may_be_of(launch, module, record))
      continue;
    if (found.number != 0) {
      found = {};
      found.table = table.index();
      return found;
    }
    found = launch;
  }
  return found;
}

// ---- what is on the device

template <class T>
bool fetch(const Table& table, T* to, CUdeviceptr from, std::size_t count) noexcept {
  return count == 0 || driver.fetch(to, from, count * sizeof(T), table.stream()) == 0;
}

struct News {
  std::vector<Record> records; // since the last time
  std::vector<std::uint64_t> counts;
  bool has_room = true; // for each record that was wanted
};

enum class FetchResult : std::uint8_t { kNothing, kNews, kRefused };

// Those records that are whole: a kernel may still be writing the others.
FetchResult fetch_news(ModuleSlot& slot, const Table& table, News& news) {
  std::uint32_t used = 0;
  // What is counted behind this sets the flag again.
  if (slot.flagged != 0 && driver.set_16(slot.flagged, 0, 2, table.stream()) != 0)
    return FetchResult::kRefused;
  if (!fetch(table, &used, slot.used, 1) || driver.wait_for_stream(table.stream()) != 0)
    return FetchResult::kRefused;
  if (used == 0) return FetchResult::kNothing; // each counter's first mistake wants a record
  news.has_room = used <= Table::options().records;
  used = std::min(used, Table::options().records);
  news.counts.resize(slot.counted.size());
  news.records.resize(used - std::min(used, slot.fetched));
  if (!fetch(table, news.records.data(), slot.records + slot.fetched * sizeof(Record),
             news.records.size()) ||
      !fetch(table, news.counts.data(), slot.counts.load(), news.counts.size()) ||
      driver.wait_for_stream(table.stream()) != 0)
    return FetchResult::kRefused;
  const auto is_unfinished = [](const Record& record) { return record.is_whole == 0; };
  news.records.erase(std::ranges::find_if(news.records, is_unfinished), news.records.end());
  slot.fetched += static_cast<std::uint32_t>(news.records.size());
  return FetchResult::kNews;
}

// What memory of the host has of them, when the context has stopped at a fault. How many more there
// were is not known then.
bool take_copied_news(const Module& module, ModuleSlot& slot, const Table& table, News& news) {
  const rewriter::HostRecords* const copied = host_records(table.index());
  if (copied == nullptr) return false;
  news = {};
  news.counts = slot.counted;
  std::uint32_t fetched = slot.fetched;
  const std::uint32_t used = std::min(copied->used, rewriter::kHostRecords);
  for (std::uint32_t i = 0; i < used; ++i) {
    const Record& record = copied->records[i];
    const std::uint32_t whose = record.is_whole >> rewriter::kModuleBits;
    const std::uint32_t number = record.is_whole % (1u << rewriter::kModuleBits); // from 1
    const std::size_t counter = std::size_t{record.site} * rewriter::kCountKinds + record.kind;
    if (whose != module.number || number <= slot.fetched || counter >= news.counts.size()) continue;
    news.records.push_back(record);
    ++news.counts[counter];
    fetched = std::max(fetched, number);
  }
  slot.fetched = fetched;
  return !news.records.empty();
}

// ---- in the core's words

trace::ExecutionAccess access_of(rewriter::AccessKind kind) noexcept {
  switch (kind) {
  case rewriter::AccessKind::kLoad: return trace::ExecutionAccess::kLoad;
  case rewriter::AccessKind::kStore: return trace::ExecutionAccess::kStore;
  case rewriter::AccessKind::kAtomic: return trace::ExecutionAccess::kAtomic;
  case rewriter::AccessKind::kReduction: return trace::ExecutionAccess::kReduction;
  }
  return trace::ExecutionAccess::kUnknown;
}

trace::ExecutionReport kind_of(const rewriter::Site& site, const Record& record) noexcept {
  if (site.is_assert) return trace::ExecutionReport::kAssert;
  if (record.kind == rewriter::kMisalignedCount) return trace::ExecutionReport::kMisaligned;
  if (record.kind == rewriter::kUnwrittenCount) return trace::ExecutionReport::kUninitializedRead;
  if (record.space != rewriter::RecordSpace::kGlobal) return trace::ExecutionReport::kOutOfBounds;
  if (record.meant != 0) return trace::ExecutionReport::kOutOfBounds; // whatever lies there
  const bool is_freed =
    is_of_freed(record.entry, record.address) || record.entry == rewriter::kFreedHeapBlock;
  return is_freed ? trace::ExecutionReport::kUseAfterFree : trace::ExecutionReport::kOutOfBounds;
}

trace::ExecutionSpace space_of(const rewriter::Site& site, const Record& record) noexcept {
  if (record.space == rewriter::RecordSpace::kShared) return trace::ExecutionSpace::kShared;
  if (record.space == rewriter::RecordSpace::kLocal) return trace::ExecutionSpace::kLocal;
  return site.is_generic ? trace::ExecutionSpace::kGeneric : trace::ExecutionSpace::kGlobal;
}

// What the access was to stay in, where the code knows it.
trace::ExecutionNeighbour meant_by(const rewriter::Site& site, const Record& record) noexcept {
  if (record.space == rewriter::RecordSpace::kShared) {
    const auto bytes = static_cast<std::uint32_t>(record.entry);
    const char* name = site.array.empty() ? nullptr : site.array.c_str();
    return {record.meant, bytes, 0, trace::ExecutionSpace::kShared, name};
  }
  if (record.space == rewriter::RecordSpace::kVariable) {
    return {record.meant, static_cast<std::uint32_t>(record.entry), 0,
            trace::ExecutionSpace::kGlobal, site.array.c_str()};
  }
  const bool is_of_heap = record.space == rewriter::RecordSpace::kGlobal && record.meant == 0 &&
                          record.entry <= rewriter::kHeapEntry;
  if (is_of_heap) return heap_block_at(record.address, record.entry == rewriter::kFreedHeapBlock);
  std::size_t bytes = 0;
  const bool is_block = record.space == rewriter::RecordSpace::kGlobal && record.meant != 0 &&
                        find_block(record.meant, nullptr, &bytes);
  if (!is_block) return {};
  return {record.meant, bytes, 0, trace::ExecutionSpace::kGlobal, nullptr};
}

// What CUDA prints; empty where the code does not say all of it.
std::string text_of_assert(const rewriter::Site& site, const Record& record) {
  if (site.location.empty() || site.condition.empty()) return {};
  const auto triple = [](const std::uint32_t(&at)[3]) {
    return "[" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) +
           "]";
  };
  return site.location + ": block: " + triple(record.block) + ", thread: " + triple(record.thread) +
         " Assertion `" + site.condition + "` failed.";
}

// The kernel ends there.
void describe_assert(trace::ExecutionFault& fault, const std::string& text) {
  fault.gpu_error = CUDA_ERROR_ASSERT;
  if (!text.empty()) fault.message = text.c_str();
}

void describe_access(trace::ExecutionFault& fault, const rewriter::Site& site,
                     const Record& record) {
  fault.address = record.address;
  fault.has_address = 1;
  fault.bytes = site.bytes;
  fault.space = space_of(site, record);
  fault.access = access_of(site.kind);
  fault.neighbour = meant_by(site, record);
}

void report(const rewriter::Site& site, const Launch& launch, const Record& record,
            std::uint64_t count) {
  std::vector<trace::ExecutionLine> lines;
  for (const rewriter::SourceLine& line : site.lines)
    lines.push_back(
      {line.function.empty() ? nullptr : line.function.c_str(), line.file.c_str(), line.line, 0});
  trace::ExecutionFault fault{};
  fault.size = sizeof fault;
  fault.kind = kind_of(site, record);
  describe_launch(fault.launch, launch);
  if (fault.launch.kernel == nullptr) fault.launch.kernel = site.function.c_str();
  fault.location.lines = lines.data();
  fault.location.line_count = static_cast<std::uint32_t>(lines.size());
  fault.location.has_thread = 1;
  fault.location.instruction = site.instruction.c_str();
  fault.location.function = site.function.c_str();
  fault.location.ptx_line = site.ptx_line;
  std::ranges::copy(record.block, fault.location.block);
  std::ranges::copy(record.thread, fault.location.thread);
  fault.count = count;
  const std::string text = site.is_assert ? text_of_assert(site, record) : std::string();
  if (site.is_assert) describe_assert(fault, text);
  else describe_access(fault, site, record);
  core->found(&fault);
}

// One fault for each counter and launch: the record of the first block and thread, and how many
// there were.
struct Group {
  std::size_t counter;
  Launch launch;
  Record first;
  std::uint64_t count;
};

std::vector<Group> groups_of(const Module& module, const Table& table, const News& news) {
  const std::size_t counters = module.slots[table.index()].counted.size();
  std::vector<Group> groups;
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> known; // counter and launch
  for (const Record& record : news.records) {
    const std::size_t counter = std::size_t{record.site} * rewriter::kCountKinds + record.kind;
    if (counter >= counters) continue;
    const auto [at, is_new] = known.try_emplace({counter, record.launch}, groups.size());
    if (is_new) groups.push_back({counter, launch_of(module, table, record), record, 0});
    Group& group = groups[at->second];
    if (is_before(record, group.first)) group.first = record;
    ++group.count;
  }
  return groups;
}

// Where there was no room for its record, it may have been counted before.
void count_records(ModuleSlot& slot, const News& news, Group& group) {
  std::uint64_t& counted = slot.counted[group.counter];
  slot.recorded[group.counter] += group.count;
  const std::uint64_t all = counted + group.count, most = news.counts[group.counter];
  group.count -= std::min(group.count, all - std::min(all, most));
  counted += group.count;
}

// Of a counter only the first mistakes have records; the others belong to the last launch known.
// A mistake whose record is still being written is reported the next time, with its own launch.
void add_others(ModuleSlot& slot, const News& news, bool is_last, std::vector<Group>& groups) {
  for (std::size_t counter = 0; counter < slot.counted.size(); ++counter) {
    const std::uint64_t count = news.counts[counter];
    const std::uint64_t with_record =
      is_last || !news.has_room ? 0 : std::min(count, rewriter::kRecordsOfSite);
    const std::uint64_t to_come = with_record - std::min(with_record, slot.recorded[counter]);
    const std::uint64_t others = count - std::min(count, slot.counted[counter] + to_come);
    if (others == 0) continue;
    const auto last = std::ranges::find(groups.rbegin(), groups.rend(), counter, &Group::counter);
    const LastReport& known = slot.last[counter];
    if (last != groups.rend()) last->count += others;
    else if (known.is_there) groups.push_back({counter, known.launch, known.record, others});
    else continue;
    slot.counted[counter] += others;
  }
}

// With `is_ready` the table's context is current.
void fetch_reports_of(Module& module, const Table& table, bool is_ready, bool is_last) {
  News news;
  ModuleSlot& slot = module.slots[table.index()];
  const FetchResult fetched = is_ready ? fetch_news(slot, table, news) : FetchResult::kRefused;
  if (fetched == FetchResult::kNothing) return;
  if (fetched == FetchResult::kRefused && !take_copied_news(module, slot, table, news)) return;
  std::vector<Group> groups = groups_of(module, table, news);
  for (Group& group : groups) count_records(slot, news, group);
  add_others(slot, news, is_last, groups);
  for (const Group& group : groups) {
    if (group.count == 0) continue;
    slot.last[group.counter] = {true, group.launch, group.first};
    report(module.code.sites[group.counter / rewriter::kCountKinds], group.launch, group.first,
           group.count);
  }
}

// One thread at a time fetches.
constinit std::atomic<pthread_t> fetching{};

// A handler of a signal may have cut in: its thread never waits for itself.
bool begin_fetching(bool waits) noexcept {
  const pthread_t self = pthread_self();
  for (pthread_t other{}; !fetching.compare_exchange_weak(other, self); other = {}) {
    if (other == self || (other != pthread_t{} && !waits)) return false;
    sched_yield();
  }
  return true;
}

enum class Why : std::uint8_t { kIfFree, kMust, kLastTime };
void fetch_all(Why why, std::uint64_t ended, unsigned of) noexcept {
  if (!is_any_table() || !begin_fetching(why != Why::kIfFree)) return;
  for_each_table([=](const Table& one) {
    // What an earlier time had to leave is asked for where it would be lost.
    if (!take_flag(one.index()) && why != Why::kLastTime) return;
    const Work work(one.context());
    for (Module* module : launched_modules(one.index(), one.index() == of ? ended : 0)) {
      fetch_reports_of(*module, one, work.ready(), why == Why::kLastTime);
    }
    if (work.ready() && &one == &first_table()) fetch_patch_reports();
  });
  fetching.store({});
}

} // namespace

void fetch_reports(std::uint64_t ended, unsigned table) noexcept {
  fetch_all(Why::kMust, ended, table);
}
void fetch_last_reports() noexcept { fetch_all(Why::kLastTime, 0, 0); }
void try_fetch_reports(std::uint64_t ended, unsigned table) noexcept {
  fetch_all(Why::kIfFree, ended, table);
}

void forget_reports() noexcept {
  fetching.store({});
  forget_launches();
}

void abandon_reports() noexcept {
  fetching.store({});
  abandon_launches();
}

} // namespace gmt::interposer::kernel_checks
