// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp do with each other: all 32 of them, and the even and odd ones apart.
#include "tests/executor/forms/lists/builder.h"

namespace gmt::forms {
namespace {

constexpr Values kWord = Values::kBits32;

// The body with a mask of all lanes, and once with a branch for even and one for odd lanes. "MASK"
// in the body stands for the mask.
void add_groups(List& list, const std::string& name, const std::string& body,
                const std::vector<Values>& results, const std::vector<Values>& operands) {
  const auto with = [&](const std::string& mask) {
    std::string text = body;
    for (std::size_t at = text.find("MASK"); at != std::string::npos; at = text.find("MASK"))
      text.replace(at, 4, mask);
    return text;
  };
  list.add_body(name, with("0xffffffff"), results, operands);
  list.add_body(name + " in halves",
                "and.b32 %u, %lane, 1;\nsetp.eq.u32 %r, %u, 1;\n@%r bra ODD;\n" +
                  with("0x55555555") + "\nbra END;\nODD:\n" + with("0xaaaaaaaa") + "\nEND:",
                results, operands);
}

void add_votes(List& list) {
  const std::string test = "setp.ne.u32 %p, %a, 0;\n";
  for (const std::string mode : {"all", "any", "uni"}) {
    for (const std::string negated : {"", "!"}) {
      add_groups(list, "vote.sync." + mode + ".pred " + negated + "p",
                 test + "vote.sync." + mode + ".pred %q, " + negated +
                   "%p, MASK;\nselp.u32 %d, 1, 0, %q;",
                 {kWord}, {Values::kFlag});
    }
    // Most lanes agree.
    add_groups(list, "vote.sync." + mode + ".pred rare",
               "setp.lt.u32 %p, %a, 0x08000000;\nvote.sync." + mode +
                 ".pred %q, %p, MASK;\nselp.u32 %d, 1, 0, %q;",
               {kWord}, {kWord});
  }
  add_groups(list, "vote.sync.ballot.b32", test + "vote.sync.ballot.b32 %d, %p, MASK;", {kWord},
             {Values::kFlag});
  list.add_body("activemask.b32", "activemask.b32 %d;", {kWord}, {kWord}).count = kBlock;
}

void add_matches(List& list) {
  for (const Type& type : {Type{"b32", Values::kFew}, Type{"b64", Values::kFew64}}) {
    const std::string end = std::string(".sync.") + type.name;
    add_groups(list, "match.any" + end, "match.any" + end + " %d, %a, MASK;", {kWord},
               {type.values});
    const std::string store = " %d|%p, %a, MASK;\nselp.u32 %f, 1, 0, %p;";
    add_groups(list, "match.all" + end, "match.all" + end + store, {kWord, kWord}, {type.values});
    // Blocks of equal values: whole warps agree.
    const std::string shift = std::string("shr.b") + (type.name + 1) + " %a, %a, 63;\n";
    add_groups(list, "match.all" + end + " equal", shift + "match.all" + end + store,
               {kWord, kWord}, {type.values});
  }
}

void add_reductions(List& list) {
  for (const std::string mode : {"add", "min", "max"}) {
    for (const char* end : {".u32", ".s32"}) {
      const std::string name = "redux.sync." + mode + end;
      add_groups(list, name, name + " %d, %a, MASK;", {kWord}, {kWord});
    }
  }
  for (const std::string mode : {"and", "or", "xor"}) {
    const std::string name = "redux.sync." + mode + ".b32";
    add_groups(list, name, name + " %d, %a, MASK;", {kWord}, {kWord});
  }
}

void add_shuffles(List& list) {
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    const std::string name = "shfl.sync." + mode + ".b32";
    list.add_body(name, name + " %d|%p, %a, %b, %c, 0xffffffff;\nselp.u32 %f, 1, 0, %p;",
                  {kWord, kWord}, {kWord, Values::kCount, kWord});
    // Segments of 8 lanes, as width 8 of __shfl_sync makes them.
    const std::string clamp = mode == "up" ? "0x1800" : "0x181f";
    list.add_body(name + " of 8", name + " %d, %a, %b, " + clamp + ", 0xffffffff;", {kWord},
                  {kWord, Values::kCount});
  }
  list
    .add_body("elect.sync", "elect.sync %d|%p, 0xffffffff;\nselp.u32 %f, 1, 0, %p;", {kWord, kWord},
              {kWord})
    .count = kBlock;
}

} // namespace

std::vector<Form> warp_forms() {
  List list;
  add_votes(list);
  add_matches(list);
  add_reductions(list);
  add_shuffles(list);
  return list.take();
}

} // namespace gmt::forms
