// SPDX-License-Identifier: Apache-2.0
// Late work (--late TIME): asynchronous copies, sets, launches and event records are kept in the
// order of their calls, and run at the wait that orders them, or TIME after the call by a thread of
// the driver's own. A program that forgot a wait then gets the wrong result that a GPU may give.
// Lock held.
// A wait for a value that is not there yet (cuStreamWaitValue32) is kept until it is, and with it
// what its stream, the legacy stream's rule and events put behind it, without --late as well.
// Invariants: of the kept work, what runs first is closed: with an operation runs all that its
// stream, the legacy stream's rule and events put before it. A call that is not known to be
// asynchronous runs all kept work that can run before it begins. Only a call that waits for the
// device sleeps until a value is there. Without --late and such waits nothing is ever kept.
#pragma once

#include "simulated_cuda/driver/streams/operation.h"

#include <cstdint>
#include <functional>

namespace gmt::sim {

// What a call means for kept work. By the name of its row in driver_api.def.
enum class Timing : unsigned char {
  kRunsAll, // allocates, launches graphs, ...
  kEnds,    // frees, destroys or synchronises everything: what waits for a value, too
  kLooks,   // neither needs kept work nor changes what it uses
  kKeeps,   // its work may be kept
  kOrders,  // runs what is before its own work, or what it waits for
};
Timing timing_of(const char* base);

// Whether the work of a call on the stream may be kept now; without a stream: some call's.
bool may_keep(Timing timing);
bool may_keep(Timing timing, const Stream& stream);
// Of checked work only. The number is that of the operation, for run_late_until().
std::uint64_t keep(Stream& stream, Operation operation, std::uint64_t behind = 0);

// What comes behind it on the stream waits until `is_there`. Of checked calls.
void hold(Stream& stream, std::function<bool()> is_there);
// Whether work on the stream comes behind such a wait; then `action` is kept with it.
bool is_held(const Stream& stream);
void keep_action(Stream& stream, std::function<void()> action);
void run_what_can_run(); // without sleeping
bool is_any_late_of(const Stream& stream);

void run_all_late(bool waits_for_values = true);
void run_late_before(const Stream& stream); // what new work on it would have to wait for
void run_late_of(const Stream& stream);     // what the host waits for that waits for the stream
void run_late_until(std::uint64_t number);  // 0 and one that has run: nothing
bool is_late(std::uint64_t number);         // still kept

// What a call answers behind late work that ended the context.
CUresult answer_after_late();

} // namespace gmt::sim
