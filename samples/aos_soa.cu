// SPDX-License-Identifier: Apache-2.0
// Two million particles as an array of structs and as a struct of arrays. A kernel that needs three of a struct's
// eight floats still moves all of its 32 bytes, for each of the three anew: every thread of a warp uses a sector of
// its own where four would hold what the 32 threads ask for. With an array for each member the same kernel wastes
// nothing.
//
// run:
// expect: clean
//
// run: arrays
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
//
// run: structs
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 cause=array-of-structs line=LINE(mass)
// expect: warning uncoalesced ratio=8 cause=array-of-structs line=LINE(speed)
// expect: warning uncoalesced ratio=8 cause=array-of-structs line=LINE(energy)
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr unsigned kCount = 2u << 20;
constexpr unsigned kThreads = 256, kBlocks = kCount / kThreads;

struct Particle {
  float x, y, z, speed, mass, charge, energy, age;
};
static_assert(sizeof(Particle) == 32);

struct Particles {
  float *speed, *mass, *energy; // one array for each member; the others are left out
};

__device__ float mass_of(unsigned i) { return static_cast<float>(i % 64 + 1); }
__device__ float speed_of(unsigned i) { return static_cast<float>(i % 128); }

// Each half of a particle by a thread of its own, so that all is written in the order of memory.
__global__ void create_structs(float4* halves)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, particle = i / 2;
  halves[i] = i % 2 == 0 ? make_float4(0, 0, 0, speed_of(particle)) : make_float4(mass_of(particle), 0, 0, 0);
}

__global__ void create_arrays(Particles particles)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  particles.speed[i] = speed_of(i);
  particles.mass[i] = mass_of(i);
}

__global__ void energy_of_structs(Particle* particles)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float mass = particles[i].mass; // @mass
  float speed = particles[i].speed; // @speed
  particles[i].energy = 0.5f * mass * speed * speed; // @energy
}

__global__ void energy_of_arrays(Particles particles)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float mass = particles.mass[i];
  float speed = particles.speed[i];
  particles.energy[i] = 0.5f * mass * speed * speed;
}

// What a float of a particle must be, by its position in the struct.
__device__ float wanted(unsigned particle, unsigned member)
{
  float speed = speed_of(particle), mass = mass_of(particle);
  switch (member) {
  case offsetof(Particle, speed) / sizeof(float): return speed;
  case offsetof(Particle, mass) / sizeof(float): return mass;
  case offsetof(Particle, energy) / sizeof(float): return 0.5f * mass * speed * speed;
  default: return 0;
  }
}

// Reads in the order of memory whatever the layout: `members` floats of each particle, the first of them as given.
__global__ void count_right(const float* floats, unsigned members, unsigned first_member, unsigned* right)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = floats[i];
  int in_block = __syncthreads_count(value == wanted(i / members, first_member + i % members));
  if (threadIdx.x == 0)
    atomicAdd(right, in_block);
}

static float* make_floats(size_t count)
{
  void* floats = nullptr;
  CHECK(cudaMalloc(&floats, count * sizeof(float)));
  return static_cast<float*>(floats);
}

static void run_structs(unsigned* right)
{
  constexpr unsigned members = sizeof(Particle) / sizeof(float);
  float* floats = make_floats(size_t{kCount} * members);
  create_structs<<<2 * kBlocks, kThreads>>>(reinterpret_cast<float4*>(floats));
  energy_of_structs<<<kBlocks, kThreads>>>(reinterpret_cast<Particle*>(floats));
  count_right<<<kBlocks * members, kThreads>>>(floats, members, 0, right);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(floats));
}

static void run_arrays(unsigned* right)
{
  Particles particles{make_floats(kCount), make_floats(kCount), make_floats(kCount)};
  create_arrays<<<kBlocks, kThreads>>>(particles);
  energy_of_arrays<<<kBlocks, kThreads>>>(particles);
  count_right<<<kBlocks, kThreads>>>(particles.energy, 1, offsetof(Particle, energy) / sizeof(float), right);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(particles.energy));
  CHECK(cudaFree(particles.mass));
  CHECK(cudaFree(particles.speed));
}

int main(int argc, char** argv)
{
  bool structs = argc > 1 && std::strcmp(argv[1], "structs") == 0;
  unsigned *device_right = nullptr, right = 0;
  CHECK(cudaMalloc(&device_right, sizeof right));
  CHECK(cudaMemset(device_right, 0, sizeof right));
  if (structs)
    run_structs(device_right);
  else
    run_arrays(device_right);
  CHECK(cudaMemcpy(&right, device_right, sizeof right, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_right));
  const unsigned floats = structs ? kCount * sizeof(Particle) / sizeof(float) : kCount;
  std::printf("%u of %u right\n", right, floats);
  return right != floats;
}
