// SPDX-License-Identifier: Apache-2.0
// The launch that a programmatic one behind it
// (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) may overlap: the last one of its stream,
// if its blocks allow that and the program has done nothing since that may have waited for it.
// Races between the two are looked for then. Lock held.
#pragma once

#include <memory>

namespace gmt::executor {
struct PrimaryLaunch;
}

namespace gmt::sim {

struct Stream;

// Before the work of a launch, which is the last one from now on. Null: nothing is overlapped.
std::shared_ptr<const executor::PrimaryLaunch> take_primary(const Stream& stream);
void keep_primary(const Stream& stream, std::shared_ptr<const executor::PrimaryLaunch> primary);

// A call begins that may wait, or begins work. Launches are not asked, nor calls that only look.
void forget_primary();

} // namespace gmt::sim
