// SPDX-License-Identifier: Apache-2.0
// Rows about kinds of memory: registered and pinned memory, arrays, textures, symbols, IPC handles,
// virtual memory management, and which copies between the kinds each declared direction allows.
// Part of driver_answers. Several calls of one row answer in their order: "0 712 713".
#include "driver_answers.h"

#include <cstdlib>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

__device__ char symbol[64];

// ---- registered and pinned memory

std::string register_within() {
  static char memory[kMiB];
  return answers({cudaHostRegister(memory, kMiB, 0), cudaHostRegister(memory + 4096, 4096, 0),
                  cudaHostRegister(memory, kMiB, 0), cudaHostUnregister(memory + 4096),
                  cudaHostUnregister(memory)});
}

std::string register_off_a_page() {
  static char memory[4096];
  return answers({cudaHostRegister(memory + 5, 1000, 0), cudaHostUnregister(memory),
                  cudaHostUnregister(memory + 5)});
}

std::string register_pinned() {
  void* pinned = nullptr;
  cudaMallocHost(&pinned, 4096);
  const std::string got = answers({cudaHostRegister(pinned, 4096, 0)});
  cudaFreeHost(pinned);
  return got;
}

std::string free_while_registered() {
  void* memory = std::malloc(kMiB);
  const int registered = cudaHostRegister(memory, kMiB, 0);
  std::free(memory);
  return answers({registered, cudaHostUnregister(memory)});
}

// ---- copies between kinds, 100 bytes each

struct Blocks {
  Blocks() {
    cudaMalloc(&device, 4096);
    cudaMallocManaged(&managed, 4096);
    cudaMallocHost(&pinned, 4096);
  }
  ~Blocks() {
    cudaFree(device);
    cudaFree(managed);
    cudaFreeHost(pinned);
    cudaGetLastError();
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  char *device = nullptr, *managed = nullptr, *pinned = nullptr;
  char pageable[4096] = {};
};

template <cudaMemcpyKind kind, char* Blocks::* to, char* Blocks::* from>
std::string copy_between() {
  const Blocks blocks;
  return answers({cudaMemcpy(blocks.*to, blocks.*from, 100, kind)});
}

template <cudaMemcpyKind kind>
std::string device_to_pageable() {
  Blocks blocks;
  return answers({cudaMemcpy(blocks.pageable, blocks.device, 100, kind)});
}

std::string pageable_to_device() {
  const Blocks blocks;
  return answers({cudaMemcpy(blocks.device, blocks.pageable, 100, cudaMemcpyDeviceToDevice)});
}

std::string overlaps() {
  Blocks blocks;
  char* const device = blocks.device;
  return answers({cudaMemcpy(blocks.pageable + 10, blocks.pageable, 100, cudaMemcpyHostToHost),
                  cudaMemcpy(device + 10, device, 100, cudaMemcpyDefault),
                  cudaMemcpy(device, device, 100, cudaMemcpyDeviceToDevice)});
}

std::string one_wide_row() {
  const DeviceBlock block(4096);
  const char host[512] = {};
  return answers({cudaMemcpy2D(block.pointer, 400, host, 400, 401, 1, cudaMemcpyHostToDevice),
                  cudaMemcpy2D(block.pointer, 400, host, 400, 401, 2, cudaMemcpyHostToDevice)});
}

std::string wide_set() {
  const DeviceBlock block(4096);
  return answers(
    {cudaMemset2D(block.pointer, 400, 0, 401, 2), cudaMemset2D(block.pointer, 400, 0, 401, 1)});
}

// ---- attributes

template <cudaDeviceAttr attribute>
std::string attribute_of() {
  int value = -1;
  cudaDeviceGetAttribute(&value, attribute, 0);
  return std::to_string(value);
}

// ---- textures and arrays

cudaError_t make_texture(const cudaResourceDesc& resource) {
  const cudaTextureDesc description{};
  cudaTextureObject_t object = 0;
  const cudaError_t error = cudaCreateTextureObject(&object, &resource, &description, nullptr);
  if (error == cudaSuccess) cudaDestroyTextureObject(object);
  return error;
}

cudaResourceDesc linear(char* base, size_t bytes) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = base;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = bytes;
  return resource;
}

std::string linear_textures() {
  const DeviceBlock block(4096);
  return answers({make_texture(linear(block.at(), 4096)), make_texture(linear(block.at(4), 1024)),
                  make_texture(linear(block.at(), 8192))});
}

