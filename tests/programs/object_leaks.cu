// SPDX-License-Identifier: Apache-2.0
// Objects that are made again and again and never destroyed: a warning from 100 of one call stack. What a program makes
// at its beginning and keeps until its end may be meant: a note, which these runs need not list.
//
// run:
// expect: clean
// run: events
// expect: warning object-leak count=150 message="150 events made by cudaEventCreate were never destroyed" stacks="created here"@time_step:LINE(event)
// run: streams
// expect: warning object-leak count=120 message="120 streams made by cudaStreamCreateWithFlags were never destroyed" stacks="created here"@in_own_stream:LINE(stream)
// run: graphs
// expect: warning object-leak count=100 message="100 graphs made by cudaStreamEndCapture" stacks="created here"@captured_step:LINE(graph)
// expect: warning object-leak count=100 message="100 executable graphs made by cudaGraphInstantiate" stacks="created here"@captured_step:LINE(exec)
// run: textures
// expect: warning object-leak count=100 message="100 texture objects made by cudaCreateTextureObject" stacks="created here"@textured_step:LINE(texture)
// run: at-once
// expect: warning object-leak count=4000 message="4,000 events" stacks="created here"@many:LINE(many)
// run: few
// expect: clean
// run: workers
// expect: note object-leak count=150 message="all were made early in the run" stacks="created here"@many:LINE(many)
// run: reset
// expect: clean
// run: killed
// exit: signal 9
// expect: clean
// not-checked: object-leak
// not-checked: leak
#include "answers.h"

#include <csignal>

static void* block;

static void work(cudaStream_t stream)
{
  CHECK(cudaMemsetAsync(block, 0, 4096, stream));
}

static void time_step(bool destroys)
{
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event)); // @event
  work(nullptr);
  CHECK(cudaEventRecord(event));
  if (destroys)
    CHECK(cudaEventDestroy(event));
}

static void in_own_stream()
{
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); // @stream
  work(stream);
  CHECK(cudaStreamSynchronize(stream));
}

static void captured_step(cudaStream_t stream)
{
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  work(stream);
  CHECK(cudaStreamEndCapture(stream, &graph)); // @graph
  CHECK(cudaGraphInstantiate(&exec, graph, 0)); // @exec
  CHECK(cudaGraphLaunch(exec, stream));
}

static void textured_step()
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = block;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = 4096;
  cudaTextureDesc description{};
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr)); // @texture
  work(nullptr);
}

static void many(int count)
{
  for (int i = 0; i < count; ++i) {
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); // @many
  }
}

int main(int argc, char** argv)
{
  CHECK(cudaMalloc(&block, 4096));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  if (started_with(argc, argv, "")) {
    for (int i = 0; i < 400; ++i)
      time_step(true);
  } else if (started_with(argc, argv, "events")) {
    for (int i = 0; i < 150; ++i)
      time_step(false);
    for (int i = 0; i < 2000; ++i)
      work(nullptr);
  } else if (started_with(argc, argv, "streams")) {
    for (int i = 0; i < 120; ++i)
      in_own_stream();
  } else if (started_with(argc, argv, "graphs")) {
    for (int i = 0; i < 100; ++i)
      captured_step(stream);
  } else if (started_with(argc, argv, "textures")) {
    for (int i = 0; i < 100; ++i)
      textured_step();
  } else if (started_with(argc, argv, "at-once")) {
    many(4000);
    for (int i = 0; i < 10000; ++i)
      work(nullptr);
  } else if (started_with(argc, argv, "few")) {
    for (int i = 0; i < 99; ++i)
      time_step(false);
  } else if (started_with(argc, argv, "workers")) {
    many(150);
    for (int i = 0; i < 300; ++i)
      work(nullptr);
  } else if (started_with(argc, argv, "reset")) {
    for (int i = 0; i < 150; ++i)
      time_step(false);
    CHECK(cudaFree(block));
    CHECK(cudaDeviceReset());
    return 0;
  } else {
    for (int i = 0; i < 150; ++i)
      time_step(false);
    std::raise(SIGKILL);
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(block));
  return 0;
}
