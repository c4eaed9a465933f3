// SPDX-License-Identifier: Apache-2.0
// Rows about copies and sets: past the requested size, wrong direction, overlap, freed memory,
// pitches. Part of driver_answers. Every row uses 100 bytes, far inside the 512-byte granule of the
// allocator.
#include "driver_answers.h"

namespace {

char host[1 << 16];

std::string one_past_to_device() {
  DeviceBlock block(100);
  return answer(cudaMemcpy(block.pointer, host, 101, cudaMemcpyHostToDevice));
}

std::string one_past_to_host() {
  DeviceBlock block(100);
  return answer(cudaMemcpy(host, block.pointer, 101, cudaMemcpyDeviceToHost));
}

std::string one_past_set() {
  DeviceBlock block(100);
  return answer(cudaMemset(block.pointer, 0, 101));
}

std::string into_neighbour() {
  DeviceBlock one(512), two(512);
  return answer(cudaMemset(one.pointer < two.pointer ? one.pointer : two.pointer, 0, 513));
}

std::string past_pitched() {
  void* pointer = nullptr;
  size_t pitch = 0;
  cudaMallocPitch(&pointer, &pitch, 100, 10);
  const std::string got = answer(cudaMemset(pointer, 0, pitch * 10 + 1));
  cudaFree(pointer);
  return got;
}

std::string past_managed() {
  void* pointer = nullptr;
  cudaMallocManaged(&pointer, 100);
  const std::string got = answer(cudaMemset(pointer, 0, 101));
  cudaFree(pointer);
  return got;
}

std::string past_async() {
  void* pointer = nullptr;
  cudaMallocAsync(&pointer, 100, nullptr);
  const std::string got = answer(cudaMemcpy(pointer, host, 101, cudaMemcpyHostToDevice));
  cudaFreeAsync(pointer, nullptr);
  cudaDeviceSynchronize();
  return got;
}

std::string set_past_async() {
  void* pointer = nullptr;
  cudaMallocAsync(&pointer, 100, nullptr);
  const std::string got = answer(cudaMemsetAsync(pointer, 0, 101, nullptr));
  cudaFreeAsync(pointer, nullptr);
  cudaDeviceSynchronize();
  return got;
}

std::string set_after_free_async() {
  void* pointer = nullptr;
  cudaMallocAsync(&pointer, 100, nullptr);
  cudaFreeAsync(pointer, nullptr);
  const std::string got = answer(cudaMemsetAsync(pointer, 0, 100, nullptr));
  cudaDeviceSynchronize();
  return got;
}

std::string device_source_declared_host() {
  DeviceBlock one(100), two(100);
  return answer(cudaMemcpy(one.pointer, two.pointer, 100, cudaMemcpyHostToDevice));
}

std::string host_destination_declared_device() {
  return answer(cudaMemcpy(host, host + 1000, 100, cudaMemcpyHostToDevice));
}

std::string device_destination_declared_host() {
  DeviceBlock one(100), two(100);
  return answer(cudaMemcpy(one.pointer, two.pointer, 100, cudaMemcpyDeviceToHost));
}

std::string sides_swapped() {
  DeviceBlock block(100);
  return answer(cudaMemcpy(block.pointer, host, 100, cudaMemcpyDeviceToHost));
}

std::string host_source_declared_device() {
  DeviceBlock block(100);
  return answer(cudaMemcpy(block.pointer, host, 100, cudaMemcpyDeviceToDevice));
}

std::string overlap() {
  DeviceBlock block(1000);
  return answer(cudaMemcpy(block.at(10), block.pointer, 500, cudaMemcpyDeviceToDevice));
}

std::string from_freed() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, 100);
  cudaFree(pointer);
  return answer(cudaMemcpy(host, pointer, 100, cudaMemcpyDeviceToHost));
}

template <size_t to_pitch, size_t from_pitch, bool async>
std::string odd_pitches() {
  DeviceBlock to(to_pitch * 10), from(from_pitch * 10);
  const cudaError_t error = async ? cudaMemcpy2DAsync(to.pointer, to_pitch, from.pointer,
                                                      from_pitch, 400, 10, cudaMemcpyDeviceToDevice)
                                  : cudaMemcpy2D(to.pointer, to_pitch, from.pointer, from_pitch,
                                                 400, 10, cudaMemcpyDeviceToDevice);
  cudaDeviceSynchronize();
  return answer(error);
}

std::string wider_than_pitch() {
  DeviceBlock block(4000);
  return answer(cudaMemcpy2D(block.pointer, 400, host, 400, 401, 5, cudaMemcpyHostToDevice));
}

std::string unknown_kind() {
  DeviceBlock block(100);
  return answer(cudaMemcpy(block.pointer, host, 100, static_cast<cudaMemcpyKind>(9)));
}

} // namespace

const std::vector<Row>& copy_rows() {
  static const std::vector<Row> rows = {
    {"one byte past the requested size, host to device", "1", one_past_to_device},
    {"one byte past the requested size, device to host", "1", one_past_to_host},
    {"one byte past the requested size, memset", "1", one_past_set},
    {"into a neighbour", "1", into_neighbour},
    {"past a pitch x height", "1", past_pitched},
    {"one byte past managed memory", "1", past_managed},
    {"one byte past async memory", "1", past_async},
    {"cudaMemsetAsync past the end of async memory", "1", set_past_async},
    {"cudaMemsetAsync on async memory after cudaFreeAsync", "1", set_after_free_async},
    {"cudaMemcpy(device, device, HostToDevice)", "0", device_source_declared_host},
    {"HostToDevice with a host destination", "1", host_destination_declared_device},
    {"DeviceToHost with a device destination", "0", device_destination_declared_host},
    {"DeviceToHost from host to device", "1", sides_swapped},
    {"DeviceToDevice with a host source", "1", host_source_declared_device},
    {"DeviceToDevice with overlapping ranges", "0", overlap},
    {"DeviceToHost from freed memory", "1", from_freed},
    {"cudaMemcpy2D device to device, pitches 401/403", "0", odd_pitches<401, 403, false>},
    {"cudaMemcpy2D device to device, pitches 404/408", "0", odd_pitches<404, 408, false>},
    {"cudaMemcpy2DAsync device to device, pitches 401/403", "0", odd_pitches<401, 403, true>},
    {"cudaMemcpy2DAsync device to device, pitches 404/408", "0", odd_pitches<404, 408, true>},
    {"cudaMemcpy2D with width > pitch", "12", wider_than_pitch},
    {"cudaMemcpy with an unknown kind", "21", unknown_kind},
  };
  return rows;
}
