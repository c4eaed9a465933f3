// SPDX-License-Identifier: Apache-2.0
// A mesh on the device is a struct whose members are device pointers. A deep copy uploads each member first, then the
// struct that points to them; releasing it must go the other way and needs the pointers, so the host keeps them.
// Variants: clean (or no word); members: only the struct is freed, and with it went the last hint of its four arrays;
//   shallow: the struct goes to the kernel as it is, and with it the addresses of the host's arrays. Where the GPU
//   cannot read pageable memory, the kernel dies of them and takes the context with it.
//
// unlike-fenced: its fault ends the program, because the fence asks for core dumps
// run:
// expect: clean
// run: clean
// expect: clean
// run: members
// expect: error leak bytes=16384 count=4 stacks="allocated here"@upload_array:LINE(alloc-member)
// run: shallow
// expect-simulated: error kernel-out-of-bounds count=3072 message="in no memory that CUDA gave out" stacks="accessed here"@weigh_by_value:LINE(members),"launched here"@weigh_shallow:LINE(launch)
// expect: warning host-pointer count=1 message="passes in parameter 1 the pointer" stacks="launched here","reported here"@weigh_shallow:LINE(wait)
// expect-real: error kernel-fault count=1 api=cudaDeviceSynchronize stacks="reported here"@weigh_shallow:LINE(wait),"launched here"@weigh_shallow:LINE(launch)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kPoints = 1024;
constexpr int kArrays = 4;

struct Mesh { // x, y, z and weight, each kPoints long
  float* arrays[kArrays];
  int arrays_used;
  int points;
};

__global__ void weigh(Mesh* mesh)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < mesh->points)
    mesh->arrays[0][i] *= mesh->arrays[3][i];
}

__global__ void weigh_by_value(Mesh mesh)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < mesh.points)
    mesh.arrays[0][i] *= mesh.arrays[3][i]; // @members
}

static float* upload_array(const std::vector<float>& values)
{
  float* device = nullptr;
  CHECK(cudaMalloc(&device, values.size() * sizeof(float))); // @alloc-member
  CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  return device;
}

// Fills the host's copy with device pointers and uploads it.
static Mesh* upload_mesh(Mesh* mesh)
{
  std::vector<float> values(kPoints, 2.0f);
  Mesh* device = nullptr;
  for (int i = 0; i < mesh->arrays_used; ++i)
    mesh->arrays[i] = upload_array(values);
  CHECK(cudaMalloc(&device, sizeof(Mesh)));
  CHECK(cudaMemcpy(device, mesh, sizeof(Mesh), cudaMemcpyHostToDevice));
  return device;
}

static void release_members(Mesh* mesh)
{
  for (int i = 0; i < mesh->arrays_used; ++i)
    CHECK(cudaFree(mesh->arrays[i]));
}

static void weigh_shallow()
{
  std::vector<float> values[kArrays];
  Mesh mesh{{}, kArrays, kPoints};
  for (int i = 0; i < kArrays; ++i) {
    values[i].assign(kPoints, 2.0f);
    mesh.arrays[i] = values[i].data();
  }
  weigh_by_value<<<kPoints / 256, 256>>>(mesh); // @launch
  CHECK(cudaGetLastError());
  if (cudaError_t error = cudaDeviceSynchronize()) // @wait
    std::printf("after the shallow copy: %s\n", cudaGetErrorString(error));
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  if (!std::strcmp(variant, "shallow")) {
    weigh_shallow();
    return 0;
  }
  // Volatile, so that the compiler keeps one loop and with it one call site for all arrays.
  volatile int arrays_used = kArrays;
  Mesh mesh{{}, arrays_used, kPoints};
  Mesh* device = upload_mesh(&mesh);
  weigh<<<kPoints / 256, 256>>>(device);
  CHECK(cudaGetLastError());
  float first = 0;
  CHECK(cudaMemcpy(&first, mesh.arrays[0], sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("first x is %g\n", first);

  if (std::strcmp(variant, "members") != 0)
    release_members(&mesh);
  CHECK(cudaFree(device));

  return !std::strcmp(variant, "clean") && first != 4.0f;
}
