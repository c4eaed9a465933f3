// SPDX-License-Identifier: Apache-2.0
// The contexts of one process: device, whether an error has killed it, and which call ends which of
// them.
//
// A context has a number in the trace (Event::context) and a handle. Calls of number 0 name no
// context.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/model/event.h"

namespace gmt {

// The context is dead after this code (contexts.cpp lists them)
bool is_sticky(std::uint16_t result);

// Contexts that a call ends: one by its handle, or the primary context of a device.
struct ContextEnd {
  std::uint64_t handle = 0;
  std::int64_t device = -1; // -1: by handle
};

class ContextTable {
public:
  void describe(const Event& e);                     // a kContext record
  std::optional<ContextEnd> on_life(const Event& e); // of any object, accepted
  void on_sticky_error(const Event& e);

  std::int64_t device_of(std::uint16_t context) const { // -1 unknown
    return context < contexts_.size() ? contexts_[context].device : -1;
  }
  bool has_several() const { return contexts_.size() > 2; } // numbers count from 1
  std::int64_t first_device() const {
    return first_device_;
  } // of the context that came first, -1 unknown

  // Died of an error; where the context is not known, whether any did.
  bool is_dead(std::uint16_t context) const {
    return is_known(context) ? contexts_[context].is_dead : sticky_code_ != 0;
  }
  std::uint16_t sticky_code() const { return sticky_code_; } // of the first such error, 0 none

  bool is_ended_by(std::uint16_t context, const ContextEnd& end) const;
  // Whether the newest event destroyed the context, reset it or released it for the last time.
  bool is_ended_by(std::uint16_t context, const Event& newest) const;

private:
  struct Context {
    std::uint64_t handle = 0;
    std::int64_t device = -1;
    bool is_primary = false;
    bool is_known = false;
    bool is_dead = false;
  };
  bool is_known(std::uint16_t context) const {
    return context < contexts_.size() && contexts_[context].is_known;
  }
  void note_first(const event::Life& life);

  std::vector<Context> contexts_; // by number
  // Primary contexts: device -> seen retains
  std::unordered_map<std::uint64_t, std::uint64_t> retained_;
  std::uint64_t last_release_ = 0;  // order of the last release of a primary context
  std::uint64_t first_context_ = 0; // its handle
  std::int64_t first_device_ = -1;
  std::uint16_t sticky_code_ = 0;
};

} // namespace gmt
