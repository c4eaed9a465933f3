// SPDX-License-Identifier: Apache-2.0
// Which devices reach each other's ordinary memory: those whose contexts were given access by
// cuCtxEnablePeerAccess (cuda.h). Pools and mappings have access lists of their own.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyzer/model/event.h"

namespace gmt {

class PeerAccess {
public:
  void describe(const Event& e); // a kContext record
  void on_life(const Event& e);  // of any object, with any result

  bool has_several_devices() const { return has_several_devices_; }

  // Whether kernels of device `own` may access what device `peer` has.
  bool is_open(int own, int peer) const { return open_.contains({own, peer}); }
  bool is_unknown() const { return is_unknown_; } // given between contexts that were not described

private:
  int device_of(std::uint64_t context) const;
  void on_access(const Event& e, const event::Life& life);

  int first_device_ = -1;
  bool has_several_devices_ = false, is_unknown_ = false;
  std::unordered_map<std::uint64_t, int> devices_; // by CUcontext
  std::set<std::pair<int, int>> open_;             // who reaches, what
};

} // namespace gmt
