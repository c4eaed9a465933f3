// SPDX-License-Identifier: Apache-2.0
// Driver calls whose records carry more than their first words, played on the simulated device; test_records.py reads
// the trace. The first argument names the scene; results go to stdout, one a line.
#include <cstdio>
#include <cstring>

#include <cuda.h>

namespace {

void say(const char* what, CUresult result) { std::printf("%s %d\n", what, static_cast<int>(result)); }

CUcontext start() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxSetCurrent(context);
  return context;
}

CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address = 0;
  cuMemAlloc(&address, bytes);
  return address;
}

void facts() {
  start();
  const CUdeviceptr address = allocate(4096);
  char bytes[4096] = {};
  say("copy", cuMemcpyHtoD(address, bytes, sizeof bytes));
  say("set", cuMemsetD8(address, 0, sizeof bytes));
  say("wait", cuStreamSynchronize(nullptr));
  CUstream stream = nullptr;
  say("stream", cuStreamCreate(&stream, 0));
  say("free", cuMemFree(address));
  CUdeviceptr none = 0;
  say("too much", cuMemAlloc(&none, size_t{1} << 50));
}

struct Scene {
  const char* name;
  void (*play)();
};
constexpr Scene kScenes[] = {{"facts", facts}};

} // namespace

int main(int argc, char** argv) {
  for (const Scene& scene : kScenes) {
    if (argc > 1 && std::strcmp(argv[1], scene.name) == 0) return scene.play(), 0;
  }
  return 9;
}
