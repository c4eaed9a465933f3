// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/workers/stillness.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/mbarrier.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

namespace gmt::executor {
namespace {

// The workspace holds nothing but the barriers of grids.
constexpr const char* kGridBarrier = "blocks wait at a barrier of the grid that others never reach";
constexpr std::uint32_t kMostBytes = 32; // of one store: an element, or a vector of them

// For the phase of an mbarrier to be over, in words.
std::string what_is_missing(const Block& block, std::uint64_t object) {
  if (object + sizeof(std::uint64_t) > block.shared_bytes) return {};
  std::uint64_t value;
  std::memcpy(&value, block.shared + object, sizeof value);
  const Mbarrier barrier(value);
  if (barrier.bytes > 0)
    return "the mbarrier that it polls expects " + std::to_string(barrier.bytes) +
           " bytes more than copies have brought";
  if (barrier.bytes < 0)
    return "copies have brought " + std::to_string(-barrier.bytes) +
           " bytes more than the mbarrier that it polls expects";
  const std::string arrivals = barrier.pending == 1 ? " arrival more" : " arrivals more";
  return "the mbarrier that it polls waits for " + std::to_string(barrier.pending) + arrivals;
}

std::uint32_t guarded_lanes(const Warp& w, const Instruction* in) {
  if (in->guard == kNoOperand) return w.mask;
  std::uint32_t predicate;
  std::memcpy(&predicate, w.base[in->guard >> 31] + (in->guard & 0x7fffffffu), sizeof predicate);
  return w.mask & (predicate ^ in->flip);
}

std::uint64_t address_of(const Warp& w, const Instruction* in, std::uint32_t operand,
                         std::uint32_t lane, bool is_narrow) {
  std::uint64_t address = 0;
  if (operand != kNoOperand) {
    const std::size_t bytes = is_narrow ? 4 : 8;
    std::memcpy(&address, w.base[operand >> 31] + (operand & 0x7fffffffu) + lane * bytes, bytes);
  }
  return address + static_cast<std::uint64_t>(in->immediate);
}

} // namespace

Stillness::Form Stillness::form_of(const Shape& shape) {
  using Effects = Shape::Memory;
  Form form;
  form.space = Space::kGeneric;
  if (shape.space == ptx::Space::kShared) form.space = Space::kShared;
  if (shape.space == ptx::Space::kGlobal) form.space = Space::kGlobal;
  form.is_narrow = shape.is_narrow;
  form.is_special = shape.kind == Shape::Kind::kSpecialRegister;
  const bool is_own = shape.space == ptx::Space::kLocal || shape.space == ptx::Space::kParam;
  switch (shape.memory) {
  case Effects::kNone:
  case Effects::kFrameLoad:
  case Effects::kFrameStore: form.effect = Effect::kNone; break;
  case Effects::kLoad: form.effect = is_own ? Effect::kNone : Effect::kLoad; break;
  case Effects::kStore: form.effect = is_own ? Effect::kNone : Effect::kStore; break;
  case Effects::kAtomic:
    form.effect = Effect::kAtomic;
    form.names_space = true;
    break;
  case Effects::kWait:
    form.effect = Effect::kAtomic;
    form.space = Space::kShared;
    break;
  case Effects::kUnknown: form.effect = Effect::kUnknown; break;
  }
  return form;
}

const std::vector<Stillness::Form>& Stillness::forms_of(const Program& program) {
  std::vector<Form>& forms = forms_[&program];
  while (forms.size() < program.shapes.size())
    forms.push_back(form_of(program.shapes[forms.size()]));
  return forms;
}

// A load or an atomic at an address: whether others than the grid may change what it finds there.
void Stillness::look(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                     std::uint64_t address, bool is_first) {
  space = resolve(space, &address);
  if (is_first) polls_[&w] = {in, w.frame->code, lane, space, address};
  if (space != Space::kGlobal) return;
  const Region* region = w.grid->memory->region_of(address);
  if (region == nullptr || region->base == kWorkspaceBase) return;
  if (region->is_host) worker_.run->changed();
  else worker_.run->polled();
}

void Stillness::keep(Warp& w, Space space, std::uint64_t address) {
  space = resolve(space, &address);
  Cell cell;
  if (space == Space::kShared) {
    if (address >> Cluster::kRankShift != 0) worker_.run->changed(); // of another block
    if (address >= w.block->shared_bytes) return;
    cell.at = w.block->shared + address;
    cell.bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kMostBytes, w.block->shared_bytes - address));
  } else if (space == Space::kGlobal) {
    const Region* region = w.grid->memory->region_of(address);
    if (region == nullptr) return; // the access will be refused
    cell.at = region->at(address);
    cell.bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kMostBytes, region->base + region->bytes - address));
  } else {
    return; // local memory is a part of the state
  }
  std::memcpy(cell.old.data(), cell.at, cell.bytes);
  cells_.push_back(cell);
}

