// SPDX-License-Identifier: Apache-2.0
// The one symbol that libgpumemtrace_cupti.so exports: the collector with CUPTI.
#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/counters.h"
#include "interposer/coalescing/collector/cupti.h"

namespace gmt::interposer::collector {
namespace {

constinit Cupti cupti;
constinit Counters counters{cupti};

} // namespace
} // namespace gmt::interposer::collector

extern "C" __attribute__((visibility("default"))) const gmt::interposer::CollectorFunctions*
gmt_collector(const gmt::interposer::CoreFunctions* core) {
  using namespace gmt::interposer::collector;
  return begin_collector(*core, {&cupti, &counters});
}
