// SPDX-License-Identifier: Apache-2.0
#include "interposer/log/thread_session.h"

#include "interposer/log/nvtx_ranges.h"

namespace gmt::interposer {

constinit thread_local ThreadSession thread_session __attribute__((tls_model("initial-exec"))) = {};

void forget_thread_log() noexcept {
  thread_session.log = nullptr;
  forget_ranges_log();
}

} // namespace gmt::interposer
