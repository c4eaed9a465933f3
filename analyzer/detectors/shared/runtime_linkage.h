// SPDX-License-Identifier: Apache-2.0
// Whether the program's CUDA runtime is linked statically: what such a runtime refuses by itself is
// never seen. A program that calls the driver alone has none.
#pragma once

#include "analyzer/detectors/detector.h"
#include "trace/object_class.h"

namespace gmt {

class RuntimeLinkage {
public:
  // Every event that the detector sees; those of kLife are enough. The runtime's first step is to
  // retain the primary context. Where no call has a runtime's name, that runtime is linked
  // statically.
  void note(const Event& e) {
    const event::Life& life = e.life();
    const bool retains = e.kind == EventKind::kLife &&
                         life.object == trace::ObjectClass::kPrimaryContext &&
                         life.op == trace::LifeOp::kRetain;
    if (e.via != trace::kNoApi) shared_ = true;
    else if (retains && life.runtime() != kNone) unseen_ = true;
  }

  bool is_static() const { return unseen_ && !shared_; }

private:
  static constexpr std::uint64_t kNone = 1; // no runtime had asked the driver for its functions

  bool shared_ = false; // some call has a runtime's name
  bool unseen_ = false; // the primary context was retained by none
};

} // namespace gmt