std::string too_high_texture() {
  const DeviceBlock block(kMiB);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = block.pointer;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = 100;
  resource.res.pitch2D.height = 60000;
  resource.res.pitch2D.pitchInBytes = 512;
  return answers({make_texture(resource)});
}

std::string destroy_texture_twice() {
  const DeviceBlock block(4096);
  const cudaResourceDesc resource = linear(block.at(), 4096);
  const cudaTextureDesc description{};
  cudaTextureObject_t object = 0;
  cudaCreateTextureObject(&object, &resource, &description, nullptr);
  return answers({cudaDestroyTextureObject(object), cudaDestroyTextureObject(object)});
}

cudaArray_t make_array() {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaMallocArray(&array, &desc, 64, 64);
  return array;
}

std::string copies_to_array() {
  static const char host[64 * 256] = {};
  cudaArray_t array = make_array();
  const auto copy = [&](size_t x, size_t y) {
    return cudaMemcpy2DToArray(array, x, y, host, 256, 256, 64, cudaMemcpyHostToDevice);
  };
  const std::string got = answers({copy(0, 0), copy(4, 0), copy(0, 1)});
  cudaFreeArray(array);
  return got;
}

std::string free_array_twice() {
  cudaArray_t array = make_array();
  return answers({cudaFreeArray(array), cudaFreeArray(array)});
}

std::string free_level() {
  cudaMipmappedArray_t mipmapped = nullptr;
  cudaArray_t level = nullptr;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaMallocMipmappedArray(&mipmapped, &desc, make_cudaExtent(64, 64, 0), 3);
  return answers({cudaGetMipmappedArrayLevel(&level, mipmapped, 1), cudaFreeArray(level),
                  cudaFreeMipmappedArray(mipmapped), cudaFreeMipmappedArray(mipmapped)});
}

// ---- symbols and IPC handles

std::string past_symbol() {
  const char host[65] = {};
  return answers({cudaMemcpyToSymbol(symbol, host, 64), cudaMemcpyToSymbol(symbol, host, 65)});
}

std::string ipc_in_one_process() {
  const DeviceBlock block(4096);
  cudaIpcMemHandle_t handle{}, inside{};
  void* opened = nullptr;
  return answers({cudaIpcGetMemHandle(&handle, block.pointer),
                  cudaIpcGetMemHandle(&inside, block.at(512)),
                  cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess),
                  cudaIpcCloseMemHandle(block.pointer)});
}

std::string ipc_of_other_kinds() {
  const Blocks blocks;
  cudaIpcMemHandle_t handle{};
  return answers(
    {cudaIpcGetMemHandle(&handle, blocks.pinned), cudaIpcGetMemHandle(&handle, blocks.managed)});
}

// ---- virtual memory management

CUmemAllocationProp on_device_0() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return prop;
}

struct Mapping {
  static constexpr size_t kBytes = 4 * kMiB;
  Mapping() {
    const CUmemAllocationProp prop = on_device_0();
    cudaFree(nullptr);
    DRIVER(cuMemCreate)(&handle, kBytes, &prop, 0);
    DRIVER(cuMemAddressReserve)(&address, kBytes, 0, 0, 0);
  }
  CUresult map() const { return DRIVER(cuMemMap)(address, kBytes, 0, handle, 0); }
  CUresult set() const { return DRIVER(cuMemsetD8)(address, 0, kBytes); }
  CUresult release() const { return DRIVER(cuMemRelease)(handle); }
  CUresult unmap(size_t bytes = kBytes) const { return DRIVER(cuMemUnmap)(address, bytes); }
  CUresult free(size_t bytes = kBytes) const { return DRIVER(cuMemAddressFree)(address, bytes); }
  CUresult allow() const {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return DRIVER(cuMemSetAccess)(address, kBytes, &access, 1);
  }
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
};

std::string map_and_set() {
  const Mapping m;
  const std::string got = answers({m.map(), m.map(), m.set(), m.allow(), m.set()});
  m.unmap();
  m.free();
  m.release();
  return got;
}

std::string release_while_mapped() {
  const Mapping m;
  m.map();
  m.allow();
  const std::string got = answers({m.release(), m.release(), m.set()});
  m.unmap();
  m.free();
  return got;
}

std::string unmap_and_free() {
  const Mapping m;
  m.map();
  m.allow();
  const std::string got = answers({m.free(), m.unmap(Mapping::kBytes / 2), m.unmap(), m.unmap(),
                                   m.free(Mapping::kBytes / 2), m.free(), m.free()});
  m.release();
  return got;
}

} // namespace

