// SPDX-License-Identifier: Apache-2.0
// What player.cpp needs to play a program with instrumented kernels on the simulated device, where
// kernels do not run: a module with the hooks' variable, and the kernel's part, done by the host
// through the simulated device's view of its memory.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "gpumemtrace/detail/ring_writer.h"
#include "simulated_cuda/common/private_table.h"
#include "trace/device_ring.h"

namespace gmt::rings {

inline void check(int result, int line) {
  if (result == 0) return;
  std::fprintf(stderr, "line %d: CUDA answered %d\n", line, result);
  std::exit(1);
}
#define CHECK(call) gmt::rings::check(call, __LINE__)

// One kernel and the variable that it looks at; `plain` has no such variable.
struct Module {
  explicit Module(bool plain = false) {
    char code[512];
    std::snprintf(
      code, sizeof code,
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .global .align 8 .u64 %s;\n"
      ".visible .entry play()\n{\n\tret;\n}\n",
      plain ? "another" : trace::kControlSymbol);
    CHECK(cuModuleLoadData(&handle, code));
    CHECK(cuModuleGetFunction(&kernel, handle, "play"));
  }
  CUresult launch(CUstream stream = nullptr) const {
    return cuLaunchKernel(kernel, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
  }
  CUmodule handle = nullptr;
  CUfunction kernel = nullptr;
};

inline void* host_view(CUdeviceptr address, std::size_t bytes) {
  CUuuid id;
  std::memcpy(id.bytes, sim::kSimulatedRuntimeTable, sizeof id.bytes);
  const void* table = nullptr;
  CHECK(cuGetExportTable(&table, &id));
  return static_cast<const sim::SimulatedRuntimeTable*>(table)->host_view(address, bytes);
}

// What the kernel finds in its variable; null if nothing is recorded.
inline trace::DeviceControl* control_of(const Module& module) {
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  CHECK(cuModuleGetGlobal(&variable, &bytes, module.handle, trace::kControlSymbol));
  const auto address = *static_cast<const CUdeviceptr*>(host_view(variable, bytes));
  return address == 0
           ? nullptr
           : static_cast<trace::DeviceControl*>(host_view(address, sizeof(trace::DeviceControl)));
}

// The part of a kernel that leaves records: the kernels' own code, run by the host. A thread has
// its own sub-rings to begin with.
class Kernel {
public:
  // Reserved slots; without a ticket if there was no room and the record was dropped.
  struct Reservation {
    device::RingWriter writer;
    std::uint64_t ticket;
    explicit operator bool() const { return ticket != device::kNoTicket; }
  };

  explicit Kernel(trace::DeviceControl* control) : control_(*control) {}

  unsigned sub_rings() const { return control_.sub_rings; }
  std::uint64_t capacity() const { return control_.slots_per_sub_ring; }
  bool waits() const { return control_.wait_when_full != 0; }

  Reservation reserve(unsigned sub, unsigned slots) {
    Reservation reserved{device::RingWriter(control_, sub), 0};
    reserved.ticket = reserved.writer.reserve(slots);
    return reserved;
  }
  void publish(Reservation reserved, trace::Kind kind, std::uint64_t word, unsigned slots = 1) {
    const trace::Head head{kind, static_cast<std::uint8_t>(slots), trace::kNoApi, 0, 0};
    reserved.writer.publish(reserved.ticket, head, word, trace::pack_who(1, 0, 0, 0),
                            [word](unsigned) { return word; });
  }
  // False if it was dropped.
  bool record(unsigned sub, std::uint64_t word) {
    const Reservation reserved = reserve(sub, 1);
    if (reserved) publish(reserved, trace::Kind::kDeviceAlloc, word);
    return static_cast<bool>(reserved);
  }
  void wait_for_room(unsigned sub) const {
    while (control_.sub[sub].reserved == consumed(sub) + capacity()) {
    }
  }
  // Until the drain has read a sub-ring so far. One that never does fails the test that looks for
  // the records.
  void wait_until_drained(unsigned sub, std::uint64_t tickets) const {
    for (int tries = 0; consumed(sub) < tickets && tries < 20'000; ++tries) usleep(1000);
  }
  void wait_until_drained() const {
    for (unsigned sub = 0; sub < sub_rings(); ++sub)
      wait_until_drained(sub, control_.sub[sub].reserved);
  }

private:
  std::uint64_t consumed(unsigned sub) const {
    const auto* counters =
      reinterpret_cast<const trace::RingCounters*>(control_.ring + trace::kRingHeaderBytes);
    return __atomic_load_n(&counters[sub].consumed, __ATOMIC_ACQUIRE);
  }

  trace::DeviceControl& control_;
};

} // namespace gmt::rings
