// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs, pools and textures that are destroyed twice, and those that are used after they were
// destroyed. A handle that CUDA has given out again is another object's. What a GPU's driver answers to a handle that
// is none is not the same for all of them, and some of the calls end the process: so these run on the simulated device.
//
// run:
// expect: clean
// run: pool-twice
// expect: error double-free count=1 api=cudaMemPoolDestroy message="of a memory pool that was already destroyed, made by cudaMemPoolCreate" stacks="destroyed again here"@~Pool:LINE(pool-destroy),"first destroyed here"@~Pool:LINE(pool-destroy),"created here"@Pool:LINE(pool-create)
// run: pool-used
// expect: error use-after-free count=1 api=cudaMallocFromPoolAsync message="uses a memory pool that was already destroyed" stacks="called here"@use_pool:LINE(pool-use),"destroyed here"@~Pool:LINE(pool-destroy),"created here"@Pool:LINE(pool-create)
// run: stream-twice
// device: simulated
// expect: error double-free count=1 api=cudaStreamDestroy stacks="destroyed again here"@stream_twice:LINE(stream-again),"first destroyed here"@stream_twice:LINE(stream-first),"created here"@make_stream:LINE(stream-create)
// run: event-twice
// device: simulated
// expect: error double-free count=1 api=cudaEventDestroy stacks="destroyed again here"@event_twice:LINE(event-again),"first destroyed here"@event_twice:LINE(event-first),"created here"@make_event:LINE(event-create)
// run: graphs-twice
// device: simulated
// expect: error double-free count=1 api=cudaGraphDestroy message="of a graph that" stacks="destroyed again here"@graphs_twice:LINE(graph-again),"first destroyed here"@graphs_twice:LINE(graph-first),"created here"@graphs_twice:LINE(graph-create)
// expect: error double-free count=1 api=cudaGraphExecDestroy message="of an executable graph that" stacks="destroyed again here"@graphs_twice:LINE(exec-again),"first destroyed here"@graphs_twice:LINE(exec-first),"created here"@graphs_twice:LINE(exec-create)
// run: texture-twice
// expect: warning double-free count=1 api=cudaDestroyTextureObject message="CUDA accepts that" stacks="destroyed again here"@texture_twice:LINE(texture-again),"first destroyed here"@texture_twice:LINE(texture-first),"created here"@texture_twice:LINE(texture-create)
// run: event-used
// device: simulated
// expect: error use-after-free count=1 api=cudaEventRecord message="uses an event that was already destroyed, made by cudaEventCreate" stacks="called here"@event_used:LINE(event-use),"destroyed here"@event_used:LINE(event-gone),"created here"@make_event:LINE(event-create)
// run: stream-used
// device: simulated
// expect: error use-after-free count=1 api=cudaMemsetAsync stacks="set here"@stream_used:LINE(stream-set),"destroyed here"@stream_used:LINE(stream-gone),"created here"@make_stream:LINE(stream-create)
// expect: error use-after-free count=1 api=cudaStreamSynchronize stacks="called here"@stream_used:LINE(stream-wait),"destroyed here"@stream_used:LINE(stream-gone),"created here"@make_stream:LINE(stream-create)
// run: freed-on-it
// device: simulated
// expect: error use-after-free count=1 api=cudaFreeAsync message="so the memory was not freed" stacks="called here"@freed_on_it:LINE(late-free),"destroyed here"@freed_on_it:LINE(free-gone),"created here"@make_stream:LINE(stream-create)
// expect: error leak bytes=4096 count=1 message="its stream had been destroyed" stacks="allocated here"@freed_on_it:LINE(block),"failed here"@freed_on_it:LINE(late-free)
// run: graph-used
// device: simulated
// expect: error use-after-free count=1 api=cudaGraphLaunch message="uses an executable graph that was already destroyed" stacks="graph launched here"@graph_used:LINE(launch-gone),"destroyed here"@graph_used:LINE(exec-gone),"created here"@graph_used:LINE(exec-made)
#include "answers.h"

static cudaStream_t make_stream()
{
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream)); // @stream-create
  return stream;
}

static cudaEvent_t make_event()
{
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event)); // @event-create
  return event;
}

// Refused, whatever for.
static void refused(cudaError_t answer)
{
  if (answer == cudaSuccess)
    std::exit(3);
}

