// SPDX-License-Identifier: Apache-2.0
// Numbers of exceptions are those of cudadebugger.h.
#include "analyzer/detectors/shared/faults/dump_fault.h"

#include <algorithm>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/fault_words.h"

namespace gmt {
namespace {

using Evidence = DumpFault::Evidence;

constexpr std::size_t kMostCandidates = 3; // launches

enum Exception : std::uint32_t {
  kLaneIllegal = 1,
  kOutOfRange = 5,
  kWarpMisaligned = 6,
  kDeviceIllegal = 10,
  kLaneMisaligned = 11,
  kWarpIllegal = 14,
};

bool is_misaligned(const DumpFault& f) {
  return f.exception == kWarpMisaligned || f.exception == kLaneMisaligned;
}

Extents index_of(std::uint32_t linear, const Extents& block) {
  const std::uint32_t x = std::max(1u, block[0]), y = std::max(1u, block[1]);
  return {linear % x, linear / x % y, linear / x / y};
}

// Bytes from `address` to the next one with this low half.
std::uint64_t distance(std::uint64_t address, std::uint32_t low) {
  return low - static_cast<std::uint32_t>(address);
}

// Of some address in the block.
bool has_low_half(const Block& block, std::uint32_t low) {
  return distance(block.address, low) < block.bytes;
}

// "04200020"
std::string half_words(std::uint64_t address) {
  return format_address((address & UINT32_MAX) | std::uint64_t{1} << 32).substr(3);
}

} // namespace

DumpVerdict::DumpVerdict(const DumpFault& fault, const Heap& heap, const ProcessFacts& facts)
    : fault_(fault), facts_(facts),
      launches_(launch_candidates({fault.kernel, fault.grid, fault.block, fault.grid_id}, facts,
                                  heap, kMostCandidates)),
      heap_{heap, launches_.empty() ? UINT64_MAX : launches_.front().launch->order} {
  if (is_global() && (is_illegal_address() || is_misaligned(fault))) find_suspects();
}

bool DumpVerdict::is_global() const {
  return fault_.space == "global" || fault_.space == "generic";
}

bool DumpVerdict::is_illegal_address() const {
  return fault_.exception == kLaneIllegal || fault_.exception == kDeviceIllegal ||
         fault_.exception == kWarpIllegal;
}

void DumpVerdict::find_suspects() {
  for (const DumpLanes& run : fault_.addresses) {
    for (std::uint32_t i = 0; i < run.count; ++i) weigh(run.address_of(i), run, i);
  }
  if (first_bad_) around_ = memory_around(first_bad_->address, std::max(1u, fault_.bytes), heap_);
  if (first_bad_ && around_.block == nullptr)
    stray_ = stray_address(first_bad_->address, std::max(1u, fault_.bytes), heap_, facts_);
  if (known_ == 0 && is_illegal_address()) find_half_suspect();
}

// Nothing is inferred where several launches or blocks fit, or none does.
void DumpVerdict::find_half_suspect() {
  if (fault_.low_halves.empty() || launches_.size() != 1) return;
  const GivenMemory blocks = given();
  std::uint64_t bad = 0;
  std::optional<Suspect> first;
  for (const DumpLanes& run : fault_.low_halves) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const auto low = static_cast<std::uint32_t>(run.address_of(i));
      if (std::ranges::any_of(blocks.live, [low](const Block* b) { return has_low_half(*b, low); }))
        continue; // it may be inside of that
      const std::optional<std::uint64_t> whole = only_address_near(blocks, low);
      if (!whole) return;
      ++bad;
      if (!first || first->address > *whole)
        first = {*whole, run.block, index_of(run.first_thread + i, fault_.block)};
    }
  }
  if (!first) return;
  first_bad_ = first;
  bad_ = bad;
  is_half_ = true;
  around_ = memory_around(first->address, std::max(1u, fault_.bytes), heap_);
}

// The address with this low half in a freed block or next to a live one, if there is just one.
std::optional<std::uint64_t> DumpVerdict::only_address_near(const GivenMemory& blocks,
                                                            std::uint32_t low) const {
  std::vector<std::uint64_t> whole;
  for (const Block* block : blocks.freed) {
    if (has_low_half(*block, low)) whole.push_back(block->address + distance(block->address, low));
  }
  for (const Block* block : blocks.live) {
    const std::uint64_t end = block->address + block->bytes;
    const std::uint64_t behind = distance(end, low);
    const std::uint64_t before = UINT32_MAX - distance(block->address, low) + 1;
    if (behind <= kFarthestNeighbour) whole.push_back(end + behind);
    else if (before <= kFarthestNeighbour) whole.push_back(block->address - before);
  }
  std::erase_if(whole, [this](std::uint64_t address) { return is_live(address, 1, heap_); });
  std::ranges::sort(whole);
  whole.erase(std::unique(whole.begin(), whole.end()), whole.end());
  return whole.size() == 1 ? std::optional(whole[0]) : std::nullopt;
}