const Instruction* Stillness::access(Warp& w, const Instruction* in, const Form& form) {
  const bool is_atomic = form.effect == Effect::kAtomic;
  Space space = form.space;
  if (form.names_space) {
    const auto named = static_cast<ptx::Space>(in->extra & 0x3f);
    if (named == ptx::Space::kShared) space = Space::kShared;
    if (named == ptx::Space::kLocal) space = Space::kLocal;
  }
  cells_.clear();
  auto& accessed = accessed_[&w];
  const std::uint32_t lanes = guarded_lanes(w, in);
  for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    accessed[lane] = watched_;
    const std::uint32_t operand = in->r[is_atomic ? 1 : 4];
    const std::uint64_t address = address_of(w, in, operand, lane, form.is_narrow);
    if (form.effect != Effect::kStore) look(w, in, lane, space, address, m == lanes);
    if (form.effect != Effect::kLoad) keep(w, space, address);
  }
  const Instruction* next = in->go(w, in);
  // Bytes beside the store's are looked at too: a change of them is one as well
  const bool is_changed = std::any_of(cells_.begin(), cells_.end(), [](const Cell& cell) {
    return std::memcmp(cell.at, cell.old.data(), cell.bytes) != 0;
  });
  if (is_changed) worker_.run->changed();
  return next;
}

void Stillness::run_warp(Warp& w, const Instruction* in) {
  std::uint64_t instructions = 0, lanes = 0;
  while (in != nullptr) {
    instructions += in->shown;
    lanes += in->shown != 0 ? w.active : 0;
    const Form form = forms_of(*w.program)[in->form];
    const bool asks_time =
      form.is_special && ptx::is_time(static_cast<ptx::SpecialRegister>(in->extra));
    const bool is_new =
      form.effect == Effect::kUnknown || (asks_time && !states_.ignores_time(w, in));
    if (is_new) worker_.run->changed();
    const bool is_access = form.effect != Effect::kUnknown && form.effect != Effect::kNone;
    in = is_access ? access(w, in, form) : in->go(w, in);
  }
  worker_.instructions += instructions;
  worker_.lane_instructions += lanes;
}

void Stillness::begin() {
  worker_.stillness = this;
  watched_ = 0;
  worker_.run->changed(); // what it did before was not watched
  since_ = worker_.run->moment();
  forget();
  polls_.clear();
  accessed_.clear();
}

void Stillness::end() {
  worker_.stillness = nullptr;
  worker_.still_since.store(Worker::kBusy);
}

void Stillness::forget() {
  seen_.clear();
  repeated_.clear();
  worker_.still_since.store(Worker::kBusy);
}

void Stillness::progress() {
  if (worker_.stillness != nullptr) end();
  rounds_ = 0;
  next_ = kFirst;
  most_ = kFewest;
}

// Whether each thread that looks at the time has accessed memory since the end of that round.
bool Stillness::has_come_round(const Block& block, std::uint64_t round) const {
  for (std::size_t i = 0; i < in_loops_.size(); ++i) {
    if (in_loops_[i] == 0) continue;
    const auto steps = accessed_.find(block.warps[i].get());
    if (steps == accessed_.end()) return false;
    for (std::uint32_t m = in_loops_[i]; m != 0; m &= m - 1) {
      if (steps->second[static_cast<std::size_t>(__builtin_ctz(m))] <= round) return false;
    }
  }
  return true;
}

bool Stillness::after_round(const std::vector<std::unique_ptr<Block>>& blocks, bool may_add) {
  GridRun& run = *worker_.run;
  if (run.has_fault()) return false; // which ends it, and gives loads other values
  if (worker_.stillness == nullptr) {
    if (++rounds_ >= next_ && !may_add) begin();
    return false;
  }
  if (const std::uint64_t now = run.moment(); now != since_) {
    since_ = now;
    forget();
  }
  for (const auto& block : blocks) {
    const BlockStates::State state = states_.of(*block, in_loops_);
    const auto [at, is_new] = seen_[block->number].try_emplace(state, watched_);
    if (!is_new && has_come_round(*block, at->second)) repeated_.insert(block->number);
  }
  if (repeated_.size() == blocks.size()) {
    worker_.still_since.store(since_);
    if (!run.is_still(since_, worker_.grid->launch->others_may_write)) return false;
    if (run.is_first_to_report_hang()) report(blocks);
    return true;
  }
  if (++watched_ < most_) return false;
  end();
  next_ = 4 * rounds_;
  most_ = std::min(2 * most_, kMost);
  return false;
}

// A thread that polls; else one that only goes round.
void Stillness::report(const std::vector<std::unique_ptr<Block>>& blocks) const {
  const auto alive = std::ranges::find_if(blocks, [](const auto& block) { return !block->done; });
  const Block& shown = alive == blocks.end() ? *blocks.front() : **alive; // of a cluster
  AccessFacts facts = shown.standing();
  std::string why;
  for (const auto& warp : shown.warps) {
    const auto poll = polls_.find(warp.get());
    if (warp->alive == 0 || poll == polls_.end()) continue;
    facts.warp = warp.get();
    facts.in = poll->second.in;
    facts.code = poll->second.code;
    facts.lane = poll->second.lane;
    facts.access = Access::kLoad;
    facts.space = poll->second.space;
    facts.address = poll->second.address;
    const Region* region =
      facts.space == Space::kGlobal ? warp->grid->memory->region_of(facts.address) : nullptr;
    const Shape& shape = warp->program->shapes[facts.in->form];
    if (shape.memory == Shape::Memory::kWait) why = what_is_missing(shown, facts.address);
    if (region != nullptr && region->base == kWorkspaceBase) why = kGridBarrier;
    else facts.bytes = 1; // that it has an address
    break;
  }
  if (worker_.run->has_blocks_left() && why.empty()) why = "no room";
  constexpr std::uint32_t kLaunchTimeout = 702;
  worker_.checks->ends(facts, ReportKind::kHang, kLaunchTimeout, why);
}

} // namespace gmt::executor
