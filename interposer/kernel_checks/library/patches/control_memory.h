// SPDX-License-Identifier: Apache-2.0
// The memory that control.h describes: on the device behind the table, and of the host.
#pragma once

#include <cuda.h>

#include "interposer/kernel_checks/library/patches/control.h"

namespace gmt::interposer::kernel_checks {

// Makes it new in the current context, which has the table; where the control is, 0: there is none.
CUdeviceptr make_control() noexcept;
// kPatchRecords of them, which the device writes; null: none were ever needed.
PatchRecord* patch_records() noexcept;

} // namespace gmt::interposer::kernel_checks