void DumpVerdict::weigh(std::uint64_t address, const DumpLanes& run, std::uint32_t i) {
  ++known_;
  const std::uint32_t bytes = std::max(1u, fault_.bytes);
  const bool bad = is_misaligned(fault_) ? address % bytes != 0 : !is_live(address, bytes, heap_);
  if (!bad && unreached_ == nullptr && is_illegal_address()) {
    const Block* block = live_at(address, heap_);
    if (is_out_of_reach(block)) unreached_ = block;
  }
  if (!bad) return;
  ++bad_;
  if (first_bad_ && first_bad_->address <= address) return;
  first_bad_ = {address, run.block, index_of(run.first_thread + i, fault_.block)};
}

int DumpVerdict::device() const {
  if (launches_.size() != 1 || !launches_.front().is_one_context) return -1;
  // Before a process has a second context its calls name none.
  const std::uint16_t context = launches_.front().launch->context;
  return heap_.heap.device_of_context(context != 0 ? context : 1);
}

bool DumpVerdict::is_out_of_reach(const Block* block) const {
  if (block == nullptr || !facts_.records_access()) return false;
  const bool has_no_list = block->memory_kind == trace::MemoryKind::kDevice ||
                           block->memory_kind == trace::MemoryKind::kPitched;
  const int own = device(), owner = heap_.heap.device_of(*block);
  const PeerAccess& peers = heap_.heap.cuda().peers;
  return has_no_list && own >= 0 && owner >= 0 && own != owner && !peers.is_unknown() &&
         !peers.is_open(own, owner);
}

Text DumpVerdict::reach_words(const Block& block) const {
  return {describe_block(block, facts_), out_of_reach(device(), heap_.heap.device_of(block))};
}

std::string_view DumpVerdict::kind() const {
  if (fault_.exception == DumpFault::kAssert) return fault_kinds::kAssert;
  if (is_misaligned(fault_)) return fault_kinds::kMisaligned;
  if (fault_.exception == kOutOfRange && fault_.space == "shared") return fault_kinds::kOutOfBounds;
  if (!is_illegal_address() || !first_bad_) return fault_kinds::kFault;
  return around_.where == MemoryAround::Where::kFreed ? fault_kinds::kUseAfterFree
                                                      : fault_kinds::kOutOfBounds;
}

// Of the threads that the dump has, how many may have done it.
std::string DumpVerdict::thread_words() const {
  if (known_ <= 1) return {};
  return cat({"; so do ", bad_ == known_ ? "all" : format_count(bad_), " of the ",
              format_count(known_), " threads whose address is known"});
}

Text DumpVerdict::address_words() const {
  const std::string verb = access_verb(fault_.operation, fault_.bytes, fault_.space);
  const std::string start =
    cat({kernel_words(fault_.kernel), " ", verb, " at ", format_address(first_bad_->address)});
  if (is_half_) {
    return {kernel_words(fault_.kernel),
            " ",
            verb,
            ", most likely ",
            describe(around_, facts_),
            cat({": its address ends in ", half_words(first_bad_->address),
                 ", which fits no other memory that the launch was given"})};
  }
  if (is_misaligned(fault_)) {
    const bool is_known = around_.block != nullptr;
    return {start, ", which is no multiple of ", std::to_string(fault_.bytes),
            is_known ? Text{", ", describe(around_, facts_)} : Text(), thread_words()};
  }
  if (around_.block == nullptr)
    return {start, describe(stray_, first_bad_->address, facts_), thread_words()};
  return {start, ", ", describe(around_, facts_), thread_words()};
}

Text DumpVerdict::message() const {
  const std::string kernel = kernel_words(fault_.kernel);
  const std::string source = source_words(fault_.lines, fault_.offset);
  const std::string at = source.empty() ? std::string() : cat({" at ", source});
  const std::string_view what = exception_words(fault_.exception);
  if (fault_.exception == DumpFault::kAssert)
    return cat({"An assert in ", kernel, at, " failed", fault_.condition.empty() ? "" : ": ",
                fault_.condition});
  if (fault_.exception == DumpFault::kNone) {
    if (fault_.evidence == Evidence::kStopped) return cat({kernel, " stopped", at, " by a trap"});
    return cat({kernel, " was stopped, and the GPU recorded no exception, as after a trap"});
  }
  if (fault_.operation.empty()) return cat({kernel, " met a fault", at, ": ", what});
  const std::string access = access_noun(fault_.operation, fault_.bytes);
  if (fault_.exception == kOutOfRange)
    return cat({"A ", access, " of ", kernel, at, " lies outside of ",
                fault_.space == "shared" ? "the shared memory of its block"
                                         : "the local memory of its thread"});
  if (unreached_ != nullptr)
    return {cat({"A ", access, " of ", kernel, at, " met a fault (", what,
                 "); threads that are left of it use "}),
            reach_words(*unreached_)};
  const std::string why = known_ != 0
                            ? "the threads that are left of it use memory that is allocated"
                            : "no address of it is recorded";
  return cat({"A ", access, " of ", kernel, at, " met a fault (", what, "); ", why});
}

