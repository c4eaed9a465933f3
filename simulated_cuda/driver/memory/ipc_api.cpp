// SPDX-License-Identifier: Apache-2.0
// Memory and events of other processes: cuIpc*. A handle says which process has the memory and
// where it lies in the file that is its device's memory; the other process opens that file through
// /proc and maps the piece. Called through driver_api.def with the lock held. Invariant: only
// cuMemAlloc memory has a handle, and every address inside an allocation has the same one; what is
// opened twice is mapped once and needs two closes. A process cannot open its own handles (201, as
// an H200 answers).
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/state/mapping.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace gmt::sim {
namespace {

constexpr char kIpcMagic[8] = "gmt-sim";

struct Handle {
  char magic[sizeof kIpcMagic];
  pid_t process;
  int file; // number of the device's memory in that process
  int device;
  std::uint32_t id;
  std::uint64_t offset;
  std::uint64_t bytes;
};
static_assert(sizeof(Handle) <= CU_IPC_HANDLE_SIZE);

template <class Ipc>
Handle read_handle(const Ipc& ipc) {
  Handle handle;
  std::memcpy(&handle, ipc.reserved, sizeof handle);
  return handle;
}

template <class Ipc>
void write_handle(Ipc* ipc, Handle handle) {
  std::memcpy(handle.magic, kIpcMagic, sizeof kIpcMagic);
  handle.process = getpid();
  *ipc = {};
  std::memcpy(ipc->reserved, &handle, sizeof handle);
}

// 0 if the handle is one of ours and of another process.
CUresult check_handle(const Handle& handle) {
  if (std::memcmp(handle.magic, kIpcMagic, sizeof kIpcMagic) != 0) return CUDA_ERROR_INVALID_VALUE;
  return handle.process == getpid() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

std::uint64_t key_of(const Handle& handle) {
  return static_cast<std::uint64_t>(handle.process) << 32 | handle.id;
}

Block* find_opened(std::uint64_t key) {
  Block* found = nullptr;
  state().blocks.for_each([&](Block& block) {
    if (block.kind == BlockKind::kIpc && block.handle == key) found = &block;
  });
  return found;
}

// The other process's file, or -1 if the process is gone or may not be looked at.
int open_file_of(const Handle& handle) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process, handle.file);
  return open(path, O_RDWR | O_CLOEXEC);
}

} // namespace

CUresult ipc_get_mem_handle(CUipcMemHandle* out, CUdeviceptr address) {
  const Block* block = state().blocks.containing(address);
  if (out == nullptr || block == nullptr || block->kind != BlockKind::kDevice)
    return CUDA_ERROR_INVALID_VALUE;
  Handle handle{};
  handle.file = block->device->memory_fd;
  handle.device = block->device->ordinal;
  handle.id = static_cast<std::uint32_t>(block->id);
  handle.offset = block->device->offset_of(block->base);
  handle.bytes = block->size;
  write_handle(out, handle);
  return CUDA_SUCCESS;
}

CUresult ipc_open_mem_handle(CUdeviceptr* out, CUipcMemHandle ipc, unsigned flags) {
  if (out == nullptr || (flags & ~static_cast<unsigned>(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Handle handle = read_handle(ipc);
  if (CUresult bad = check_handle(handle); bad != CUDA_SUCCESS) return bad;
  if (Block* opened = find_opened(key_of(handle))) {
    ++opened->opened;
    *out = opened->base;
    return CUDA_SUCCESS;
  }
  const int file = open_file_of(handle);
  if (file < 0)
    return errno == EMFILE || errno == ENFILE ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_MAP_FAILED;
  Block block;
  const bool mapped = holds(file, handle.offset + handle.bytes) &&
                      map_foreign(file, static_cast<off_t>(handle.offset), handle.bytes, &block);
  close(file);
  if (!mapped) return CUDA_ERROR_MAP_FAILED;
  block.kind = BlockKind::kIpc;
  block.context = this_thread().current();
  block.device = state().device(handle.device);
  if (block.device == nullptr) block.device = &current_device();
  block.handle = key_of(handle);
  block.opened = 1;
  state().blocks.add(block);
  *out = block.base;
  return CUDA_SUCCESS;
}

CUresult ipc_close_mem_handle(CUdeviceptr address) {
  Block* block = state().blocks.at_base(address);
  if (block == nullptr || block->kind != BlockKind::kIpc) return CUDA_ERROR_INVALID_VALUE;
  if (--block->opened == 0) release_block(*block);
  return CUDA_SUCCESS;
}

CUresult ipc_get_event_handle(CUipcEventHandle* out, CUevent event_handle) {
  const Event* event = state().events.get(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || (event->flags & CU_EVENT_INTERPROCESS) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  write_handle(out, {});
  return CUDA_SUCCESS;
}

// Work is done in call order, so another process's event is complete whenever this process can wait
// for it.
CUresult ipc_open_event_handle(CUevent* out, CUipcEventHandle ipc) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = check_handle(read_handle(ipc)); bad != CUDA_SUCCESS) return bad;
  auto event = std::make_unique<Event>();
  event->context = this_thread().current();
  event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  *out = reinterpret_cast<CUevent>(state().events.add(std::move(event)));
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
