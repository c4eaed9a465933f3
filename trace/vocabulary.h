// SPDX-License-Identifier: Apache-2.0
// The words of CUDA's memory that the trace and its readers share: kinds of memory, releases,
// objects, orderings and uses, with the numbers that they have in records. What a record looks like
// is in trace/format.h. C++17, includes nothing of ours and nothing of CUDA's.
#pragma once

#include <cstdint>

namespace gmt::trace {

// What an allocation is; decides which free function fits (analyzer/heap) and how a leak is named.
enum class MemoryKind : std::uint8_t {
  kUnknown = 0,
  kDevice = 1,  // cuMemAlloc
  kPitched = 2, // cuMemAllocPitch (also cudaMalloc3D)
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
  kSubAllocation = 19, // a region of a pool that registered itself by NVTX
  // __managed__ variables (since 1.5; kModuleGlobal before): host and device reach them; never a
  // leak
  kManagedVariable = 20,
};

// Which group of functions a release call belongs to.
enum class FreeFunction : std::uint8_t {
  kUnknown = 0,
  kMemFree = 1,      // cuMemFree
  kMemFreeAsync = 2, // cuMemFreeAsync
  kMemFreeHost = 3,  // cuMemFreeHost
  kHostUnregister = 4,
  kArrayDestroy = 5,
  kMipmappedArrayDestroy = 6,
  kMemRelease = 7,  // VMM handle
  kAddressFree = 8, // VMM reservation
  kMemUnmap = 9,    // VMM mapping
  kIpcClose = 10,
  kHostFree = 11, // free() of the C library
  kUnmapGraphics = 12,
  kGraphFreeNode = 13,    // made, not run: every launch of the graph frees it
  kRegionUnregister = 14, // nvtxMemRegionsUnregister
};

enum class ObjectClass : std::uint8_t {
  kContext = 1,
  kPrimaryContext = 2,
  kStream = 3,
  kEvent = 4,
  kModule = 5,
  kLibrary = 6,
  kPool = 7,
  kGraph = 8,
  kGraphExec = 9,
  kTexture = 10,
  kSurface = 11,
  kExternalMemory = 12,
  kExternalSemaphore = 13,
  kGreenContext = 14,
  kPeerAccess = 15,
  kUserHeap = 16,
  kArrayView = 17, // a level or plane of an array: a handle with no memory of its own
};

enum class LifeOp : std::uint8_t {
  kCreate = 1,
  kDestroy = 2,
  kReset = 3,
  kRetain = 4,
  kRelease = 5,
  kUse = 6,
  kSet = 7,
  kTrim = 8
};

enum class SyncOp : std::uint8_t {
  kStreamSynchronize = 1,
  kContextSynchronize = 2,
  kEventRecord = 3,
  kEventSynchronize = 4,
  kStreamWaitEvent = 5,
  kStreamQuery = 6,
  kEventQuery = 7,
  kHostFunction = 8,
  kGraphLaunch = 9,
  kBeginCapture = 10,
  kEndCapture = 11,
  kExternalWait = 12, // the stream waits for something outside CUDA (external semaphore)
  kGraphUpload = 13,  // since 1.4
  // Since 1.5: both events are done; the event stands for all work of the context; all later work
  // of the context waits for the event; something outside CUDA learns that the stream's work so far
  // is done.
  kElapsedTime = 14,
  kContextRecord = 15,
  kContextWait = 16,
  kExternalSignal = 17,
};

enum class UseClass : std::uint8_t {
  kTexture = 1,
  kPrefetch = 2,
  kAdvise = 3,
  kAttach = 4,
  kMemOp = 5,
  kExport = 6,
  kDiscard = 7,
  kAccess = 8,
  kMemOpWait = 9,
  kSurface = 10,
  kTensorMap = 11,
  kGraphNode = 12, // named by a graph's node: used at each launch
};

enum class GraphOp : std::uint8_t {
  kChild = 1,  // the node runs what the other graph holds now
  kUpdate = 2, // the graph-exec takes the parameters of the other graph's nodes
  kRemove = 3, // the node is gone
  kEnable = 4, // whether the node runs in this graph-exec
  // Since 1.5, what the node does: it records or waits for the event; the host hears of it, by a
  // host function or the destructor of an object that the graph owns (node 0); as the SyncOps of
  // these names.
  kEventRecord = 5,
  kEventWait = 6,
  kHost = 7,
  kExternalSignal = 8,
  kExternalWait = 9,
};

enum class RangeOp : std::uint8_t {
  kPush = 1,
  kPop = 2,
  kStart = 3,
  kEnd = 4,
  kMark = 5,
  kNameDomain = 6,
  kNameThread = 7,
  kNameResource = 8,
  kThread = 9, // what follows in this log is of that thread, which has no range open
};

enum class ExitWay : std::uint8_t { kExit = 1, kUnderscoreExit = 2, kExec = 3, kExecFailed = 4 };

enum class LossCause : std::uint8_t {
  kNoSpace = 1,    // the file could not grow: full disk, RLIMIT_FSIZE, no permission
  kTraceLimit = 2, // --max-trace reached: launches and copies first, allocations and frees last
  kReentry = 3,    // a signal handler cut into a growing log
  kNoLog = 4,      // no log could be made for a thread
  // Modules whose kernels could be given no device ring (since 1.2): their malloc and free are not
  // recorded
  kNoRing = 5,
  // A file could not be opened or grown for another reason than space (since 1.6)
  kNoDescriptors = 6, // the process, or the system, has no more of them
  kRefused = 7,       // by the system: seccomp, permissions, a file system without the operation
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

// Where memory of a copy's side lives as the call declares it.
enum class Side : std::uint8_t { kUnified = 0, kHost = 1, kDevice = 2, kArray = 3 };

// What a kernel called.
enum class DeviceOp : std::uint8_t {
  kMalloc = 1,
  kFree = 2,
  kAlignedMalloc = 3,
  kNew = 4,
  kNewArray = 5,
  kDelete = 6,
  kDeleteArray = 7,
};

// What kind of memory the pointer's window says it is in (__isShared, __isLocal). The windows lie
// elsewhere in every process, so only the kernel knows.
enum class DeviceSpace : std::uint8_t { kUnknown = 0, kShared = 1, kLocal = 2 };

struct Index3 {
  unsigned x, y, z;
};
constexpr bool operator==(Index3 a, Index3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Where the chip has no such metric.
inline constexpr std::uint64_t kUnknownCount = ~std::uint64_t{0};
// The number of an API where none is known.
inline constexpr std::uint16_t kNoApi = 0xffff;

} // namespace gmt::trace
