// SPDX-License-Identifier: Apache-2.0
// Findings about calls that wait for what the trace says later. Those of one call stack are one
// with a count, and each keeps the moment and the range of its first call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/model/event.h"
#include "analyzer/model/finding.h"

namespace gmt {

// `Known` is what a finding needs when it goes on.
template <class Known> class HeldFindings {
public:
  explicit HeldFindings(const ProcessFacts& facts) : facts_(facts) {}

  // `object`: findings about different ones are apart; 0 if the call is about none.
  void hold(const Event& e, std::uint64_t object, Finding finding, Known known) {
    const std::string range = facts_.ranges().text(facts_.ranges().here());
    const Key key{e.api,    e.via,  e.stack.value,
                  e.result, object, facts_.groups_by_range() ? range : std::string()};
    if (const auto at = held_.find(key); at != held_.end()) {
      ++at->second.first.count;
      return;
    }
    finding.moment = {.time = e.time, .thread = e.thread};
    if (finding.range.empty()) finding.range = range;
    held_.emplace(key, std::pair{std::move(finding), std::move(known)});
  }

  // Calls visit(finding, known) for each, and forgets them.
  template <class Visit> void release(Visit visit) {
    for (auto& [key, held] : held_) visit(held.first, held.second);
    held_.clear();
  }

private:
  // Function, the runtime's function around it, call stack, result, object, range
  using Key = std::tuple<std::uint16_t, std::uint16_t, std::uint32_t, std::uint16_t, std::uint64_t,
                         std::string>;

  const ProcessFacts& facts_;
  std::map<Key, std::pair<Finding, Known>> held_;
};

} // namespace gmt
