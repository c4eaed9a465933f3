// SPDX-License-Identifier: Apache-2.0
// Which accesses of a body treat memory as a flag. Programs share flags without atomics: threads
// look whether something is done already and leave it out, and it makes no difference to them
// whether they see it early or late.
#pragma once

#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

// For each instruction of the body
struct FlagUses {
  std::vector<bool> is_test; // a load of which nothing but comparisons use the result
  // A store of a constant that is not 0, or of no constant to an address that the body tests before
  std::vector<bool> is_raise;
  std::vector<bool> is_constant; // a store of a constant
  // A load whose result is compared alone, or used by nothing, or goes into an atomic, which looks
  // again: a compare-and-swap loop begins so
  std::vector<bool> is_poll;
  // A poll, or a load of whose result comparisons ask something among other uses, as a wait for a
  // value does
  std::vector<bool> is_looked_at;
};

FlagUses flag_uses_of(const Body& body);

} // namespace gmt::ptx
