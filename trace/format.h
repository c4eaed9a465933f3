// SPDX-License-Identifier: Apache-2.0
// The trace's slot format: the one schema that the interposer writes, the device ring publishes and the
// analyzer reads. trace/FORMAT.md is the same in prose, with the guarantees after a crash.
//
// Invariants: a slot is 64 bytes, little endian; its head is stored last, with release order, so a zero head
// is "never written"; words 4..7 of the first slot and words 1..7 of each following kMore slot are the payload.
// C++17, includes nothing of ours and nothing of CUDA's, so that kernels, old compilers and readers can use it.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) // nvcc lets kernels call only what says that they may
#define GMT_HOST_DEVICE __host__ __device__
#else
#define GMT_HOST_DEVICE
#endif

namespace gmt::trace {

// Readers accept every minor of their own major and refuse other majors by name.
// A new kind, flag or `info` key raises the minor; any change of a slot's layout raises the major.
inline constexpr std::uint32_t kFormatMajor = 1;
inline constexpr std::uint32_t kFormatMinor = 5;

inline constexpr std::size_t kSlotBytes = 64;
inline constexpr std::size_t kLogHeaderBytes = 4096;
inline constexpr unsigned kFirstPayloadWords = 4;  // a[0..3] of the first slot
inline constexpr unsigned kMorePayloadWords = 7;   // words 1..7 of a kMore slot
inline constexpr unsigned kMaxSlotsPerRecord = 255; // as many as Head counts (32 before 1.1)
inline constexpr unsigned kMaxStackFrames = 128;

// What a record means. The payload's meaning is fixed by the kind, never by the API.
// P0.. are payload words: P0..P3 in the first slot, P4..P10 in the second, and so on.
enum class Kind : std::uint8_t {
  kNone = 0,      // never written (or torn, if a later slot is written)
  kMore = 1,      // continuation of the record before it
  kAbandoned = 2, // reserved and given up; skip
  // P0 id (per log, from 1), P1 frame count, P2.. return addresses, innermost first. Not a call.
  kStack = 3,
  // P0 handle, P1 number of bytes, P2.. the bytes: the name of a kernel, module or library. Not a call.
  kName = 4,
  // P0 CUcontext, P1 device ordinal, P2 1 if cuDevicePrimaryCtxRetain gave it out. Head's context field is the id it gets. Not a call.
  kContext = 5,
  // How the process says it is going to end. P0 is an ExitWay, P1 the status or target. Not a CUDA call.
  kExit = 6,
  // A loss. P0 is a LossCause, P1 how many records. Not a call.
  kLoss = 7,
  // A kernel, before its first launch in this log's process (since 1.1). P0 function handle (CUfunction or CUkernel), P1 number of
  // parameters, P2.. of each offset:32 size:32 (low to high) in the parameter block. Its name is a kName. Not a call.
  kKernel = 8,
  // A device, when its first context is met (since 1.1). P0 ordinal, P1 bytes of memory, P2 texture alignment, P3 texture pitch
  // alignment, P4 surface alignment, P5 1 if kernels may read pageable host memory, P6 1 if through the host's page tables,
  // P7 compute capability major * 10 + minor, P8 1 if host and device may touch managed memory at once, P9 kText id of its name,
  // P10 largest pitch of a copy. Attribute numbers: cuda.h. Not a call.
  kDevice = 9,
  // What cuMemGetInfo said right after an allocation failed (since 1.1): P0 free bytes, P1 total bytes. Not a call.
  kMemoryInfo = 10,
  // NVTX (since 1.1): P0 RangeOp, P1 domain (0 the default one), P2 kText id, P3 range id (kStart, kEnd), what is named
  // (thread id, handle of a stream, event or context) or, for kPop, how many ranges of the thread stay open. Pushes and
  // pops are written when the thread makes its next call: what had no call inside is left out. Not a call.
  kRange = 11,
  // A string (since 1.1): P0 id (a hash of its bytes, equal in every log), P1 number of bytes, P2.. the bytes. Not a call.
  kText = 12,
  // A thread begins to write here (since 1.5): P0 its id of the operating system, P1 its number in the process, from 1, which no other
  // thread ever has. What follows in this log is its own, until the next such record. Not a call.
  kThread = 13,

