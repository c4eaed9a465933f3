// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/driver.h"

namespace gmt::interposer {

constinit GuardDriver guard_driver{};

bool guard_driver_is_complete() noexcept {
  GuardDriver& d = guard_driver;
  return are_there(d.reserve, d.create, d.release, d.map, d.unmap, d.set_access, d.granularity,
                   d.attribute, d.current, d.device, d.push, d.pop, d.synchronize, d.primary_state,
                   d.exchange_mode, d.is_capturing, d.make_event, d.record, d.is_done, d.wait,
                   d.end_event, d.make_stream, d.is_idle, d.set, d.fetch, d.host_memory, d.pitched,
                   d.allocate, d.give_back, d.total);
}

} // namespace gmt::interposer
