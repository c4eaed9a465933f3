// SPDX-License-Identifier: Apache-2.0
// What is known of the recorded process while its events pass by: as of the newest event, and never
// of later ones. What only the end of the trace says is in end_of_trace.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/detectors/policy.h"
#include "analyzer/device_heap/device_heaps.h"
#include "analyzer/device_heap/launch_log.h"
#include "analyzer/heap/nvtx_ranges.h"
#include "analyzer/model/core_dump.h"
#include "analyzer/model/event.h"
#include "analyzer/model/process.h"
#include "analyzer/model/trace_names.h"

namespace gmt {

// A Python frame of a call stack, as the trace names it. Its texts live as long as the trace does.
struct PythonLine {
  std::string_view function, file; // qualified name; both may be empty
  std::uint32_t line = 0;          // 0 unknown
};

class ProcessFacts : public TraceNames, public TraceClock {
public:
  virtual const Kernel* kernel(std::uint64_t function) const = 0; // null if not described
  virtual const DeviceFacts* device(int ordinal) const = 0; // null if not described (older traces)
  virtual Caller caller(StackId stack) const = 0; // walks all modules: not for every event
  // Innermost first; empty without Python
  virtual std::vector<PythonLine> python_lines(StackId stack) const = 0;
  virtual const Ranges& ranges() const = 0;
  virtual const DeviceHeaps& device_heaps() const = 0;
  virtual const LaunchLog& launches() const = 0;
  virtual std::span<const CoreDump> core_dumps() const = 0; // of GPUs, of the whole process
  // Faults of kernels so far that end a context on a GPU: a finding names each.
  virtual std::uint64_t fatal_faults() const = 0;

  virtual std::span<const PolicyRule> policies() const = 0;
  virtual bool groups_by_range() const = 0; // findings of different ranges stay apart

  virtual bool simulated() const = 0;
  // The process that had called CUDA before it forked this one; 0: none
  virtual std::uint32_t forked_from() const = 0;
  virtual bool has_kernel_checks() const = 0; // --kernel-checks
  // --guard: blocks have mappings of their own, and allocations take longer
  virtual bool is_guarded() const = 0;
  // Whom cuMemSetAccess gave access, each launch's context: since 1.4
  virtual bool records_access() const = 0;
  virtual std::uint64_t lost_so_far() const = 0; // records; more may turn out to be lost later
  // A loaded library that reaches device memory by ways that are not recorded ("libibverbs"); empty
  // if none.
  virtual std::string_view unseen_user() const = 0;
  // In the program's heap or the main thread's stack, where nothing is the GPU's unless it was
  // registered.
  virtual bool is_plain_host_memory(std::uint64_t address) const = 0;
  // Where an object file that is loaded now has its variables: since 1.5.
  virtual bool is_static_memory(std::uint64_t address) const = 0;
  // Reads files: for findings alone
  virtual StaticVariable static_variable(std::uint64_t address) const = 0;
  // The simulated device says of each copy what it reads that nothing wrote: since 1.6
  virtual bool sees_unwritten_copies() const = 0;
};

} // namespace gmt
