// SPDX-License-Identifier: Apache-2.0
// What a session consists of: the only file that knows all parts.
#include <iterator>

#include "interposer/calls/call.h"
#include "interposer/coalescing/collector_client.h"
#include "interposer/core_dump/core_dump.h"
#include "interposer/device_ring/ring.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/driver_state/device_facts.h"
#include "interposer/driver_state/host_blocks.h"
#include "interposer/driver_state/retired_memory.h"
#include "interposer/driver_state/unrecorded_blocks.h"
#include "interposer/execution/execution_observer.h"
#include "interposer/guard/guard.h"
#include "interposer/hooks/crash_handler.h"
#include "interposer/hooks/host_uses.h"
#include "interposer/hooks/process_hooks.h"
#include "interposer/kernel_checks/kernel_checks.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/module_list.h"
#include "interposer/log/process.h"
#include "interposer/log/python/python_session.h"
#include "interposer/log/record_range.h"
#include "interposer/log/unwinder.h"
#include "interposer/recorders/launch_arguments.h"

namespace gmt::interposer {
namespace {

constexpr SessionPart kParts[] = {
  {nullptr, begin_record_range},
  {nullptr, begin_timing},
  {forget_contexts, nullptr},
  {forget_devices, nullptr},
  {forget_texts, nullptr},
  {forget_kernels, nullptr},
  {forget_device_rings, nullptr},
  {forget_host_memory, nullptr},
  {forget_retired_memory, nullptr},
  {forget_unrecorded_blocks, nullptr},
  {nullptr, open_unwinder},
  {forget_collector, open_collector},
  {forget_execution_observer, begin_execution_observer},
  {forget_guard, begin_guard},
  {forget_kernel_checks, begin_kernel_checks},
  {forget_core_dump, begin_core_dump}, // its waits stand in front of the fence's
  {forget_python, nullptr},            // the scan of the modules looks for it
  {forget_noted_modules, note_all_modules},
  {nullptr, watch_process_end},
  {forget_crashes, watch_crashes},
  {forget_host_uses, watch_host_uses}, // in the place of the crash handler
};

} // namespace

constinit const SessionParts session_parts{kParts, std::size(kParts)};

} // namespace gmt::interposer
