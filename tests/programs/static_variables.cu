// SPDX-License-Identifier: Apache-2.0
// The address of a __device__ variable is device memory that no call allocated: copies to it are fine, freeing it is not.
// Copies past its end are refused by the runtime, at the first use of the variable as at later ones; a static runtime
// cannot be watched. Where the host names the variable as if it were memory, a call or kernel gets the address of the
// host's shadow of it, which the GPU cannot read; nor can it read a static array of the host.
//
// run:
// expect: clean
// run: free
// expect: error invalid-free count=1 api=cudaFree stacks="freed here"@free_table:LINE(free),"looked up here"@free_table
// run: past
// expect-shared: error copy-out-of-bounds count=1 api=cudaMemcpyToSymbol stacks="looked up here"@write_past,"copied here"@write_past:LINE(past)
// expect-static: clean
// run: read-past
// expect: error copy-out-of-bounds count=1 api=cudaMemcpyFromSymbolAsync stacks="looked up here","copied here"@read_past:LINE(read-past)
// run: shadow
// expect: error host-pointer count=1 message="The launch of take(int const*) passes as parameter 1 the pointer 0x" stacks="launched here"@give_shadow:LINE(shadow)
// expect: error host-pointer count=1 message="the host's shadow of the __device__ or __constant__ variable names::hidden" stacks="launched here"@give_hidden:LINE(hidden)
// run: shadow-name
// expect: error host-pointer count=1 message="Pass the address that cudaGetSymbolAddress gives for table" stacks="launched here"@give_shadow:LINE(shadow)
// run: host-array
// expect: error host-pointer count=1 message="the static variable host_table in the host's memory" stacks="launched here"@give_host_array:LINE(host-array)
// run: registered
// expect: clean
// run: unregistered
// expect: error host-pointer count=1 message="the static variable host_table in the host's memory, which the GPU cannot read, as it is not registered any more" stacks="launched here"@give_host_array:LINE(host-array),"unregistered here"@give_registered,"registered here"@give_registered
// run: copy-to
// expect: error copy-direction count=1 api=cudaMemcpy message="Use cudaMemcpyToSymbol, or the address that cudaGetSymbolAddress gives." stacks="copied here"@copy_to:LINE(copy-to)
// run: copy-from
// expect: error copy-direction count=1 api=cudaMemcpy message="Use cudaMemcpyFromSymbol, or the address" stacks="copied here"@copy_from:LINE(copy-from)
// run: set
// expect: error copy-direction count=1 api=cudaMemset message="Use the address that cudaGetSymbolAddress gives." stacks="set here"@set:LINE(set)
#include "answers.h"

__device__ int table[64];
namespace names {
static __constant__ int hidden[16];
}
static int host_table[2048];

__global__ void take(const int*) {} // on a GPU the mistakes must not end the program
__global__ void look(int* out) { *out = names::hidden[3] + table[3]; } // else there is no hidden in the device code

// The compiler knows better, and says so.
template <class T> static T* as_memory(T& variable)
{
  return &variable;
}

__attribute__((noinline)) static void give_shadow()
{
  take<<<1, 1>>>(as_memory(table[0])); // @shadow
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void give_hidden()
{
  take<<<1, 1>>>(as_memory(names::hidden[1])); // @hidden
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void give_host_array()
{
  take<<<1, 1>>>(host_table + 3); // @host-array
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void give_registered()
{
  CHECK(cudaHostRegister(host_table, sizeof host_table, cudaHostRegisterDefault));
  take<<<1, 1>>>(host_table + 3);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaHostUnregister(host_table));
}

__attribute__((noinline)) static void copy_to(const int* values)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy(as_memory(table), values, sizeof table, cudaMemcpyHostToDevice)); // @copy-to
}

__attribute__((noinline)) static void copy_from(int* back)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy(back, as_memory(table), sizeof table, cudaMemcpyDeviceToHost)); // @copy-from
}

__attribute__((noinline)) static void set()
{
  ANSWERS(cudaErrorInvalidValue, cudaMemset(as_memory(table), 0, sizeof table)); // @set
}

static void free_table()
{
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, table));
  ANSWERS(cudaErrorInvalidValue, cudaFree(address)); // @free
}

__attribute__((noinline)) static void write_past(const int* values)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, sizeof table, 4)); // @past
}

__attribute__((noinline)) static void read_past(int* back)
{
  constexpr auto kDown = cudaMemcpyDeviceToHost;
  ANSWERS(cudaErrorInvalidValue, cudaMemcpyFromSymbolAsync(back, table, sizeof table, 4, kDown, nullptr)); // @read-past
}

int main(int argc, char** argv)
{
  int values[64] = {1, 2, 3};
  int back[64] = {};
  if (started_with(argc, argv, "past"))
    write_past(values);
  CHECK(cudaMemcpyToSymbol(table, values, sizeof values));
  CHECK(cudaMemcpyFromSymbol(back, table, sizeof back));
  if (started_with(argc, argv, "read-past"))
    read_past(back);
  if (started_with(argc, argv, "free"))
    free_table();
  if (started_with(argc, argv, "shadow") || started_with(argc, argv, "shadow-name"))
    give_shadow();
  if (started_with(argc, argv, "shadow"))
    give_hidden();
  if (started_with(argc, argv, "registered") || started_with(argc, argv, "unregistered"))
    give_registered();
  if (started_with(argc, argv, "host-array") || started_with(argc, argv, "unregistered"))
    give_host_array();
  if (started_with(argc, argv, "copy-to"))
    copy_to(values);
  if (started_with(argc, argv, "copy-from"))
    copy_from(back);
  if (started_with(argc, argv, "set"))
    set();
  CHECK(cudaDeviceSynchronize());
  return std::memcmp(values, back, sizeof values) != 0;
}
