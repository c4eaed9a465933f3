// SPDX-License-Identifier: Apache-2.0
// The core's functions, as every file of the collector reaches them. Set once, by library.cpp, before anything else
// runs.
#pragma once

#include "interposer/coalescing/collector/interface.h"

namespace gmt::interposer::collector {

extern const CoreFunctions* core;

inline constexpr int kLockMilliseconds = 100; // the longest wait for a lock of the collector

} // namespace gmt::interposer::collector