const std::vector<Row>& kinds_rows() {
  constexpr auto kDevice = &Blocks::device;
  constexpr auto kManaged = &Blocks::managed;
  constexpr auto kPinned = &Blocks::pinned;
  static const std::vector<Row> rows = {
    {"cudaHostRegister of a range, inside it, again; unregister inside it, of it", "0 712 712 1 0",
     register_within},
    {"cudaHostRegister off a page; unregister of the page, of the range", "0 713 0",
     register_off_a_page},
    {"cudaHostRegister of cudaMallocHost memory", "1", register_pinned},
    {"cudaHostRegister, free(), cudaHostUnregister", "0 0", free_while_registered},
    {"managed from device, HostToDevice", "0",
     copy_between<cudaMemcpyHostToDevice, kManaged, kDevice>},
    {"managed from device, DeviceToHost", "0",
     copy_between<cudaMemcpyDeviceToHost, kManaged, kDevice>},
    {"device from managed, HostToDevice", "0",
     copy_between<cudaMemcpyHostToDevice, kDevice, kManaged>},
    {"device from managed, DeviceToDevice", "0",
     copy_between<cudaMemcpyDeviceToDevice, kDevice, kManaged>},
    {"pinned from device, DeviceToDevice", "0",
     copy_between<cudaMemcpyDeviceToDevice, kPinned, kDevice>},
    {"pinned from device, HostToDevice", "0",
     copy_between<cudaMemcpyHostToDevice, kPinned, kDevice>},
    {"device from pinned, DeviceToHost", "0",
     copy_between<cudaMemcpyDeviceToHost, kDevice, kPinned>},
    {"device from pinned, DeviceToDevice", "0",
     copy_between<cudaMemcpyDeviceToDevice, kDevice, kPinned>},
    {"device from pageable, DeviceToDevice", "1", pageable_to_device},
    {"pageable from device, DeviceToDevice", "1", device_to_pageable<cudaMemcpyDeviceToDevice>},
    {"pageable from device, HostToHost", "0", device_to_pageable<cudaMemcpyHostToHost>},
    {"overlapping HostToHost, overlapping Default, onto itself", "0 0 0", overlaps},
    {"cudaMemcpy2D with width > pitch, of one row and of two", "1 12", one_wide_row},
    {"cudaMemset2D with width > pitch, of two rows and of one", "1 0", wide_set},
    {"attribute: pageable memory access", "0", attribute_of<cudaDevAttrPageableMemoryAccess>},
    {"attribute: concurrent managed access", "1", attribute_of<cudaDevAttrConcurrentManagedAccess>},
    {"attribute: texture alignment", "512", attribute_of<cudaDevAttrTextureAlignment>},
    {"attribute: texture pitch alignment", "32", attribute_of<cudaDevAttrTexturePitchAlignment>},
    {"attribute: surface alignment", "512", attribute_of<cudaDevAttrSurfaceAlignment>},
    {"attribute: sparse arrays", "1", attribute_of<cudaDevAttrSparseCudaArraySupported>},
    {"attribute: IPC events", "1", attribute_of<cudaDevAttrIpcEventSupport>},
    {"linear texture: fitting, base + 4, twice the allocation", "0 1 0", linear_textures},
    {"texture pitch2D, height far past the allocation", "0", too_high_texture},
    {"cudaDestroyTextureObject twice", "0 0", destroy_texture_twice},
    {"copy to an array: fitting, x offset, y offset", "0 1 1", copies_to_array},
    {"cudaFreeArray twice", "0 709", free_array_twice},
    {"mipmapped level: get, cudaFreeArray; array: free, free", "0 0 0 709", free_level},
    {"cudaMemcpyToSymbol fitting, one byte too many", "0 1", past_symbol},
    {"IPC in one process: get, get inside, open, close of own memory", "0 0 201 1",
     ipc_in_one_process},
    {"IPC handle of pinned memory, of managed memory", "1 1", ipc_of_other_kinds},
    {"cuMemMap, again, set, cuMemSetAccess, set", "0 1 1 0 0", map_and_set},
    {"cuMemRelease while mapped, again, set", "0 1 0", release_while_mapped},
    {"address free while mapped, unmap half, whole, again; free half, whole, again",
     "1 1 0 0 1 0 1", unmap_and_free},
  };
  return rows;
}