  // P0 address (or handle), P1 requested bytes (whole: pitch x height x depth for pitched), P2 Family, P3 stream or 0
  // (the graph for memory of a graph's node; for kVmmHandle the device's ordinal + 1, all ones for memory of the host).
  // Second slot if pitched, an array or from a pool: P4 pitch, P5 width in bytes, P6 height, P7 depth,
  // P8 element size, P9 pool handle, P10 flags of the call. P5 and P8 are 0 for arrays of formats whose rows are not made of
  // elements (block-compressed, planar); those of a mipmapped array are its first level's.
  kAlloc = 16,
  // P0 address (or handle), P1 FreeFunction, P2 stream (the graph of a free node) or 0, P3 bytes if the call names them (unmap, address free).
  kFree = 17,
  // P0 destination, P1 source, P2 bytes, P3 stream. Flags: copy_flags().
  // Second slot if 2D or 3D: P4 destination pitch, P5 source pitch, P6 width in bytes, P7 height, P8 depth,
  // P9 destination rows per slice, P10 source rows per slice. x and y offsets of linear sides are in P0/P1 already.
  // Third slot if an array takes part: P11..P13 destination x bytes, y, z; P14..P16 source x bytes, y, z.
  kCopy = 18,
  // P0 destination, P1 bytes in all (width x height), P2 value, P3 stream.
  // Second slot if 2D: P4 pitch, P5 width in bytes, P6 height, P7 element size.
  kSet = 19,
  // P0 function handle, P1 stream, P2 grid x:32 y:16 z:16 (low to high), P3 block x:16 y:16 z:16, 0:16.
  // P4.. (since 1.1): words of the parameter block that could be pointers, see argument_word(); 0 is unused. With kLaunchScanned
  // all of them are there.
  kLaunch = 20,
  // An object's life. P0 handle (device ordinal for primary contexts), P1 ObjectClass, P2 LifeOp, P3 extra:
  // device for contexts, the CUcontext for a retained primary one, flags for streams, parent for views, the graph for
  // graph-execs; for pools the device (create), the attribute (kSet, P4 its value), the bytes kept (kTrim), the device
  // that uses it from now on (kUse); for user heaps NVTX's usage, P4 address, P5 bytes, P6 kText id. Peer access: P0 the
  // peer's CUcontext, P3 the CUcontext that gains or loses access. Views: P4 which level of a mipmapped array, or which plane (since 1.5).
  kLife = 21,
  // Ordering. P0 stream, P1 event, other stream or (kGraphLaunch, kGraphUpload) graph-exec, (kEndCapture) the graph made, P2 SyncOp.
  // Since 1.5: P0 the context (kContextRecord, kContextWait); P3 SyncFlag bits (kEventRecord, kStreamWaitEvent), for kElapsedTime the
  // first event, P1 being the second.
  kSync = 22,
  // Any other recorded call: P0..P3 are its first four integer or pointer arguments, unread.
  kNote = 23,
  // A bind or use of memory that is neither copy nor set (texture, prefetch, advise, memop, export):
  // P0 address or handle, P1 bytes (0 unknown), P2 UseClass, P3 stream; for kTexture and kSurface the object that came out, for
  // kGraphNode the graph or graph-exec (0 if the call names the node only). Flags: kUseReads, kUseWrites.
  // Second slot where rows are bound (2D textures, tensor maps): P4 pitch, P5 width in bytes, P6 height, P7 element size.
  // For kGraphNode (since 1.4): P8 node, P9 which of the node's uses (0 takes the place of what it did before), P10 CUgraphNodeType.
  // Of a copy's destination (since 1.5): P11..P27 the whole copy, as kCopy's P0..P16, P28 its flags; the source has kUseToldBefore.
  kUse = 24,
  // A kernel that a graph's node runs, when the node is made or changed by hand (since 1.4): P0 function handle, P1 graph or graph-exec
  // (0 if the call names the node only), P2 and P3 as kLaunch's, P4 node. P5.. words of the arguments and the flag as kLaunch's P4...
  // What a capture adds to a graph is a kLaunch.
  kGraphKernel = 25,
  // Any other change of what a graph runs (since 1.4): P0 graph or graph-exec (0 if the call names the node only), P1 GraphOp, P2 node,
  // P3 the other graph (kChild, kUpdate), whether (kEnable) or the event (kEventRecord, kEventWait).
  kGraphChange = 26,

