// SPDX-License-Identifier: Apache-2.0
// The private agreements of the simulated libraries: tables behind cuGetExportTable. The first is
// for the simulated runtime. The runtime knows names and sizes of variables from the program's
// registration; the driver cannot read them from a compressed image. Tests that play a kernel on
// the host get at device memory by it. Invariant: nothing else has these UUIDs, so an interposer
// passes it through like any other export table.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace gmt::sim {

inline constexpr unsigned char kSimulatedRuntimeTable[16] = {
  'g', 'p', 'u', 'm', 'e', 'm', 't', 'r', 'a', 'c', 'e', '-', 's', 'i', 'm', '1'};

struct SimulatedRuntimeTable {
  std::size_t size;
  CUresult (*declare_variable)(CUlibrary library, const char* name, std::size_t bytes, int managed);
  void* (*host_view)(CUdeviceptr address, std::size_t bytes); // null if that is no allocation
  // A fat binary that the program registered, as soon as that is known: the device claims the
  // highest compute capability for which there is PTX.
  void (*announce_image)(const void* image);
  // A function of the runtime that is not implemented was called.
  void (*note_refusal)(const char* function);
};

// A second one, for the simulated CUPTI: it hears of every kernel that runs. The callee is called
// with the driver's lock held and calls no driver function.
inline constexpr unsigned char kSimulatedProfilerTable[16] = {
  'g', 'p', 'u', 'm', 'e', 'm', 't', 'r', 'a', 'c', 'e', '-', 's', 'i', 'm', '2'};

struct SimulatedProfilerTable {
  std::size_t size;
  void (*watch_launches)(void (*ran)(CUcontext context, const char* kernel));
};

// A third one, for the program that replays captured launches: memory at addresses of its choice.
// One thread calls them, behind cuInit and with no call in progress.
inline constexpr unsigned char kSimulatedReplayTable[16] = {'g', 'p', 'u', 'm', 'e', 'm', 't', 'r',
                                                            'a', 'c', 'e', '-', 's', 'i', 'm', '3'};

struct SimulatedReplayTable {
  std::size_t size;
  bool (*reserve)(CUdeviceptr address, std::size_t bytes); // false: something lies there
  void (*set_next_address)(CUdeviceptr address);           // what is allocated next
  void (*set_variable_address)(const char* name, CUdeviceptr address);
  void (*run_only_block)(std::uint64_t number);   // of each launch from now on
  void (*set_next_texture)(std::uint64_t handle); // of the texture or surface that is made next
};

} // namespace gmt::sim
