// SPDX-License-Identifier: Apache-2.0
// A race in global memory is one whichever side comes first, and that depends on the workers. So
// the side that writes is the location, or of two the one with the lower number.
#include "simulated_cuda/executor/checks/reports.h"
#include "simulated_cuda/executor/machine/earlier_launches.h"
#include "simulated_cuda/executor/program/access_strength.h"

#include <string>
#include <utility>

namespace gmt::executor {
namespace {

std::string message_of(RaceHabit habit) {
  switch (habit) {
  case RaceHabit::kSameValue: return "same value";
  case RaceHabit::kPoll: return "poll";
  case RaceHabit::kFlag: return "flag";
  case RaceHabit::kRelaxed: return "relaxed";
  case RaceHabit::kNone: break;
  }
  return {};
}

} // namespace

const ptx::FlagUses& Reports::flag_uses(const Code* code) {
  const auto [found, is_new] = flag_uses_.try_emplace(code);
  if (is_new) found->second = ptx::flag_uses_of(*code->body);
  return found->second;
}

// `load` and `store` are plain.
bool Reports::is_flag(const Key& load, const Key& store) {
  return flag_uses(load.code).is_test[load.source] && flag_uses(store.code).is_raise[store.source];
}

// A load that meets a store, of which one is plain and the other one is not: a strong load may go
// on with the value that it has waited for. Without its text nothing is known.
bool Reports::is_poll(const Key& load, bool is_plain) {
  if (load.source == ptx::kNone) return true;
  const ptx::FlagUses& uses = flag_uses(load.code);
  return (is_plain ? uses.is_poll : uses.is_looked_at)[load.source];
}

// That launch came first, and has numbers of its own for its instructions and blocks.
void Reports::race_with_earlier(const AccessFacts& facts, const OtherThread& other) {
  const EarlierLaunch& earlier = *other.earlier;
  Key key = key_of(facts, ReportKind::kGlobalRace);
  key.other_code = other.code;
  key.other_source = other.in->source;
  Report* report = first(facts, key);
  if (report == nullptr) return;
  report->message = std::string(other.how) + std::to_string(earlier.call) + " " + earlier.kernel;
  report->has_other = true;
  report->other = location_of(*other.code, other.in->source);
  report->other_access = other.access;
  if (other.thread == ~0u) return;
  report->other.has_thread = true;
  report->other.block = position_of(earlier.grid, earlier.cluster, other.block);
  report->other.thread = thread_extent(earlier.block, other.thread);
}

void Reports::global_race(const AccessFacts& facts, const OtherThread& other) {
  if (other.earlier != nullptr) return race_with_earlier(facts, other);
  AccessFacts there = facts;
  there.code = other.code;
  there.in = other.in;
  const bool writes = facts.access != Access::kLoad;
  const bool is_first =
    writes == (other.access != Access::kLoad) ? facts.in->number <= other.in->number : writes;
  const Key here_key = key_of(facts, ReportKind::kGlobalRace);
  const Key other_key = key_of(there, ReportKind::kGlobalRace);
  Key key = is_first ? here_key : other_key;
  key.other_code = is_first ? other_key.code : here_key.code;
  key.other_source = is_first ? other_key.source : here_key.source;
  key.habit = other.habit;
  const bool are_plain =
    !is_strong(*facts.warp->program, *facts.in) && !is_strong(program_, *other.in);
  const bool one_loads = (facts.access == Access::kLoad) != (other.access == Access::kLoad);
  const auto is_plain_load = [&](const Program& program, const Instruction& in, Access access) {
    return access == Access::kLoad && !is_strong(program, in) && !is_uncached(program, in);
  };
  const bool loads_here = facts.access == Access::kLoad;
  const bool is_poll_here =
    !loads_here || is_poll(here_key, is_plain_load(*facts.warp->program, *facts.in, facts.access));
  const bool is_poll_there = other.access != Access::kLoad ||
                             is_poll(other_key, is_plain_load(program_, *other.in, other.access));
  if (key.habit == RaceHabit::kPoll && (!is_poll_here || !is_poll_there))
    key.habit = RaceHabit::kNone;
  if (key.habit == RaceHabit::kNone && are_plain && one_loads &&
      is_flag(writes ? other_key : here_key, writes ? here_key : other_key))
    key.habit = RaceHabit::kFlag;
  Report* report = first(facts, key);
  if (report == nullptr) return;
  report->message = message_of(key.habit);
  report->other_access = other.access;
  set_other(*report, other);
  if (is_first) return;
  std::swap(report->location, report->other);
  std::swap(report->access, report->other_access);
}

} // namespace gmt::executor
