// SPDX-License-Identifier: Apache-2.0
// What each kind of event says that is no call: facts of the process, its devices and kernels, and
// what the simulated device and --guard found. A `TextId` names a string that came before. Sizes
// are bytes, 0 is "none" or "not known" where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "trace/guard.h"
#include "trace/kernel_faults.h"
#include "trace/vocabulary.h"

namespace gmt {

using TextId = std::uint64_t; // 0 none

namespace event {

struct Name {
  std::uint64_t handle;
  std::string_view text;
  bool is_whole; // else the record ends before the text does
};

struct Text {
  TextId id;
  std::string_view text;
  bool is_whole;
};

struct Context {
  std::uint64_t handle; // CUcontext
  std::uint64_t device; // ordinal
  bool is_primary;
};

struct Exit {
  trace::ExitWay way;
  std::uint64_t status;
};

struct Loss {
  trace::LossCause cause;
  std::uint64_t records;
};

struct KernelParameter {
  std::uint32_t offset, bytes; // in the parameter block
};

struct Kernel {
  std::uint64_t function; // CUfunction or CUkernel
  std::size_t parameter_count;
  std::span<const KernelParameter> parameters; // fewer where the record ends before
};

struct Device {
  std::uint64_t ordinal = 0;
  std::uint64_t bytes = 0;
  std::uint64_t texture_alignment = 0, texture_pitch_alignment = 0, surface_alignment = 0;
  std::uint64_t largest_pitch = 0;      // of a copy
  std::uint64_t compute_capability = 0; // major * 10 + minor
  bool reads_pageable_memory = false;
  bool uses_host_page_tables = false;
  bool concurrent_managed = false;
  TextId name = 0;
};

// What cuMemGetInfo said.
struct MemoryInfo {
  std::uint64_t free_bytes, total_bytes;
};

struct Range {
  std::uint64_t domain; // 0 the default one
  TextId text;          // of the range or the resource
  std::uint64_t id;     // Start, End
  trace::RangeOp op;

  std::uint64_t named() const { return id; } // thread, or handle of a stream, event or context
  std::uint64_t open_ranges() const { return id; } // Pop: how many of the thread stay open
  std::uint64_t thread() const { return id; }
};

// A mistake inside a kernel, once for each instruction and launch.
struct Fault {
  trace::FaultKind fault = {};
  trace::FaultSpace space = {};
  trace::FaultAccess access = {};
  bool has_thread = false, has_address = false, has_other = false, other_has_thread = false;
  bool is_neighbour_freed = false;
  bool is_checked = false;   // found by a check in the kernel's code
  std::uint64_t call = 0;    // order of the call that launched the kernel or its graph
  TextId kernel = 0;         // name as linked
  TextId lines = 0;          // "line<tab>function<tab>file" each
  std::uint64_t address = 0; // in shared, local, constant and parameter memory the offset
  std::uint64_t bytes = 0;   // of one thread's access
  std::uint64_t count = 0;   // how often this instruction did it in this launch
  // The first thread that it happened to
  trace::Index3 block_index = {}, thread_index = {};
  trace::Index3 grid = {}, block = {};
  std::uint64_t grid_id = 0; // number of the launch in its context, from 1
  // Kernels of graphs: order of the call that made or captured the node, and the node
  std::uint64_t made = 0, node = 0;
  std::uint64_t stream = 0;
  std::uint64_t launched = 0;  // CUfunction or CUkernel
  std::uint64_t gpu_error = 0; // the CUresult with which a GPU would have stopped here
  TextId instruction = 0;      // of the PTX
  TextId function = 0;         // that has the instruction, as linked
  TextId message = 0;
  // What lies at the address or nearest to it; of 0 bytes nothing is said
  std::uint64_t neighbour = 0, neighbour_bytes = 0;
  trace::FaultSpace neighbour_space = {};
  TextId neighbour_name = 0;
  // Races: the earlier access; barriers: where another thread is
  trace::FaultAccess other_access = {};
  TextId other_lines = 0;
  trace::Index3 other_block_index = {}, other_thread_index = {};
  TextId other_instruction = 0, other_function = 0;
};

// How far kernels ran, and what copies read that nothing wrote.
// Rows of bytes that a launch used alike.
struct UsedRows {
  std::uint64_t address, width, pitch, count; // `width` bytes each, `pitch` apart
  bool is_read, is_written;
  bool is_strong;                              // by atomics and strong accesses alone
  bool is_allocated = false, is_freed = false; // by a graph's node; written, too

