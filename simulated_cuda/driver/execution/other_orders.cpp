// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/other_orders.h"

#include "simulated_cuda/driver/state/state.h"

#include <algorithm>
#include <cstring>

namespace gmt::sim {
namespace {

using executor::Report;
using executor::ReportKind;

constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 20; // that are kept twice

bool is_race(const Report& report) {
  if (report.kind == ReportKind::kGlobalRace) return report.message.empty();
  return report.kind == ReportKind::kSharedRace && report.message != "volatile";
}

std::uint8_t* states_at(std::uint64_t address, std::uint64_t bytes, std::byte** host) {
  const executor::Region* region = state().memory.region_of(address);
  if (region == nullptr || !region->holds(address, bytes)) return nullptr;
  *host = region->at(address);
  return region->shadow + (address - region->base) / 4;
}

std::uint64_t words_of(std::uint64_t address, std::uint64_t bytes) {
  return (address % 4 + bytes + 3) / 4;
}

// Additions of floats by several threads give other sums in another order, and no mistake.
bool is_order_open(const executor::Outcome& outcome) {
  return std::ranges::any_of(outcome.inexact, [](const executor::Inexact& each) {
    return each.feature.starts_with("atom.") || each.feature.starts_with("red.");
  });
}

} // namespace

void OtherOrders::Listener::report(const Report& report) {
  if (!saw_race && is_race(report)) {
    saw_race = true;
    race = report;
  }
  if (to != nullptr) to->report(report);
}
void OtherOrders::Listener::heap_event(const executor::HeapEvent& event) {
  if (to != nullptr) to->heap_event(event);
}
void OtherOrders::Listener::print(const std::string& text) {
  if (to != nullptr) to->print(text);
}
void OtherOrders::Listener::print_error(const std::string& text) {
  if (to != nullptr) to->print_error(text);
}
bool OtherOrders::Listener::progress(std::uint64_t done, std::uint64_t blocks, double seconds) {
  return asks == nullptr || asks->progress(done, blocks, seconds);
}

OtherOrders::OtherOrders(const executor::Launch& launch, std::uint64_t orders)
    : launch_(launch), orders_(orders) {
  if (orders_ < 2) return;
  if (launch_.checks == executor::Checks::kNone) why_not_ = "--device-checks none was given";
  else if (launch_.heap != nullptr) why_not_ = "its code calls malloc() or free()";
  else look_at_code();
  if (why_not_.empty()) find_pieces();
  if (!why_not_.empty()) return;
  before_ = kept();
}

void OtherOrders::look_at_code() {
  const executor::Ability ability = executor::examine(*launch_.module, *launch_.kernel);
  if (ability.writes_surfaces) why_not_ = "it writes to surfaces";
  if (ability.launches_kernels) why_not_ = "it launches kernels or sets conditions of graphs";
}

void OtherOrders::find_pieces() {
  std::uint64_t all = 0;
  const auto add = [&](const Block& block) {
    std::byte* host = nullptr;
    if (states_at(block.base, block.size, &host) == nullptr) return;
    const std::pair<std::uint64_t, std::uint64_t> range{block.base, block.size};
    if (std::ranges::find(ranges_, range) != ranges_.end()) return;
    ranges_.push_back(range);
    all += block.size;
  };
  std::vector<std::uint64_t> pointers;
  bool is_known = executor::written_pointers(launch_, &pointers);
  for (const std::uint64_t pointer : pointers) {
    const Block* block = state().blocks.containing(pointer);
    is_known = is_known && block != nullptr && block->kind != BlockKind::kVmm;
    if (is_known) add(*block);
  }
  if (!is_known) state().blocks.for_each([&](Block& block) { add(block); });
  if (all > kMostBytes) why_not_ = "it may write more than 512 MiB";
}

std::vector<OtherOrders::Piece> OtherOrders::kept() const {
  std::vector<Piece> pieces;
  for (const auto& [address, bytes] : ranges_) {
    std::byte* host = nullptr;
    const std::uint8_t* states = states_at(address, bytes, &host);
    pieces.push_back({address, {host, host + bytes}, {states, states + words_of(address, bytes)}});
  }
  return pieces;
}

void OtherOrders::restore(const std::vector<Piece>& pieces) const {
  for (const Piece& piece : pieces) {
    std::byte* host = nullptr;
    std::uint8_t* states = states_at(piece.address, piece.bytes.size(), &host);
    std::ranges::copy(piece.bytes, host);
    std::ranges::copy(piece.states, states);
  }
}

executor::Observer& OtherOrders::listen(executor::Observer& observer) {
  if (before_.empty()) return observer;
  listener_.to = listener_.asks = &observer;
  return listener_;
}

OtherOrders::Difference OtherOrders::run_in(std::uint64_t seed, std::uint64_t mixed_blocks) {
  restore(before_);
  Listener listener;
  listener.asks = listener_.asks;
  executor::Launch launch = launch_;
  launch.seed = seed;
  launch.mixed_blocks = mixed_blocks;
  launch.workers = 1;
  launch.accesses = nullptr;
  if (seconds_ != 0) launch.limits.seconds = std::max(1.0, 10 * seconds_);
  const executor::Outcome outcome = executor::run(launch, listener);
  Difference found;
  is_ended_ = outcome.end == executor::End::kStopped && outcome.seconds < launch.limits.seconds;
  if (is_ended_) return found;
  found.is_race = listener.saw_race;
  found.race = listener.race;
  if (!compares_ || outcome.end != executor::End::kDone || is_order_open(outcome)) return found;
  for (const Piece& piece : after_) {
    std::byte* host = nullptr;
    states_at(piece.address, piece.bytes.size(), &host);
    const auto differs = std::mismatch(piece.bytes.begin(), piece.bytes.end(), host).first;
    if (differs == piece.bytes.end()) continue;
    found.differs = true;
    found.address = piece.address + static_cast<std::uint64_t>(differs - piece.bytes.begin());
    break;
  }
  return found;
}

// The fewest blocks at the beginning whose order must be another one: others have theirs as they
// are numbered.
std::uint64_t OtherOrders::shortest(std::uint64_t seed, bool is_race) {
  std::uint64_t least = 0, most = launch_.grid.count(); // it is known to be shown by `most`
  while (most - least > 1 && !is_ended_) {
    const std::uint64_t middle = least + (most - least) / 2;
    const Difference found = run_in(seed, middle);
    (is_race ? found.is_race : found.differs) ? most = middle : least = middle;
  }
  return most;
}

void OtherOrders::say(const Difference& found, std::uint64_t seed, std::uint64_t mixed_blocks,
                      executor::Observer& observer) const {
  Report report = found.race;
  if (!found.is_race) {
    report.kind = ReportKind::kGlobalRace;
    report.space = executor::Space::kGlobal;
    report.access = executor::Access::kStore;
    report.location.function = launch_.kernel->name;
    report.address = found.address;
    report.has_address = true;
    report.bytes = 1;
  }
  report.message = std::string(found.is_race ? "order " : "result ") + std::to_string(seed) + " " +
                   std::to_string(mixed_blocks);
  report.gpu_error = 0;
  observer.report(report);
}

void OtherOrders::run(const executor::Outcome& own, executor::Observer& observer) {
  if (before_.empty()) return;
  if (own.end != executor::End::kDone || listener_.saw_race) return;
  compares_ = !is_order_open(own);
  after_ = kept();
  seconds_ = own.seconds;
  for (std::uint64_t i = 1; i < orders_; ++i) {
    const std::uint64_t seed = launch_.seed + i;
    Difference found = run_in(seed, launch_.grid.count());
    if (is_ended_) break;
    if (!found.any()) continue;
    std::uint64_t mixed_blocks = shortest(seed, found.is_race);
    if (is_ended_) mixed_blocks = launch_.grid.count();
    else found = run_in(seed, mixed_blocks);
    say(found, seed, mixed_blocks, observer);
    break;
  }
  restore(after_);
}

} // namespace gmt::sim
