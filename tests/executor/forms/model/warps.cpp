// SPDX-License-Identifier: Apache-2.0
// Votes, matches, reductions and shuffles of 32 lanes, all together or the even and odd ones apart.
#include "tests/executor/forms/model/model.h"

namespace gmt::forms::model {
namespace {

using u64 = std::uint64_t;
using Lanes = std::span<Thread>;

struct Group {
  Lanes lanes;
  bool halves;
  bool holds(std::size_t lane, std::size_t other) const { return !halves || lane % 2 == other % 2; }
};

void vote(const Words& words, const Group& group) {
  const bool rare = words.has("rare"), negated = words.has("!p");
  const auto votes = [&](const Thread& t) {
    return rare ? t.in[0] < 0x08000000 : (t.in[0] != 0) != negated;
  };
  for (std::size_t lane = 0; lane < 32; ++lane) {
    u64 yes = 0, no = 0;
    for (std::size_t other = 0; other < 32; ++other) {
      if (!group.holds(lane, other)) continue;
      (votes(group.lanes[other]) ? yes : no) |= u64{1} << other;
    }
    u64& out = group.lanes[lane].out[0];
    if (words[2] == "all") out = no == 0;
    if (words[2] == "any") out = yes != 0;
    if (words[2] == "uni") out = no == 0 || yes == 0;
    if (words[2] == "ballot") out = yes;
  }
}

void match(const Words& words, const Group& group) {
  const bool equal_values = words.has("equal"), all = words[1] == "all";
  const int bits = words.has("b64") ? 64 : 32;
  const auto value = [&](const Thread& t) {
    if (!equal_values) return t.in[0];
    return bits == 64 ? t.in[0] >> 63 : 0; // a shift of 32 bits by 63 leaves nothing
  };
  for (std::size_t lane = 0; lane < 32; ++lane) {
    u64 same = 0, there = 0;
    for (std::size_t other = 0; other < 32; ++other) {
      if (!group.holds(lane, other)) continue;
      there |= u64{1} << other;
      if (value(group.lanes[other]) == value(group.lanes[lane])) same |= u64{1} << other;
    }
    group.lanes[lane].out[0] = all && same != there ? 0 : same;
    group.lanes[lane].out[1] = same == there ? 1 : 0;
  }
}

void reduce(const Words& words, const Group& group) {
  const bool is_signed = words.has("s32");
  for (std::size_t lane = 0; lane < 32; ++lane) {
    u64 total = group.lanes[lane].in[0];
    for (std::size_t other = 0; other < 32; ++other) {
      if (other == lane || !group.holds(lane, other)) continue;
      const u64 v = group.lanes[other].in[0];
      const bool smaller = is_signed ? as_signed(v, 32) < as_signed(total, 32) : v < total;
      if (words[2] == "add") total = low_bits(total + v, 32);
      if (words[2] == "min" && smaller) total = v;
      if (words[2] == "max" && !smaller) total = v;
      if (words[2] == "and") total &= v;
      if (words[2] == "or") total |= v;
      if (words[2] == "xor") total ^= v;
    }
    group.lanes[lane].out[0] = total;
  }
}

// As PTX's pseudo code has it.
void shuffle(const Words& words, Lanes lanes) {
  const bool of_eight = words.last() == "8";
  for (std::size_t i = 0; i < 32; ++i) {
    const int lane = static_cast<int>(i);
    const int by = static_cast<int>(lanes[i].in[1] & 31);
    u64 c = lanes[i].in[2];
    if (of_eight) c = words[2] == "up" ? 0x1800 : 0x181f;
    const int clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31);
    const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int from = 0;
    bool inside = false;
    if (words[2] == "up") {
      from = lane - by;
      inside = from >= most;
    } else {
      if (words[2] == "down") from = lane + by;
      if (words[2] == "bfly") from = lane ^ by;
      if (words[2] == "idx") from = least | (by & ~segment);
      inside = from <= most;
    }
    lanes[i].out[0] = lanes[static_cast<std::size_t>(inside ? from : lane)].in[0];
    lanes[i].out[1] = inside ? 1 : 0;
  }
}

} // namespace

bool warp_model(const Form& form, std::span<Thread> lanes) {
  const Words words(form.name);
  const Group group{lanes, words.last() == "halves"};
  const std::string& opcode = words.opcode();
  if (opcode == "vote") vote(words, group);
  else if (opcode == "match") match(words, group);
  else if (opcode == "redux") reduce(words, group);
  else if (opcode == "shfl") shuffle(words, lanes);
  else if (opcode == "activemask")
    for (Thread& t : lanes) t.out[0] = 0xffffffff;
  else return false;
  return true;
}

} // namespace gmt::forms::model