struct Pool {
  cudaMemPool_t pool = nullptr;
  Pool()
  {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &properties)); // @pool-create
  }
  __attribute__((noinline)) ~Pool()
  {
    (void)cudaMemPoolDestroy(pool); // @pool-destroy
  }
};

static void use_pool()
{
  cudaMemPool_t gone = nullptr;
  {
    Pool pool;
    gone = pool.pool;
  }
  void* block = nullptr;
  refused(cudaMallocFromPoolAsync(&block, 4096, gone, nullptr)); // @pool-use
}

static void stream_twice()
{
  cudaStream_t stream = make_stream();
  CHECK(cudaStreamDestroy(stream)); // @stream-first
  refused(cudaStreamDestroy(stream)); // @stream-again
}

static void event_twice()
{
  cudaEvent_t event = make_event();
  CHECK(cudaEventDestroy(event)); // @event-first
  refused(cudaEventDestroy(event)); // @event-again
}

static void graphs_twice()
{
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphCreate(&graph, 0)); // @graph-create
  CHECK(cudaGraphInstantiate(&exec, graph, 0)); // @exec-create
  CHECK(cudaGraphDestroy(graph)); // @graph-first
  refused(cudaGraphDestroy(graph)); // @graph-again
  CHECK(cudaGraphExecDestroy(exec)); // @exec-first
  refused(cudaGraphExecDestroy(exec)); // @exec-again
}

static void texture_twice()
{
  void* block = nullptr;
  CHECK(cudaMalloc(&block, 4096));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = block;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = 4096;
  cudaTextureDesc description{};
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr)); // @texture-create
  CHECK(cudaDestroyTextureObject(texture)); // @texture-first
  CHECK(cudaDestroyTextureObject(texture)); // @texture-again
  CHECK(cudaFree(block));
}

static void event_used()
{
  cudaEvent_t event = make_event();
  CHECK(cudaEventRecord(event));
  CHECK(cudaEventDestroy(event)); // @event-gone
  refused(cudaEventRecord(event)); // @event-use
}

static void stream_used()
{
  void* block = nullptr;
  CHECK(cudaMalloc(&block, 4096));
  TOUCH(block, 4096);
  cudaStream_t stream = make_stream();
  CHECK(cudaStreamDestroy(stream)); // @stream-gone
  refused(cudaMemsetAsync(block, 0, 4096, stream)); // @stream-set
  refused(cudaStreamSynchronize(stream)); // @stream-wait
  CHECK(cudaFree(block));
}

static void freed_on_it()
{
  cudaStream_t stream = make_stream();
  void* block = nullptr;
  CHECK(cudaMallocAsync(&block, 4096, stream)); // @block
  CHECK(cudaMemsetAsync(block, 0, 4096, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream)); // @free-gone
  refused(cudaFreeAsync(block, stream)); // @late-free
}

static void graph_used()
{
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphInstantiate(&exec, graph, 0)); // @exec-made
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphExecDestroy(exec)); // @exec-gone
  refused(cudaGraphLaunch(exec, nullptr)); // @launch-gone
}

// Handles come again: destroyed and made anew, each is a living object.
static void in_order()
{
  for (int i = 0; i < 20; ++i) {
    cudaStream_t stream = make_stream();
    cudaEvent_t event = make_event();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
  }
}

int main(int argc, char** argv)
{
  CHECK(cudaFree(nullptr));
  if (started_with(argc, argv, "pool-twice")) {
    Pool pool;
    Pool copy = pool;
  }
  if (started_with(argc, argv, "pool-used"))
    use_pool();
  if (started_with(argc, argv, "stream-twice"))
    stream_twice();
  if (started_with(argc, argv, "event-twice"))
    event_twice();
  if (started_with(argc, argv, "graphs-twice"))
    graphs_twice();
  if (started_with(argc, argv, "texture-twice"))
    texture_twice();
  if (started_with(argc, argv, "event-used"))
    event_used();
  if (started_with(argc, argv, "stream-used"))
    stream_used();
  if (started_with(argc, argv, "freed-on-it"))
    freed_on_it();
  if (started_with(argc, argv, "graph-used"))
    graph_used();
  if (started_with(argc, argv, ""))
    in_order();
  return 0;
}
