// SPDX-License-Identifier: Apache-2.0
// A driver for the library of --kernel-checks in a test process: device memory is the host's, and
// copies and sets happen at once. The kernel that marks memory of pools runs in the order of its
// stream: at once, or when its stream goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/driver.h"
#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

// What the library reported to the core.
struct Reported {
  struct Fault {
    trace::ExecutionReport kind;
    std::uint64_t call, grid, address, count;
    std::uint32_t thread;
    std::string kernel;
    std::uint64_t meant, meant_bytes; // memory
    std::string meant_name;
    trace::ExecutionSpace space;
    std::string instruction;
  };
  struct Plain {
    std::string kernel, reason;
    std::uint64_t launches;
  };
  std::vector<Fault> faults;
  std::vector<Plain> plain;
  std::vector<std::uint64_t> freed;          // addresses, by the driver
  std::vector<CUstream> waited;              // for streams of the program
  std::vector<CUstreamCaptureMode> asked_in; // modes of the thread when a stream was asked
  std::size_t largest_set = 0;               // entries
  int allocations = 0, table_waits = 0;      // of the driver; for the table's stream
};
extern Reported reported;
extern bool is_out_of_memory; // from now on, until something is freed
// From now on it is given out there, 128 MiB at most; 0: anywhere.
extern std::uint64_t where_memory_is;
inline constexpr std::uint64_t kElsewhere = 0x1003fffe0000, kLow = 0x302000000;
extern bool are_streams_busy; // from now on, until they go on
extern CUstream stream_that_captures;
extern const CUstream stream_elsewhere; // of another context
extern const CUcontext other_context;
// What is said of each address, and what is opened of another process.
extern std::pair<CUdeviceptr, std::size_t> range_of_memory;
extern CUdeviceptr opened_memory;
extern int device_count;
extern int device_elsewhere;  // of that other context; 0: the same
extern bool is_address_given; // that was asked for; nothing is mapped there
extern std::map<std::pair<CUfunction, CUfunction_attribute>, int> attributes; // else 0
// How many blocks of a function fit at once; as many threads are best for a block.
extern std::map<CUfunction, int> fitting;
extern float milliseconds_between; // events
extern bool are_events_pending;
extern KernelChecksSettings settings;
extern const CUmodule module_of_all; // functions; each of them is named "k"
extern const CUfunction found_by_name;
extern const std::function<void()> let_streams_go_on;
extern const std::function<void(std::uint64_t address)> begin_again_at; // the next memory is there
extern bool reads_pageable_memory; // the device; false at the beginning
extern bool has_registered_memory; // the driver can register the host's; false at the beginning
extern bool is_memory_hosts;       // what the driver says of an address
extern std::uint32_t* registered;  // null: nothing is
extern bool has_faulted;           // a kernel: nothing is copied any more
extern std::function<void()> while_fetching;            // called when memory of the device is read
extern std::function<void(CUfunction)> while_launching; // called for kernels of the program

// What stands in the place of the driver's function.
extern const std::function<void*(const char* name)> replacement_of;
extern const std::function<std::set<std::string>()> replaced_names;
struct CallReplaced {
  template <class... Args> CUresult operator()(const char* name, Args... args) const {
    return reinterpret_cast<CUresult (*)(Args...)>(replacement_of(name))(args...);
  }
};
inline constexpr CallReplaced call_replaced{};

// A context is current, and the library has it as its core's. Everything begins anew.
extern const std::function<void()> begin_made_up_driver;
// The table's entry for an address.
extern const std::function<std::int16_t(std::uint64_t address)> entry_at;
// The bounds of the block that the entry names.
extern const std::function<rewriter::Block(std::uint64_t address)> bounds_at;

} // namespace gmt::interposer::kernel_checks