void DumpVerdict::add_launches(Finding& f) const {
  if (launches_.size() > 1)
    f.message += cat({"; ", launches_.size() == kMostCandidates ? "at least " : "",
                      std::to_string(launches_.size()), " lines may have launched it"});
  for (const LaunchCandidate& candidate : launches_) add_stacks(f, candidate, facts_);
}

namespace {

// Of the memory that the kernel has pointers into.
std::vector<std::uint64_t> given_addresses(const LaunchCandidate& candidate) {
  if (candidate.made == nullptr) return candidate.launch->given;
  std::vector<std::uint64_t> addresses;
  for (const Argument word : candidate.made->pointers) addresses.push_back(word.address());
  return addresses;
}

} // namespace

GivenMemory DumpVerdict::given() const {
  return memory_at(given_addresses(launches_.front()), heap_);
}

void DumpVerdict::add_given_blocks(Finding& f) const {
  const bool is_lost = is_global() && is_illegal_address() && !first_bad_ && !unreached_;
  if (!is_lost || launches_.size() != 1) return;
  GivenMemory blocks = given();
  const auto far =
    std::ranges::find_if(blocks.live, [this](const Block* b) { return is_out_of_reach(b); });
  if (far != blocks.live.end()) {
    f.message += {"; its launch was given ", reach_words(**far)};
    f.advice = advice_on_reach(device(), heap_.heap.device_of(**far));
    f.message += given_words({{}, blocks.freed}, "its launch", facts_);
  } else {
    f.message += given_words(blocks, "its launch", facts_);
  }
  add_stacks(f.stacks, blocks, facts_);
}

FaultEvidence DumpVerdict::evidence(std::string_view kind) const {
  FaultEvidence e;
  e.kind = kind;
  if (!is_global()) e.space = fault_.space;
  e.around = around_;
  e.stray = stray_;
  if (first_bad_) e.address = first_bad_->address;
  e.bytes = fault_.bytes;
  e.count = std::max<std::uint64_t>(1, bad_);
  e.grid = fault_.grid;
  e.block = fault_.block;
  if (around_.where == MemoryAround::Where::kBehind) e.past = around_.distance;
  if (around_.where == MemoryAround::Where::kBefore) e.before = around_.distance;
  return e;
}

Finding DumpVerdict::finding() const {
  Finding f;
  f.kind = kind();
  f.message = first_bad_ ? address_words() : message();
  f.advice = unreached_ != nullptr && !first_bad_
               ? advice_on_reach(device(), heap_.heap.device_of(*unreached_))
               : advice_on(evidence(f.kind));
  const bool is_assert = fault_.exception == DumpFault::kAssert;
  if (is_assert && fault_.condition.empty())
    f.advice += " CUDA has printed its text, with block and thread, to the program's stderr.";
  if (is_half_)
    f.advice += " The GPU's core dump is certain about the instruction and the low half of the "
                "address; the load overwrote the register that held the rest.";
  else if (first_bad_)
    f.advice += " The GPU's core dump is certain about the instruction; the thread and the address "
                "are inferred from the registers that it has.";
  if (fault_.lines.empty() && fault_.offset) f.advice += " Compile with -lineinfo to see the line.";
  f.count = std::max<std::uint64_t>(1, is_assert ? fault_.threads : bad_);
  FindingStack where =
    kernel_stack(StackRole::kAccessed, fault_.kernel, fault_.function, fault_.lines);
  const bool stopped = fault_.evidence == Evidence::kStopped;
  if (first_bad_) {
    if (!is_half_) f.address = first_bad_->address;
    where.device->block = first_bad_->block;
    where.device->thread = first_bad_->thread;
  } else if (fault_.failed_block && fault_.failed_thread) {
    where.device->block = fault_.failed_block;
    where.device->thread = fault_.failed_thread;
  } else if (fault_.evidence == Evidence::kWarp || stopped) {
    where.device->block = fault_.only_block;
    if (fault_.only_block) where.device->thread = fault_.only_thread;
  }
  if (fault_.operation.empty()) where.role = StackRole::kFailed;
  const bool exact = fault_.evidence == Evidence::kWarp && !first_bad_;
  f.fault = DeviceFault{.source = DeviceFault::Source::kCoreDump,
                        .certainty = exact ? DeviceFault::Certainty::kExact
                                           : DeviceFault::Certainty::kInferred,
                        .thread = *where.device,
                        .instruction = fault_.offset,
                        .operation = fault_.operation,
                        .space = fault_.space,
                        .width = fault_.bytes};
  f.stacks.push_back(std::move(where));
  add_launches(f);
  if (first_bad_) {
    add_stacks(f.stacks, around_, facts_);
    add_stacks(f.stacks, stray_.meant, facts_);
  }
  if (!first_bad_ && unreached_ != nullptr)
    f.stacks.push_back(allocation_stack(*unreached_, facts_));
  add_given_blocks(f);
  f.group = cat({fault_.function, " ", fault_.offset ? format_address(*fault_.offset) : "", " ",
                 std::to_string(fault_.exception)});
  return f;
}

} // namespace gmt
