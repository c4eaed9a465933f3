// SPDX-License-Identifier: Apache-2.0
// Verdicts on releases that CUDA refused, and on free() of the C library. The order in which a
// refused release is explained: a live block of another kind, the inside of a live block, a freed
// block, one that ended with its context, none of these.
#pragma once

#include "analyzer/cuda_state/contexts.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/heap/store/block_store.h"

namespace gmt {

class ReleaseVerdicts {
public:
  ReleaseVerdicts(const BlockStore& store, const ContextTable& contexts)
      : store_(store), contexts_(contexts) {}

  void check_refused(const Event& e, CallVerdicts& verdicts) const;
  // A release that the process died in, or that CUDA was too late for: only that the memory had
  // been freed before is sure.
  void check_in_flight(const Event& e, CallVerdicts& verdicts) const;
  // free() of what is not registered. Checked by allocation alone, whatever it does afterwards
  // (glibc may abort); most of what it frees is none of CUDA's business.
  void check_host_free(const Event& e, CallVerdicts& verdicts) const;

private:
  void check_freed_address(const Event& e, Space home, CallVerdicts& verdicts) const;

  const BlockStore& store_;
  const ContextTable& contexts_;
};

} // namespace gmt
