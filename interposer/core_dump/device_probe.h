// SPDX-License-Identifier: Apache-2.0
// Whether the GPU still runs work. It does not while the driver prepares a core dump, and nothing
// else tells so early: calls that wait for the faulty kernel may answer 0 from 5 ms behind its
// launch on, and the dump's file appears 45 to 230 ms behind it. A set of 4 bytes on a stream of
// our own is not done in that time; copies, events and queries are (H200, driver 580).
#pragma once

namespace gmt::interposer {

// Waits until the GPU has done a set of 4 bytes in the current context; false if it could not be
// asked. The wait is bounded: kernels of the program may fill the whole GPU and wait for the host.
// While a set is not done, the next call does not wait.
bool wait_for_device_probe() noexcept;
void forget_device_probes() noexcept; // in a forked child

} // namespace gmt::interposer
