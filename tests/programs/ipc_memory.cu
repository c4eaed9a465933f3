// SPDX-License-Identifier: Apache-2.0
// A second process opens this one's memory: by an IPC handle, and from a pool by its file descriptor. What it opens it
// has to close; its end would do that too, but a server that opens one handle a request runs out of addresses.
//
// unlike-fenced: the memory of other processes is not fenced
// run:
// processes: 2
// expect: clean
// run: forgotten
// processes: 2
// expect: error leak bytes=4096 count=1 stacks="allocated here"@open_block:LINE(open)
// run: twice
// processes: 2
// expect: error double-free count=1 api=cudaIpcCloseMemHandle stacks="allocated here"@open_block:LINE(open),"first closed here"@close_twice:LINE(first),"closed again here"@close_twice:LINE(again)
// run: wrong
// processes: 2
// expect: error mismatched-free count=1 api=cudaFree stacks="allocated here"@open_block:LINE(open),"freed here"@free_opened:LINE(wrong)
// run: pool
// processes: 2
// expect: clean
// run: pool-forgotten
// processes: 2
// expect: error leak bytes=4096 count=1 stacks="allocated here"@import_pointer:LINE(import)
// run: past
// processes: 2
// expect: error copy-out-of-bounds count=1 api=cudaMemset stacks="allocated here"@open_block:LINE(open),"set here"@set_past:LINE(past)
// run: unordered
// processes: 2
// device: simulated
// expect: error stream-race count=1 line=LINE(other)
// run: event
// processes: 2
// expect: clean
// not-checked: stream-race
// run: own-event
// processes: 2
// expect: clean
#include "answers.h"

#include <sys/wait.h>
#include <unistd.h>

constexpr size_t kBytes = 4096;
constexpr int kPoolFile = 3; // the pool's descriptor in the second process
constexpr auto kFile = cudaMemHandleTypePosixFileDescriptor;

// What the first process tells the second, on its standard input.
struct Message {
  cudaIpcMemHandle_t block;
  cudaMemPoolPtrExportData pointer;
  cudaIpcEventHandle_t event;
};

static void* open_block(const Message& message)
{
  void* block = nullptr;
  CHECK(cudaIpcOpenMemHandle(&block, message.block, cudaIpcMemLazyEnablePeerAccess)); // @open
  TOUCH(block, kBytes);
  return block;
}

static void close_twice(void* block)
{
  CHECK(cudaIpcCloseMemHandle(block)); // @first
  ANSWERS(cudaErrorInvalidValue, cudaIpcCloseMemHandle(block)); // @again
}

// The size is the exporter's, to the byte.
static void set_past(void* block)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemset(static_cast<char*>(block) + 1, 0, kBytes)); // @past
}

static void free_opened(void* block)
{
  ANSWERS(cudaErrorInvalidValue, cudaFree(block)); // @wrong
}

static void* import_pointer(Message& message)
{
  cudaMemPool_t pool = nullptr;
  void* block = nullptr;
  CHECK(cudaMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(kPoolFile), kFile, 0));
  CHECK(cudaMemPoolImportPointer(&block, pool, &message.pointer)); // @import
  TOUCH(block, kBytes);
  return block;
}

// Between the two sets lies nothing, an event of this process, or one of the other: that one may have waited for the
// first set before it recorded the event.
static void set_on_streams(const Message& message, void* block, const char* word)
{
  cudaStream_t streams[2];
  cudaEvent_t opened, own;
  for (cudaStream_t& stream : streams)
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaIpcOpenEventHandle(&opened, message.event));
  CHECK(cudaEventCreateWithFlags(&own, cudaEventDisableTiming));
  CHECK(cudaMemsetAsync(block, 1, kBytes, streams[0])); // @one
  CHECK(cudaEventRecord(own, streams[0]));
  if (!std::strcmp(word, "event"))
    CHECK(cudaStreamWaitEvent(streams[1], opened, 0));
  if (!std::strcmp(word, "own-event"))
    CHECK(cudaStreamWaitEvent(streams[1], own, 0));
  CHECK(cudaMemsetAsync(block, 2, kBytes, streams[1])); // @other
  for (cudaStream_t stream : streams) {
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  }
  CHECK(cudaEventDestroy(opened));
  CHECK(cudaEventDestroy(own));
}

static int work_as_second(const char* word)
{
  auto is = [&](const char* other) { return !std::strcmp(word, other); };
  Message message;
  if (read(0, &message, sizeof message) != static_cast<ssize_t>(sizeof message))
    return 1;
  CHECK(cudaFree(nullptr));
  if (is("pool") || is("pool-forgotten")) {
    void* block = import_pointer(message);
    CHECK(cudaStreamSynchronize(nullptr)); // cudaFree does not wait for memory of a pool
    if (is("pool"))
      CHECK(cudaFree(block));
    return 0;
  }
  void* block = open_block(message);
  if (is("wrong"))
    free_opened(block);
  if (is("unordered") || is("event") || is("own-event"))
    set_on_streams(message, block, word);
  if (is("past"))
    set_past(block);
  if (is("twice"))
    close_twice(block);
  else if (!is("forgotten"))
    CHECK(cudaIpcCloseMemHandle(block));
  return 0;
}

// Between fork and exec the child may call nothing of CUDA.
static int run_second(const char* word, const Message& message, int pool_file)
{
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], &message, sizeof message) != static_cast<ssize_t>(sizeof message))
    return 1;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], 0);
    dup2(pool_file, kPoolFile);
    execl("/proc/self/exe", "ipc_memory", "second", word, static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char** argv)
{
  if (argc == 3 && started_with(argc, argv, "second"))
    return work_as_second(argv[2]);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = kFile;
  properties.location.type = cudaMemLocationTypeDevice;
  Message message{};
  cudaMemPool_t pool = nullptr;
  void *block = nullptr, *pooled = nullptr;
  cudaEvent_t event = nullptr;
  int pool_file = -1;
  CHECK(cudaMalloc(&block, kBytes));
  TOUCH(block, kBytes);
  CHECK(cudaMemPoolCreate(&pool, &properties));
  CHECK(cudaMallocFromPoolAsync(&pooled, kBytes, pool, nullptr));
  TOUCH(pooled, kBytes);
  CHECK(cudaIpcGetMemHandle(&message.block, block));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
  CHECK(cudaIpcGetEventHandle(&message.event, event));
  CHECK(cudaMemPoolExportToShareableHandle(&pool_file, pool, kFile, 0));
  CHECK(cudaMemPoolExportPointer(&message.pointer, pooled));
  int result = run_second(argc > 1 ? argv[1] : "close", message, pool_file);
  CHECK(cudaEventDestroy(event));
  CHECK(cudaFree(block));
  CHECK(cudaFreeAsync(pooled, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  CHECK(cudaMemPoolDestroy(pool));
  return result;
}
