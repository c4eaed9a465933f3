// SPDX-License-Identifier: Apache-2.0
// Verdicts on launches of graphs: whether the memory that their work was given still lives. Held
// back like the verdict on a kernel's launch: an address that a new allocation has got is no
// mistake.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/cuda_state/cuda_state.h"
#include "analyzer/heap/arrays.h"
#include "analyzer/heap/graphs/graph_table.h"
#include "analyzer/heap/store/host_memory.h"
#include "analyzer/heap/verdicts/pointer_readings.h"

namespace gmt {

class GraphVerdicts {
public:
  using Id = BlockStore::Id;
  using Side = Verdict::Side;
  using Watched = ExecutableGraph::Watched;

  GraphVerdicts(const BlockStore& store, const CudaState& cuda, const Arrays& arrays,
                const PointerReadings& readings, const HostMemory& host_memory)
      : store_(store), cuda_(cuda), arrays_(arrays), readings_(readings),
        host_memory_(host_memory) {}

  bool is_checked(const Event& launch) const;
  bool is_all_alive(const ExecutableGraph& graph) const; // what it points into, if that is known

  struct Answer {
    std::optional<Watched> watched = {}; // the live block
    std::optional<Watched> tensor = {};  // the live one in it that the work was given
    bool is_dropped = false;             // that tensor is, and no other has its memory
    bool is_settled = false; // nothing more is to be said of this pointer at later launches
  };
  Answer check_pointer(const GraphWork& work, Argument word, CallVerdicts& verdicts) const;

private:
  void check_tensor(const GraphWork& work, Argument word, CallVerdicts& verdicts,
                    Answer& answer) const;

  const BlockStore& store_;
  const CudaState& cuda_;
  const Arrays& arrays_;
  const PointerReadings& readings_;
  const HostMemory& host_memory_;
};

} // namespace gmt