  bool operator==(const UsedRows&) const = default;
};

struct Execution {
  trace::ExecutionOp op = {};
  trace::UnwrittenForm form = {};
  bool is_exact = false;    // Feature
  bool is_to_host = false;  // UnwrittenCopy
  bool is_as_asked = false; // left out because the user asked for it
  // Accesses: nothing is missing; it may wait for another kernel; another event has more of them
  bool is_whole = false, may_wait = false, has_more = false;
  TextId kernel = 0;      // name as linked
  TextId reason = 0;      // half a sentence
  std::uint64_t call = 0; // order of the call that launched the kernel or its graph, or copied
  TextId lines = 0;       // as Fault's
  TextId instruction = 0;
  std::uint64_t made = 0, node = 0; // as Fault's
  std::uint64_t blocks_done = 0;    // Stopped
  std::uint64_t instructions = 0;   // of threads; Feature: executions
  std::uint64_t ran = 0, skipped = 0, stopped = 0, nanoseconds = 0; // Totals
  std::span<const UsedRows> rows; // Accesses; valid as long as the event

  TextId feature() const { return kernel; }          // Feature
  TextId function() const { return kernel; }         // Refused
  std::uint64_t launches() const { return call; }    // Totals, Feature, Unchecked
  std::uint64_t calls() const { return call; }       // Refused
  std::uint64_t threads() const { return made; }     // Totals
  std::uint64_t late() const { return node; }        // Totals: nanoseconds of --late
  std::uint64_t seed() const { return blocks_done; } // Totals: 0 as blocks are numbered
  // Accesses: its node's number in the graph's launch, and a bit for each node before it
  std::uint64_t index() const { return blocks_done; }
  std::uint64_t before() const { return instructions; }
  // UnwrittenCopy: first byte that nothing wrote, how many such there are, and bytes that it reads.
  // HostWrote: the same of what the host wrote
  std::uint64_t address() const { return node; }
  std::uint64_t missing() const { return blocks_done; }
  std::uint64_t bytes() const { return instructions; }
};

// The pattern beside a fenced block has changed.
struct GuardDamage {
  std::uint64_t address, bytes; // of the block
  std::uint64_t offset;         // of the first changed byte; before the block as two's complement
  std::uint64_t changed;        // from the first changed byte to the last
  std::uint64_t since;          // the order in which it was whole at the latest
  std::uint64_t found, found_more; // the first changed bytes, little endian
  trace::GuardMoment moment;
};

// What --guard did so far.
struct GuardCounts {
  std::uint64_t fenced = 0, most_bytes = 0, checked = 0, unchecked = 0, reused = 0;
  std::uint64_t plain[static_cast<std::size_t>(trace::GuardPlain::kCount)] = {}; // and why
};

// The host has memory where a block was freed.
struct HostMemory {
  std::uint64_t address, bytes;
};

// What a launch that failed asked for, and what its kernel may have.
struct LaunchLimits {
  std::uint64_t launch = 0; // its order
  std::uint64_t shared_bytes = 0, most_shared_bytes = 0, static_shared_bytes = 0;
  std::uint64_t registers = 0, most_threads = 0;
  std::uint64_t grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0;
};

// What PyTorch's caching allocator did with a block of its memory.
struct Tensor {
  std::uint64_t address, bytes; // as rounded up; refused: 0, and what was asked for
  // The thread's stream as PyTorch numbers it, 0 the default one, all ones unknown; refused: the
  // device's ordinal
  std::uint64_t stream;
  std::uint64_t reserved; // refused: bytes that it had of the device
  trace::TensorOp op;

  std::uint64_t device() const { return stream; } // refused
};

} // namespace event
} // namespace gmt
