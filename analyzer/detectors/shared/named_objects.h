// SPDX-License-Identifier: Apache-2.0
// Which of CUDA's objects a call names, besides memory and default streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyzer/model/event.h"

namespace gmt {

struct NamedObject {
  trace::ObjectClass object;
  std::uint64_t handle;
};

class NamedObjects {
public:
  explicit NamedObjects(const Event& call) { add_all(call); }

  const NamedObject* begin() const { return all_.data(); }
  const NamedObject* end() const { return all_.data() + count_; }

private:
  void add_all(const Event& call);
  void add(trace::ObjectClass object, std::uint64_t handle);
  void add_of_life(const Event& call);
  void add_of_sync(const Event& call);
  // A record of the runtime's own has words of which it is not known what they are.
  void add_any(std::uint64_t handle);

  std::array<NamedObject, 24> all_;
  std::size_t count_ = 0;
};

// Whether the answer to the call may mean that a handle is none: it was refused for that, or the
// process died in it.
bool may_blame_handle(const Event& call);

// What the call destroys or would have destroyed; a handle of 0 if it is no such call.
NamedObject destroyed_by(const Event& call, std::string_view runtime_name);

} // namespace gmt
