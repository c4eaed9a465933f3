// SPDX-License-Identifier: Apache-2.0
// Each report says whether a GPU would have stopped: an address whose page holds a live block is
// mapped there, so the access goes through on a GPU, unless it is another device's.
#include "simulated_cuda/executor/checks/reports.h"

#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/program/access_strength.h"

#include <algorithm>

namespace gmt::executor {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
constexpr std::uint32_t kIllegalAddress = 700, kLaunchTimeout = 702, kMisalignedAddress = 716,
                        kLaunchFailed = 719;

// The block's first mistake for which a GPU would have stopped is kept.
void note_error(const AccessFacts& facts, std::uint32_t error) {
  Block& block = *facts.warp->block;
  ++block.faults;
  if (block.gpu_error == 0) block.gpu_error = error;
}

} // namespace

Extent thread_extent(const Extent& block, std::uint32_t thread) {
  return {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
}

Location location_of(const Code& code, std::uint32_t source) {
  Location location;
  location.function = code.name;
  if (source == ptx::kNone) return location;
  const ptx::Instruction& instruction = code.body->instructions[source];
  location.ptx_line = code.module->text_line(instruction.text_offset);
  location.instruction = code.module->text().substr(instruction.text_offset, instruction.text_size);
  for (char& c : location.instruction) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  for (const ptx::SourceFrame& frame : code.body->lines.stack(*code.module, instruction.line)) {
    SourceLine line;
    line.function = frame.function;
    line.file = frame.file;
    line.line = frame.line;
    location.lines.push_back(line);
  }
  return location;
}

Location Reports::location(const AccessFacts& facts) const {
  if (facts.code == nullptr || facts.in == nullptr) return {};
  Location location = location_of(*facts.code, facts.in->source);
  const Block& block = *facts.warp->block;
  location.has_thread = true;
  location.block = {block.id[0], block.id[1], block.id[2]};
  location.thread = thread_extent(launch_.block, facts.warp->id * kLanes + facts.lane);
  return location;
}

Reports::Key Reports::key_of(const AccessFacts& facts, ReportKind kind, Weight weight) const {
  if (facts.code == nullptr || facts.in == nullptr) return {nullptr, ptx::kNone, kind, weight};
  const auto found = program_.function_of_linked.find(facts.code->linked);
  const Code* code = found == program_.function_of_linked.end()
                       ? facts.code
                       : program_.functions[found->second].get();
  return {code, facts.in->source, kind, weight};
}

Report* Reports::first(const AccessFacts& facts, ReportKind kind, Weight weight) {
  return first(facts, key_of(facts, kind, weight));
}

Report* Reports::first(const AccessFacts& facts, const Key& key) {
  const std::uint64_t block = facts.warp->block->number;
  const auto [found, is_new] = entries_.try_emplace(key);
  Entry& entry = found->second;
  if (entry.recent.empty() || entry.recent.back().first != block)
    entry.recent.push_back({block, 0});
  ++entry.recent.back().second;
  if (!is_new && entry.first.block <= block) return nullptr;
  entry.first = {block, order_++};
  entry.report = Report{};
  Report& report = entry.report;
  report.kind = key.kind;
  report.location = location(facts);
  report.address = facts.address;
  report.has_address = facts.bytes != 0;
  report.bytes = facts.bytes;
  report.space = facts.space;
  report.access = facts.access;
  return &report;
}

std::uint64_t Reports::Entry::times(std::uint64_t last_block) const {
  std::uint64_t all = settled;
  for (const auto& [block, count] : recent) all += block <= last_block ? count : 0;
  return all;
}

void Reports::settle(std::uint64_t block) {
  if (block == 0) return;
  for (auto& [key, entry] : entries_) {
    entry.settled = entry.times(block - 1);
    std::erase_if(entry.recent, [&](const auto& each) { return each.first < block; });
  }
}

// What lies nearest before or at the address, of shared and local memory and of parameters.
void Reports::set_neighbour(Report& report) const {
  if (report.space == Space::kShared) {
    const SharedVariable* nearest = nullptr;
    for (const SharedVariable& variable : program_.shared) {
      if (variable.offset > report.address) continue;
      if (nearest == nullptr || variable.offset >= nearest->offset) nearest = &variable;
    }
    if (nearest == nullptr) return;
    report.neighbour_begin = nearest->offset;
    report.neighbour_bytes = nearest->is_dynamic ? launch_.dynamic_shared_bytes : nearest->bytes;
    report.neighbour_name = nearest->name;
  } else if (report.space == Space::kParameter) {
    report.neighbour_bytes = launch_.parameters.size();
  }
}

bool Reports::is_mapped(std::uint64_t address) {
  std::uint64_t begin = 0, bytes = 0; // the whole heap of malloc() is mapped
  bool is_freed = false;
  const bool in_heap =
    launch_.heap != nullptr && launch_.heap->block_at(address, &begin, &bytes, &is_freed);
  if (in_heap) return true;
  const Region* region = launch_.memory->region_of(address);
  if (region == nullptr || !launch_.reach.has(*region, address)) return false;
  const std::uint64_t page = address / kPage;
  if (mapped_pages_.size() > 1000) return true;
  const auto [found, is_new] = mapped_pages_.emplace(page, false);
  if (!is_new) return found->second;
  const std::uint64_t from = std::max(page * kPage, region->base);
  const std::uint64_t to = std::min((page + 1) * kPage, region->base + region->bytes);
  for (std::uint64_t at = from / 4 * 4; at < to && !found->second; at += 4)
    found->second =
      at >= region->base && (shadow_at(region->shadow + (at - region->base) / 4) & 0x0f) != 0;
  return found->second;
}

void Reports::refused(const AccessFacts& facts, ByteState state) {
  const bool freed = state == ByteState::kFreed;
  Report* report = first(facts, freed ? ReportKind::kUseAfterFree : ReportKind::kOutOfBounds);
  const bool global = facts.space == Space::kGlobal || facts.space == Space::kGeneric;
  std::uint32_t error = 0;
  if (global && !is_mapped(facts.address)) error = kIllegalAddress;
  // Shared memory is given out by 1 KiB
  const std::uint64_t shared = (facts.warp->block->shared_bytes + 1023) / 1024 * 1024;
  if (facts.space == Space::kShared && facts.address >= shared) error = kIllegalAddress;
  if (error != 0) note_error(facts, error);
  if (report == nullptr) return;
  report->gpu_error = error;
  set_neighbour(*report);
}

void Reports::misaligned(const AccessFacts& facts) {
  if (Report* report = first(facts, ReportKind::kMisaligned)) {
    report->gpu_error = kMisalignedAddress;
    note_error(facts, kMisalignedAddress);
    set_neighbour(*report);
  }
}

void Reports::wrong_rank(const AccessFacts& facts, std::uint64_t rank) {
  note_error(facts, kLaunchFailed);
  Report* report = first(facts, ReportKind::kOutOfBounds);
  if (report == nullptr) return;
  report->gpu_error = kLaunchFailed;
  report->message = "rank " + std::to_string(rank) + " " + std::to_string(launch_.cluster.count());
}

void Reports::outside_texture(const AccessFacts& facts, std::uint32_t error,
                              const std::string& what) {
  wrong_texture(facts, ReportKind::kOutOfBounds, error, what);
}

void Reports::wrong_texture(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
                            const std::string& why) {
  if (error != 0) note_error(facts, error);
  Report* report = first(facts, kind);
  if (report == nullptr) return;
  report->has_address = false;
  report->gpu_error = error;
  report->message = why;
}

void Reports::left_early(const AccessFacts& facts) {
  Report* report = first(facts, ReportKind::kUseAfterFree);
  if (report == nullptr) return;
  report->message = "block may have ended";
  set_neighbour(*report);
}

void Reports::uninitialized(const AccessFacts& facts) {
  if (Report* report = first(facts, ReportKind::kUninitializedRead)) set_neighbour(*report);
}

void Reports::set_other(Report& report, const OtherThread& other) const {
  report.has_other = true;
  if (other.code != nullptr && other.in != nullptr)
    report.other = location_of(*other.code, other.in->source);
  if (other.thread == ~0u) return;
  report.other.has_thread = true;
  report.other.block = report.location.block;
  if (other.block < OtherThread::kNoBlock) {
    report.other.block = position_of(launch_.grid, launch_.cluster, other.block);
  }
  report.other.thread = thread_extent(launch_.block, other.thread);
}

// The load is the location, since what it read can be named; the use is the other one.
void Reports::unwritten_use(const AccessFacts& use, const AccessFacts* load) {
  Report* report = first(load != nullptr ? *load : use, ReportKind::kUninitializedRead);
  if (report == nullptr) return;
  set_neighbour(*report);
  if (load == nullptr) return;
  if (load->bytes == 0) report->message = "no lane";
  report->has_other = true;
  report->other = location(use);
}

// Whether two stores have the same value on purpose: it is a constant in both, or they are copies
// of one line. Else the data of this run alone makes the values equal.
bool Reports::are_alike(const AccessFacts& facts, const OtherThread& other) {
  AccessFacts there = facts;
  there.code = other.code;
  there.in = other.in;
  const auto is_constant = [&](const AccessFacts& store) {
    const Key key = key_of(store, ReportKind::kSharedRace);
    return key.source != ptx::kNone && flag_uses(key.code).is_constant[key.source];
  };
  const bool here_constant = is_constant(facts);
  if (here_constant != is_constant(there)) return false;
  return here_constant || !are_apart(facts, other);
}

void Reports::race(const AccessFacts& facts, const OtherThread& other) {
  if (other.habit == RaceHabit::kSameValue && are_alike(facts, other)) return;
  const bool is_unordered =
    is_volatile(*facts.warp->program, *facts.in) && is_volatile(program_, *other.in);
  const bool is_unsure = is_unordered || other.is_unsure;
  Report* report =
    first(facts, ReportKind::kSharedRace, is_unsure ? Weight::kWarning : Weight::kError);
  if (report == nullptr) return;
  report->other_access = other.access;
  set_other(*report, other);
  set_neighbour(*report);
  if (other.how != nullptr) report->message = other.how;
  if (is_unordered) report->message = "volatile";
  if (!report->message.empty()) return;
  // A line that loads and stores the same bytes, as "++" does: no barrier can stand within it
  if (other.own_load == nullptr) return;
  const Location load = location_of(*other.own_code, other.own_load->source);
  const auto is_same = [](const SourceLine& a, const SourceLine& b) {
    return a.line == b.line && a.file == b.file && a.function == b.function;
  };
  if (!load.lines.empty() && std::ranges::equal(load.lines, report->location.lines, is_same))
    report->message = "read-modify-write";
}

void Reports::never_meet(const AccessFacts& facts, const OtherThread& other, bool whole_block) {
  Report* report =
    first(facts, whole_block ? ReportKind::kDeadlock : ReportKind::kBarrierDivergence);
  const bool is_hang = whole_block && other.code == nullptr; // all wait for more than there are
  if (is_hang) note_error(facts, kLaunchTimeout);
  if (report == nullptr) return;
  if (is_hang) report->gpu_error = kLaunchTimeout;
  if (other.code != nullptr) set_other(*report, other);
}

// Copies of a loop's body stand in one place of the source. Without lines nothing is known.
bool Reports::are_apart(const AccessFacts& facts, const OtherThread& other) {
  const auto [found, is_new] = apart_.try_emplace({facts.in, other.in}, false);
  if (!is_new) return found->second;
  const auto frames = [](const Code& code, const Instruction& in) {
    if (in.source == ptx::kNone) return std::vector<ptx::SourceFrame>();
    return code.body->lines.stack(*code.module, code.body->instructions[in.source].line);
  };
  const auto is_same = [](const ptx::SourceFrame& a, const ptx::SourceFrame& b) {
    return a.line == b.line && a.column == b.column && a.file == b.file && a.function == b.function;
  };
  const auto here = frames(*facts.code, *facts.in), there = frames(*other.code, *other.in);
  found->second = !here.empty() && !there.empty() && !std::ranges::equal(here, there, is_same);
  return found->second;
}

void Reports::meets_elsewhere(const AccessFacts& facts, const OtherThread& other) {
  if (!are_apart(facts, other)) return;
  Report* report = first(facts, ReportKind::kBarrierDivergence, Weight::kWarning);
  if (report == nullptr) return;
  report->message = "apart";
  set_other(*report, other);
}

void Reports::left_out(const AccessFacts& facts, const OtherThread& other) {
  Report* report = first(facts, ReportKind::kBarrierDivergence, Weight::kNote);
  if (report == nullptr) return;
  report->message = "ended";
  set_other(*report, other);
}

void Reports::wrong_mask(const AccessFacts& facts, const char* how) {
  Report* report = first(facts, ReportKind::kIllegalInstruction, Weight::kWarning);
  if (report != nullptr) report->message = how;
}

void Reports::ends(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
                   const std::string& message) {
  Report* report = first(facts, kind);
  if (kind == ReportKind::kAssert)
    messages_.push_back({{facts.warp->block->number, order_++}, message + "\n"});
  if (report == nullptr) return;
  report->message = message;
  if (kind == ReportKind::kInvalidJump) {
    report->has_address = true;
    report->address = facts.address;
  }
  report->gpu_error = error;
  note_error(facts, error);
}

} // namespace gmt::executor
