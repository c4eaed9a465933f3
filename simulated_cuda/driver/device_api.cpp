// SPDX-License-Identifier: Apache-2.0
// Device queries: names, attributes, peers. Called through driver_api.def with the lock held.
// The values come from device_attributes.def; pitch and texture alignments and the memory size from
// the environment. Invariant: all devices are alike but for their ordinal, PCI bus and UUID; every
// pair of them has peer access.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/execution/capability.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstdio>
#include <cstring>

namespace gmt::sim {
namespace {

struct Attribute {
  CUdevice_attribute name;
  int value;
};

constexpr Attribute kAttributes[] = {
#define ATTRIBUTE(name, value) {CU_DEVICE_ATTRIBUTE_##name, value},
#include "simulated_cuda/driver/device_attributes.def"
#undef ATTRIBUTE
};

int attribute_value(CUdevice_attribute name, int ordinal) {
  switch (name) {
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return state().settings.texture_alignment;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: return state().settings.texture_pitch_alignment;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return ordinal + 1;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return static_cast<int>(claimed_capability() / 10);
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return static_cast<int>(claimed_capability() % 10);
  default: break;
  }
  for (const Attribute& attribute : kAttributes) {
    if (attribute.name == name) return attribute.value;
  }
  return 0;
}

} // namespace

CUresult device_get(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult device_get_count(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(state().devices.size());
  return CUDA_SUCCESS;
}

CUresult device_get_name(char* name, int length, CUdevice ordinal) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(length), "gpumemtrace simulated device");
  return CUDA_SUCCESS;
}

CUresult device_get_uuid(CUuuid* uuid, CUdevice ordinal) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid->bytes, "gpumemtrace-sim", 15);
  uuid->bytes[15] = static_cast<char>(ordinal);
  return CUDA_SUCCESS;
}

CUresult device_total_mem(std::size_t* bytes, CUdevice ordinal) {
  const Device* device = state().device(ordinal);
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = device->arena.capacity();
  return CUDA_SUCCESS;
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  if (value == nullptr || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  if (state().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute_value(attribute, ordinal);
  return CUDA_SUCCESS;
}

CUresult device_compute_capability(int* major, int* minor, CUdevice ordinal) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *major = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
  *minor = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
  return CUDA_SUCCESS;
}

CUresult device_get_properties(CUdevprop* p, CUdevice ordinal) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto value = [&](CUdevice_attribute name) { return attribute_value(name, ordinal); };
  *p = {};
  p->maxThreadsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  for (int i = 0; i < 3; ++i) {
    p->maxThreadsDim[i] =
      value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
    p->maxGridSize[i] =
      value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
  }
  p->sharedMemPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p->totalConstantMemory = value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p->SIMDWidth = value(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p->memPitch = value(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  p->regsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p->clockRate = value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  p->textureAlign = value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  return CUDA_SUCCESS;
}

CUresult device_get_pci_bus_id(char* text, int length, CUdevice ordinal) {
  if (text == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                static_cast<unsigned>(ordinal + 1));
  return CUDA_SUCCESS;
}

CUresult device_get_by_pci_bus_id(CUdevice* device, const char* text) {
  if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned bus = 0;
  if (std::sscanf(text, "%*x:%x:", &bus) != 1) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(static_cast<int>(bus) - 1) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = static_cast<int>(bus) - 1;
  return CUDA_SUCCESS;
}

CUresult device_can_access_peer(int* can, CUdevice device, CUdevice peer) {
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(device) == nullptr || state().device(peer) == nullptr)
    return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer && state().settings.peer_access != 0;
  return CUDA_SUCCESS;
}

CUresult device_get_p2p_attribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from,
                                  CUdevice to) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (state().device(from) == nullptr || state().device(to) == nullptr || from == to)
    return CUDA_ERROR_INVALID_DEVICE;
  *value =
    attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && state().settings.peer_access != 0;
  return CUDA_SUCCESS;
}

CUresult device_get_texture_1d_linear_max_width(std::size_t* width, CUarray_format,
                                                unsigned channels, CUdevice ordinal) {
  if (width == nullptr || channels == 0) return CUDA_ERROR_INVALID_VALUE;
  *width = static_cast<std::size_t>(
    attribute_value(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, ordinal));
  return CUDA_SUCCESS;
}

CUresult device_get_exec_affinity_support(int* supported, CUexecAffinityType, CUdevice) {
  if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *supported = 0;
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