  // In-kernel allocations (since 1.2), in device-<n>.log only. All but kDeviceDrained are a DeviceSlot (trace/device_ring.h):
  // P0 pointer (0 if result is kDeviceOutOfMemory), P1 requested bytes, P2 grid id, P3 block index; P4 the alignment where one was asked for (kAlignedMalloc; kNew, kNewArray of wide types).
  kDeviceAlloc = 32,
  // P0 pointer, P2 grid id, P3 block index. Written before the real call, which can kill the context.
  kDeviceFree = 33,
  // A place in the source, written by the first thread that names it, before any record that names it too: P0 its id (from 1), P1 line, P2 bytes of function:32 file:32
  // (low to high), P3.. their bytes, function first.
  kDeviceSite = 34,
  // A grid, about its first record: P0 grid id, P1 extents as pack_block(), P2 block's extents as pack_block().
  kDeviceGrid = 35,
  // The drain, behind what it read at one time, an ordinary Slot: context and time (host) stand in their fields, P0 how many
  // slots it moved, P1 records lost since the ring's beginning because it was full, P2 torn slots passed over.
  kDeviceDrained = 36,

  // What instructions did to memory (since 1.3), in access-<n>.log only: one context's sums, whose payload words are raised
  // in place. kUnknownCount where the chip has no such metric.
  // A kernel that was launched, or a device function with measured instructions: P0 its number (from 1), P1 kText id of its name as
  // linked, P2 CUPTI's checksum of its cubin:32 a number of the function in it:32 (low to high; 0 before it was measured), P3 launches whose figures are in the sums, P4 launches
  // whose figures were lost, P5 launches seen in all (0 for device functions).
  // Since 1.5: P6 nanoseconds of a launch that was not measured (0 unknown), P7 launches that were due and put off to save time, P8
  // nanoseconds of the longest launch that was measured, P9 how many more launches than P3 have figures of shared memory (negative).
  kAccessFunction = 40,
  // One instruction: P0 number of its kAccessFunction:32 offset in the function:32 (low to high), P1 executions by warps,
  // P2 executions by threads (since 1.5 both only where a predicate was true, and P2 not of local memory). Global memory: P3 sectors, P4 ideal sectors, P5 bytes asked for. Shared memory: P6 wavefronts,
  // P7 ideal wavefronts, P8 bytes asked for. P9 sectors of local memory.
  kAccessInstruction = 41,
  // The whole of it, first in the file: P0 AccessTrouble, P1 the CUptiResult that told, P2 windows opened, P3 windows read, P4
  // windows given up (their figures are lost), P5 launches seen, P6 launches in windows read, P7 launches in windows given up,
  // P8 nanoseconds that windows were open, P9 graph launches, P10 launches that were due but put off to save time. Since 1.4,
  // of whole-kernel counters: P11 AccessTrouble, P12 the CUptiResult that told, P13 launches counted, P14 of them lost; P15 graph
  // launches whose kernels are not known: they are in no other count, while those of other graphs are launches that are not measured.
  // P16 graph launches and uploads while a window was open: the graphs' kernels may not have run. Since 1.5, of the process by
  // then: P17 nanoseconds that measuring took, P18 nanoseconds since its first launch.
  kAccessWindows = 42,
  // Whole-kernel counters (since 1.4), sums over launches that were counted in one of two passes: P0 number of the kernel's
  // kAccessFunction, P1 launches of the first pass, P14 of the second, P15 words of the first pass:32 of the second:32 (low to high;
  // bit n is Pn). P2 bytes read from and P3 written to the device's memory, P4 sectors looked up in L1, P5 found there, P6 looked up in
  // L2, P13 found there; global memory: P7 loads by warps, P8 their sectors, P9 stores by warps, P10 their sectors; P11 nanoseconds that
  // the kernel ran, P12 bytes that the device's memory can move in that time.
  kAccessCounters = 43,
};

// kAccessWindows: why nothing, or nothing more, was measured.
enum class AccessTrouble : std::uint8_t {
  kNone = 0,
  kNoLibrary = 1,    // libcupti was not found, or lacks a function
  kNotSupported = 2, // CUPTI knows no such metrics for this GPU
  kBusy = 3,         // another profiler holds CUPTI
  kNotPermitted = 4, // the driver keeps counters from this user
  kError = 5,        // any other refusal
};
inline constexpr std::uint64_t kUnknownCount = ~std::uint64_t{0};

// What an allocation is; decides which free function fits (analyzer/heap) and how a leak is named.
enum class Family : std::uint8_t {
  kUnknown = 0,
  kDevice = 1,        // cuMemAlloc
  kPitched = 2,       // cuMemAllocPitch (also cudaMalloc3D)
  kManaged = 3,
  kPinned = 4,        // cuMemHostAlloc, cuMemAllocHost
  kRegistered = 5,    // cuMemHostRegister
  kStreamOrdered = 6, // cuMemAllocAsync, cuMemAllocFromPoolAsync
  kArray = 7,
  kMipmappedArray = 8,
  kVmmHandle = 9,       // cuMemCreate, import, retain
  kVmmReservation = 10, // cuMemAddressReserve
  kVmmMapping = 11,     // cuMemMap
  kIpc = 12,            // cuIpcOpenMemHandle
  kPoolImport = 13,     // cuMemPoolImportPointer
  kExternal = 14,       // cuExternalMemoryGetMappedBuffer
  kGraph = 15,          // graph memory node
  kModuleGlobal = 16,   // __device__ and __constant__ variables: never a leak
  kGraphics = 17,       // mapped graphics resource
  kMulticast = 18,
  kSubAllocation = 19, // a region of a pool that registered itself by NVTX; P9 is the pool
  kManagedVariable = 20, // __managed__ variables (since 1.5; kModuleGlobal before): host and device reach them; never a leak
};

// Which function family a release call belongs to.
enum class FreeFunction : std::uint8_t {
  kUnknown = 0,
  kMemFree = 1,       // cuMemFree
  kMemFreeAsync = 2,  // cuMemFreeAsync
  kMemFreeHost = 3,   // cuMemFreeHost
  kHostUnregister = 4,
  kArrayDestroy = 5,
  kMipmappedArrayDestroy = 6,
  kMemRelease = 7,     // VMM handle
  kAddressFree = 8,    // VMM reservation
  kMemUnmap = 9,       // VMM mapping
  kIpcClose = 10,
  kHostFree = 11,      // free() of the C library
  kUnmapGraphics = 12,
  kGraphFreeNode = 13, // made, not run: every launch of the graph frees it
  kRegionUnregister = 14, // nvtxMemRegionsUnregister
};

enum class ObjectClass : std::uint8_t {
  kContext = 1, kPrimaryContext = 2, kStream = 3, kEvent = 4, kModule = 5, kLibrary = 6, kPool = 7,
  kGraph = 8, kGraphExec = 9, kTexture = 10, kSurface = 11, kExternalMemory = 12, kExternalSemaphore = 13,
  kGreenContext = 14, kPeerAccess = 15, kUserHeap = 16,
  kArrayView = 17, // a level or plane of an array: a handle with no memory of its own; P3 the array (or graphics resource)
};
enum class LifeOp : std::uint8_t { kCreate = 1, kDestroy = 2, kReset = 3, kRetain = 4, kRelease = 5, kUse = 6, kSet = 7, kTrim = 8 };
enum class SyncOp : std::uint8_t {
  kStreamSynchronize = 1, kContextSynchronize = 2, kEventRecord = 3, kEventSynchronize = 4, kStreamWaitEvent = 5,
  kStreamQuery = 6, kEventQuery = 7, kHostFunction = 8, kGraphLaunch = 9, kBeginCapture = 10, kEndCapture = 11,
  kExternalWait = 12, // the stream waits for something outside CUDA (external semaphore)
  kGraphUpload = 13,  // since 1.4
  // Since 1.5: both events are done; the event stands for all work of the context; all later work of the context waits for
  // the event; something outside CUDA learns that the stream's work so far is done.
  kElapsedTime = 14, kContextRecord = 15, kContextWait = 16, kExternalSignal = 17,
};
// The event is the graph's, not the capture's: cudaEventRecordExternal, cudaEventWaitExternal.
inline constexpr std::uint64_t kSyncExternal = 1;
enum class UseClass : std::uint8_t {
  kTexture = 1, kPrefetch = 2, kAdvise = 3, kAttach = 4, kMemOp = 5, kExport = 6, kDiscard = 7, kAccess = 8,
  kMemOpWait = 9, kSurface = 10, kTensorMap = 11, kGraphNode = 12, // named by a graph's node: used at each launch
};
enum class GraphOp : std::uint8_t {
  kChild = 1,  // the node runs what the other graph holds now
  kUpdate = 2, // the graph-exec takes the parameters of the other graph's nodes
  kRemove = 3, // the node is gone
  kEnable = 4, // whether the node runs in this graph-exec
  // Since 1.5, what the node does: it records or waits for the event; the host hears of it, by a host function or the
  // destructor of an object that the graph owns (node 0); as the SyncOps of these names.
  kEventRecord = 5, kEventWait = 6, kHost = 7, kExternalSignal = 8, kExternalWait = 9,
};
enum class RangeOp : std::uint8_t {
  kPush = 1, kPop = 2, kStart = 3, kEnd = 4, kMark = 5, kNameDomain = 6, kNameThread = 7, kNameResource = 8,
  kThread = 9, // P3: thread id; what follows in this log is of that thread, which has no range open
};
enum class ExitWay : std::uint8_t { kExit = 1, kUnderscoreExit = 2, kExec = 3, kExecFailed = 4 };
enum class LossCause : std::uint8_t {
  kNoSpace = 1,    // the file could not grow: full disk, RLIMIT_FSIZE, no permission
  kTraceLimit = 2, // --max-trace reached: launches and copies first, allocations and frees last
  kReentry = 3,    // a signal handler cut into a growing log
  kNoLog = 4,      // no log could be made for a thread
  kNoRing = 5,     // modules whose kernels could be given no device ring (since 1.2): their malloc and free are not recorded
};

// Where memory of a copy's side lives as the call declares it.
enum class Side : std::uint8_t { kUnified = 0, kHost = 1, kDevice = 2, kArray = 3 };

// Flags common to all kinds; the low 12 bits belong to the kind.
inline constexpr std::uint16_t kFlagNested = 1u << 12;   // called by the driver itself or by another recorded call
inline constexpr std::uint16_t kFlagNoStack = 1u << 13;  // the stack could not be captured here
inline constexpr std::uint16_t kFlagRuntime = 1u << 15;  // written by a runtime row: no driver call followed

// kCopy: bits 0-1 destination Side, 2-3 source Side, 4 asynchronous, 8-11 cudaMemcpyKind + 1 as the runtime call
// declared it, 0 if no runtime call is known.
constexpr std::uint16_t copy_flags(Side destination, Side source, bool async) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(destination) | static_cast<unsigned>(source) << 2 |
                                    (async ? 16u : 0u));
}
inline constexpr std::uint16_t kCopyAsync = 16;
inline constexpr std::uint16_t kCopyBatched = 32;    // one of several copies of one call (since 1.1)
inline constexpr std::uint16_t kSetAsync = 16;       // kSet, kFree: stream-ordered form
inline constexpr std::uint16_t kUseReads = 1;        // kUse: the device reads there (since 1.1; neither flag: not known)
inline constexpr std::uint16_t kUseWrites = 2;       // kUse: the device writes there
inline constexpr std::uint16_t kUseToldBefore = 4;   // kUse: a record before tells all of the copy that this is a side of (since 1.5)
inline constexpr std::uint16_t kLaunchScanned = 1;   // kLaunch: P4.. hold all that could be pointers (since 1.1)

