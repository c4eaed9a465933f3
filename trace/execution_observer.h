// SPDX-License-Identifier: Apache-2.0
// What happens inside kernels on the simulated device, as it reports to a tool that asks: an ABI of
// plain structures between two libraries that share nothing else. The simulated libcuda exports
// kObserveSymbol. The tool finds it there and gives it a table of functions. It gets a call for
// each report, skipped launch and allocation of a kernel.
//
// Invariants: every structure begins with its size, and a field behind that size is not there, so
// that either side may be older. Texts are UTF-8, end with a zero, may be null where nothing is
// known, and live until the call returns. The functions may be called by any thread, several at
// once, with any lock of the device held: they make no CUDA call and do not wait for one. C++17,
// includes nothing of ours and nothing of CUDA's.
#pragma once

#include <cstdint>

namespace gmt::trace {

inline constexpr std::uint32_t kExecutionVersion = 1; // another one: neither side calls the other

// What a report is about.
enum class ExecutionReport : std::uint32_t {
  kOutOfBounds = 1,
  kUseAfterFree = 2,
  kMisaligned = 3,
  kUninitializedRead = 4,
  kSharedRace = 5,
  kBarrierDivergence = 6, // threads wait at a barrier that others left out or wait elsewhere for
  kDeadlock = 7,          // no thread of the block or grid can go on
  kAssert = 8,            // `message` is the text that CUDA prints
  kTrap = 9,
  kIllegalInstruction = 10,
  kStackOverflow = 11,
  kInvalidAddressSpace = 12,
  kInvalidJump = 13, // an indirect call or branch to no function
  kOther = 14,       // `message` says what
  kHang = 15,        // all threads wait or poll, and nothing changes any more
  // `message`: "same value", "poll", "flag", "relaxed": a habit. "order SEED BLOCKS", also of
  // kSharedRace: seen where the first BLOCKS blocks had the order of a seed; "result SEED BLOCKS":
  // they leave another value then
  kGlobalRace = 16,
};

enum class ExecutionSpace : std::uint32_t {
  kUnknown = 0,
  kGlobal = 1,
  kShared = 2,
  kLocal = 3,
  kConstant = 4,
  kParameter = 5,
  kGeneric = 6, // a generic address in no window
};

enum class ExecutionAccess : std::uint32_t {
  kUnknown = 0,
  kLoad = 1,
  kStore = 2,
  kAtomic = 3,
  kReduction = 4,
  kCopy = 5, // both sides in one instruction, such as cp.async
};

// Which launch. `call` is what ExecutionObserver::call_in_progress answered on the thread that
// submitted the work: the launch, or the launch of a graph. For a kernel of a graph `node` is its
// CUgraphNode, and `made` what was answered inside the call that made the node or captured it.
struct ExecutionLaunch {
  std::uint64_t call;    // 0 unknown
  std::uint64_t made;    // 0: no graph's, or unknown
  std::uint64_t node;    // 0: no graph's
  std::uint64_t context; // CUcontext
  std::uint64_t stream;  // CUstream
  // As a GPU's grid ids: the context's launches, those of kernels in graphs included, from 1
  std::uint64_t grid_id;
  std::uint64_t function; // CUfunction or CUkernel
  const char* kernel;     // as linked: _Z4fillPfi
  std::uint32_t grid[3];  // extents
  std::uint32_t block[3];
};

// A line of the source. Several are inlined functions, innermost first.
struct ExecutionLine {
  const char* function; // as linked or as written; null: the one that has the code
  const char* file;     // as the compiler recorded it
  std::uint32_t line;   // 0 unknown
  std::uint32_t reserved;
};

// A thread at an instruction.
struct ExecutionLocation {
  const ExecutionLine* lines;
  std::uint32_t line_count;
  std::uint32_t has_thread; // 1: `block` and `thread` are known
  const char* instruction;  // text of the PTX
  const char* function;     // as linked: the kernel, or the device function that has the code
  std::uint32_t ptx_line;   // of the module's text, 0 unknown
  std::uint32_t reserved;
  std::uint32_t block[3], thread[3];
};

// What lies at the address or nearest to it, as far as the device knows better than its host
// program: a variable, the shared or local memory of the kernel, a block of the device heap, whose
// `space` is kUnknown.
// `bytes` 0: nothing is said.
struct ExecutionNeighbour {
  std::uint64_t begin, bytes;
  std::uint32_t is_freed;
  ExecutionSpace space;
  const char* name; // of a variable, null if it is none
};

struct ExecutionFault {
  std::uint32_t size;
  ExecutionReport kind;
  ExecutionLaunch launch;
  ExecutionLocation location; // the first thread that it happened to
  std::uint64_t address;      // of the access; in shared, local and parameter memory the offset
  std::uint32_t has_address;
  std::uint32_t bytes; // of the access of one thread
  ExecutionSpace space;
  ExecutionAccess access;
  std::uint64_t count; // how often this instruction did it in this launch, at least 1
  // Whether a GPU would have stopped the kernel here, with the CUresult that it answers; 0: it goes
  // on, as a read past a block's end inside mapped memory does
  std::uint32_t gpu_error;
  std::uint32_t has_other; // 1: `other` is the second location
  ExecutionNeighbour neighbour;
  // Races: the earlier access. Barriers: another thread that waits elsewhere or has left.
  ExecutionLocation other;
  ExecutionAccess other_access;
  std::uint32_t reserved;
  const char* message;
};

enum class ExecutionEnd : std::uint32_t {
  kNotRun = 1,        // nothing of it ran: what it might have written counts as written
  kStopped = 2,       // in the middle, at a limit: its outputs are half written
  kNotSelected = 3,   // left out on purpose, as --kernel-launches asked
  kRunOver = 6,       // no launch is meant: the program is ended behind this one (--run-time)
  kRacesLeftOut = 10, // it ran: races in global memory were not looked for everywhere
};

// A launch that did not run to its end, or was not checked, for a reason that is no mistake of the
// program.
struct ExecutionSkip {
  std::uint32_t size;
  ExecutionEnd end;
  ExecutionLaunch launch;
  ExecutionLocation location; // the instruction that cannot be executed; no lines: none is to blame
  const char* reason;         // half a sentence: "tex.2d.v4.f32.f32 is not executed"
  std::uint64_t blocks_done, instructions_done;
  std::uint32_t as_asked; // 1: kStopped as an option of the user, or a signal to the program, asked
  std::uint32_t reserved;
};

// A call that the device refuses because it does not implement it: no mistake of the program.
struct ExecutionRefusal {
  std::uint32_t size;
  std::uint32_t reserved;
  const char* function; // "cuGraphConditionalHandleCreate"
  const char* what;     // of the function, "nodes of this kind"; null: all of it
};

// What is missing in a copy's source, on the whole.
enum class ExecutionUnwritten : std::uint32_t {
  kWhole = 1, // all of it
  kPart = 2,
  kTail = 3, // the end of the block, or a part of that: it was never filled so far
};

// A copy that reads memory of the device of which nothing has written some bytes: no copy, no set
// and no kernel. Not said of padding: gaps that repeat with the stride of an element or a row.
struct ExecutionCopy {
  std::uint32_t size;
  ExecutionUnwritten form;
  std::uint64_t call;           // as ExecutionLaunch has it: the copy, or the launch of its graph
  std::uint64_t context;        // CUcontext
  std::uint64_t address;        // of the first byte that is missing
  std::uint64_t bytes, missing; // that it reads
  std::uint32_t to_host;        // 1: to memory that the host can read
  std::uint32_t reserved;
};

// What a node of a graph does with whole blocks of memory besides its use of them.
enum class ExecutionLife : std::uint32_t { kUsed, kAllocated, kFreed };

// Rows of bytes that were used alike. Those that are allocated or freed count as written.
struct ExecutionRows {
  std::uint64_t address = 0, width = 0; // of the first row, and bytes of a row
  std::uint64_t pitch = 0, count = 1;   // bytes from row to row, and how many rows
  std::uint32_t is_read = 0, is_written = 0;
  std::uint32_t is_strong = 0; // by atomics and strong accesses of the device's scope alone
  ExecutionLife life = ExecutionLife::kUsed;
};

// Which memory of the device or the host a launch used, or a graph's node that copies, sets,
// allocates or frees. Said behind it where other work may run at the same time.
struct ExecutionAccesses {
  std::uint32_t size;
  std::uint32_t is_whole; // 0: some are missing
  ExecutionLaunch launch; // of a copy or set: no kernel
  std::uint64_t index;    // of a graph's node: its number in the launch of the graph, from 0
  std::uint64_t before;   // bits of the first 64 nodes: those that are done before this one begins
  const ExecutionRows* rows;
  std::uint32_t row_count;
  std::uint32_t may_wait; // 1: its code has atomics or strong loads: it may wait for other kernels
};

// A copy that runs later than its call (--late).
struct ExecutionHostWrite {
  std::uint32_t size;
  std::uint32_t is_known;       // 0: the bytes were not kept, so that nothing is known
  std::uint64_t call;           // as ExecutionLaunch has it: the copy
  std::uint64_t context;        // CUcontext
  std::uint64_t address;        // of the first byte of a side that the host changed in between
  std::uint64_t bytes, changed; // of that side
};

// The device heap of kernels: malloc() and free() in them.
struct ExecutionHeapCall {
  std::uint32_t size;
  std::uint32_t is_free; // the call comes before it happens
  ExecutionLaunch launch;
  ExecutionLocation location;
  std::uint64_t pointer;                // 0 of a malloc(): the heap was exhausted
  std::uint64_t bytes;                  // asked for
  std::uint64_t heap_bytes, used_bytes; // the heap's limit, and what is alive in it
  // Of a free(): where the pointer's window says it points; kUnknown in global memory
  ExecutionSpace space;
  std::uint32_t reserved;
};

// What the accesses of one instruction moved in a launch, as CUPTI's metrics of instructions count
// it.
struct ExecutionInstructionTraffic {
  std::uint32_t number; // of the instruction in its function's PTX, from 0
  ExecutionAccess access;
  ExecutionSpace space; // that the code names
  std::uint32_t bytes;  // of one thread
  // Equal in a function where instructions add their offsets to one register; 255: unknown
  std::uint32_t base;
  std::int32_t offset;
  std::uint64_t executions, threads;          // by warps; by their threads
  std::uint64_t sectors, ideal_sectors;       // of global memory
  std::uint64_t wavefronts, ideal_wavefronts; // of shared memory
};

// A kernel, or a function that it calls. Its instructions are all that may be counted, by number.
struct ExecutionFunctionTraffic {
  std::uint64_t identity; // equal for equal code, never 0
  const char* name;       // as linked
  std::uint32_t is_kernel, was_used;
  const ExecutionInstructionTraffic* instructions;
  std::uint32_t instruction_count, reserved;
};

// Said behind each launch that ran, if the tool has the function for it.
struct ExecutionTraffic {
  std::uint32_t size;
  std::uint32_t function_count;
  ExecutionLaunch launch;
  const ExecutionFunctionTraffic* functions;
  void* owner; // for lines()
  // The lines of an instruction, by its index: how many, and where they stand until the next call.
  std::uint32_t (*lines)(void* owner, std::uint32_t function, std::uint32_t instruction,
                         const ExecutionLine** lines);
};

// How true the launches that ran were to a GPU: one row a feature.
struct ExecutionFidelity {
  std::uint32_t size;
  std::uint32_t is_exact; // 0: approximate
  const char* feature;    // "ex2.approx.f32"
  std::uint64_t instructions, launches;
};

struct ExecutionTotals {
  std::uint32_t size;
  std::uint32_t row_count;
  std::uint64_t launches, ran, skipped, stopped;
  std::uint64_t thread_instructions, nanoseconds;
  const ExecutionFidelity* rows; // an array whose elements have the size of the first one
  std::uint64_t seed;            // of the order of blocks and warps; 0: as they are numbered
  std::uint64_t threads;         // that may run blocks
  std::uint64_t late;            // nanoseconds by which asynchronous work may run late
};

// What the tool gives. Functions that it does not want are null.
struct ExecutionObserver {
  std::uint32_t size;
  std::uint32_t version;
  // On the thread that makes a CUDA call, inside it: a number for that call, to be handed back in
  // ExecutionLaunch. Never 0 but where the call is not recorded.
  std::uint64_t (*call_in_progress)();
  void (*fault)(const ExecutionFault*);
  void (*skipped)(const ExecutionSkip*);
  void (*heap_call)(const ExecutionHeapCall*);
  // Of the process so far, behind each launch. Rows are only added, at the end.
  void (*totals)(const ExecutionTotals*);
  void (*unwritten_copy)(const ExecutionCopy*); // inside the call, before the bytes are copied
  void (*refused)(const ExecutionRefusal*);
  void (*accesses)(const ExecutionAccesses*);
  void (*host_wrote)(const ExecutionHostWrite*); // inside the copy, before the bytes are copied
  void (*traffic)(const ExecutionTraffic*);      // not null: kernels run slower
  // On the thread that makes a CUDA call, inside it: 1 if an NVTX range of that name is open there,
  // or in the process.
  std::uint32_t (*is_in_range)(const char* name);
};

// The function behind kObserveSymbol. The observer's table is static; null takes it away. Answers
// the device's kExecutionVersion; if that is another one, nothing is ever called.
using ObserveExecution = std::uint32_t(const ExecutionObserver*);
inline constexpr char kObserveSymbol[] = "gpumemtrace_observe_execution";

} // namespace gmt::trace
