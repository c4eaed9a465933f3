// SPDX-License-Identifier: Apache-2.0
// The launch that a programmatic one behind it
// (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) may overlap: the one in front of it on
// its stream, if the blocks of that allow it and the program has called nothing in between that may
// have waited for it; or the node of a graph on which it alone depends. Races between the two are
// looked for if no other kernel runs between them. Lock held.
#pragma once

#include "simulated_cuda/driver/streams/graph.h"

#include <memory>

namespace gmt::executor {
struct PrimaryLaunch;
}

namespace gmt::sim {

struct Stream;

// At the call of a launch: numbers it, and if it is programmatic, notes which one it may overlap.
void follow(KernelOperation& kernel, const Stream& stream, bool is_programmatic);
// A call begins that may wait, or begins work. Launches are not asked, nor calls that only look.
void forget_primary();

// The same before a graph's node runs. `in_front`: the node that ran last, if it is the only one on
// which this one depends.
void follow_node(Operation& operation, const Operation* in_front);
bool is_programmatic(const KernelOperation& node); // of a graph: by its attributes

// Before a kernel's work, and behind it. Null: nothing is overlapped.
std::shared_ptr<const executor::PrimaryLaunch> take_primary(const KernelOperation& kernel);
void keep_primary(const KernelOperation& kernel,
                  std::shared_ptr<const executor::PrimaryLaunch> primary);

} // namespace gmt::sim