inline constexpr unsigned kNodeCopy = 11, kNodeCopyFlags = 28; // words of a kUse, see there

// A word of a kernel's parameter block with the number of its parameter (kNoParameter from there on). Addresses have at most
// 57 bits on every machine that CUDA runs on.
inline constexpr unsigned kArgumentShift = 57;
inline constexpr unsigned kNoParameter = 127;
constexpr std::uint64_t argument_word(std::uint64_t address, unsigned parameter) {
  return address | std::uint64_t{parameter < kNoParameter ? parameter : kNoParameter} << kArgumentShift;
}
// The first payload word that is one; 0 where there are none.
constexpr unsigned first_argument(Kind kind) { return kind == Kind::kLaunch ? 4 : kind == Kind::kGraphKernel ? 5 : 0; }
constexpr std::uint64_t argument_address(std::uint64_t word) { return word & ((std::uint64_t{1} << kArgumentShift) - 1); }
constexpr unsigned argument_parameter(std::uint64_t word) { return static_cast<unsigned>(word >> kArgumentShift); }

// Slot::order: the low 48 bits are the order; the high 16 (since 1.1) how long the call took in ticks of the time stamp
// counter: mantissa:11 exponent:5, value = mantissa << exponent, 0 unknown.
inline constexpr unsigned kOrderBits = 48;
inline constexpr std::uint64_t kOrderMask = (std::uint64_t{1} << kOrderBits) - 1;
constexpr std::uint64_t order_of(std::uint64_t word) { return word & kOrderMask; }
constexpr std::uint64_t ticks_of(std::uint64_t word) {
  const std::uint64_t code = word >> kOrderBits;
  return (code & 0x7ff) << (code >> 11);
}
constexpr std::uint64_t with_ticks(std::uint64_t order, std::uint64_t ticks) {
  const unsigned bits = ticks != 0 ? 64 - static_cast<unsigned>(__builtin_clzll(ticks)) : 0;
  const unsigned exponent = bits <= 11 ? 0 : bits < 11 + 31 ? bits - 11 : 31;
  std::uint64_t mantissa = ticks >> exponent;
  if (mantissa > 0x7ff) mantissa = 0x7ff;
  return order_of(order) | (mantissa | std::uint64_t{exponent} << 11) << kOrderBits;
}

// Head.result: the CUresult (or cudaError_t with kFlagRuntime), or one of these.
inline constexpr std::uint16_t kResultInFlight = 0xffff; // the call had not returned
inline constexpr std::uint16_t kNoApi = 0xffff;          // Slot::via when no runtime call is known

struct Head {
  Kind kind;
  std::uint8_t slots; // 1 + number of kMore slots that follow
  std::uint16_t api;  // line number (from 0) in the trace's `apis`
  std::uint16_t flags;
  std::uint16_t result;
};
static_assert(sizeof(Head) == 8);

GMT_HOST_DEVICE constexpr std::uint64_t pack(Head h) {
  return static_cast<std::uint64_t>(h.kind) | std::uint64_t{h.slots} << 8 | std::uint64_t{h.api} << 16 |
         std::uint64_t{h.flags} << 32 | std::uint64_t{h.result} << 48;
}
// Of a packed head whose result is 0.
constexpr std::uint64_t with_result(std::uint64_t head, std::uint16_t result) { return head | std::uint64_t{result} << 48; }
constexpr Head unpack(std::uint64_t w) {
  return {static_cast<Kind>(w & 0xff), static_cast<std::uint8_t>(w >> 8), static_cast<std::uint16_t>(w >> 16),
          static_cast<std::uint16_t>(w >> 32), static_cast<std::uint16_t>(w >> 48)};
}

struct Slot {
  std::uint64_t head;   // pack(Head), stored last
  std::uint64_t order;  // process-wide counter: taken before frees, after allocations; see order_of()
  std::uint64_t time;   // time stamp counter; calibration pairs in `info`, log headers and `complete`
  std::uint32_t stack;  // kStack id of this log, 0 none
  std::uint16_t context; // kContext id of this process, 0 unknown
  std::uint16_t via;     // runtime row whose call led here, kNoApi if none
  std::uint64_t a[kFirstPayloadWords];
};
static_assert(sizeof(Slot) == kSlotBytes && offsetof(Slot, a) == 32);

// kMore: head (kind kMore) and seven payload words.
struct MoreSlot {
  std::uint64_t head;
  std::uint64_t payload[kMorePayloadWords];
};
static_assert(sizeof(MoreSlot) == kSlotBytes);

// First page of every log file. Slots start at kLogHeaderBytes.
struct LogHeader {
  char magic[8];        // kLogMagic
  std::uint32_t major, minor;
  std::uint32_t pid, tid; // tid of the first thread that wrote here; kThread tells of the others
  std::uint64_t tsc;      // a calibration pair: time stamp counter and CLOCK_MONOTONIC at creation
  std::uint64_t monotonic_ns;
  std::uint64_t lost[8];  // by LossCause; the owner's, but kNoLog in the first log counts for threads without one
};
static_assert(sizeof(LogHeader) <= kLogHeaderBytes);
inline constexpr char kLogMagic[8] = {'G', 'M', 'T', 'L', 'O', 'G', '1', '\n'};

GMT_HOST_DEVICE constexpr unsigned slots_for(unsigned payload_words) {
  return payload_words <= kFirstPayloadWords
             ? 1u
             : 1u + (payload_words - kFirstPayloadWords + kMorePayloadWords - 1) / kMorePayloadWords;
}

} // namespace gmt::trace
