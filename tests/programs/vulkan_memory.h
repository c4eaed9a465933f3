// SPDX-License-Identifier: Apache-2.0
// Memory that Vulkan allocated on the first CUDA device, as a file descriptor for cudaImportExternalMemory. Vulkan is
// looked up at run time, with its loader or in NVIDIA's driver itself, which needs no display.
#pragma once

#include <cuda_runtime.h>
#include <vulkan/vulkan.h>

#include <cstring>
#include <dlfcn.h>
#include <vector>

class VulkanMemory {
public:
  // -1 if there is no Vulkan here that has this device.
  static int export_file(size_t bytes)
  {
    const PFN_vkGetInstanceProcAddr look_up = find_vulkan();
    return look_up != nullptr ? VulkanMemory(look_up).export_from_device(bytes) : -1;
  }

private:
  explicit VulkanMemory(PFN_vkGetInstanceProcAddr look_up) : look_up_(look_up) {}

  static PFN_vkGetInstanceProcAddr find_vulkan()
  {
    const char* const names[][2] = {{"libvulkan.so.1", "vkGetInstanceProcAddr"},
                                    {"libGLX_nvidia.so.0", "vk_icdGetInstanceProcAddr"},
                                    {"libEGL_nvidia.so.0", "vk_icdGetInstanceProcAddr"}};
    for (const auto& [library, symbol] : names) {
      void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
      void* const found = opened != nullptr ? dlsym(opened, symbol) : nullptr;
      if (found != nullptr)
        return reinterpret_cast<PFN_vkGetInstanceProcAddr>(found);
    }
    return nullptr;
  }

  template <class Function> Function function(const char* name) const
  {
    return reinterpret_cast<Function>(look_up_(instance_, name));
  }
#define VULKAN(name) function<PFN_##name>(#name)

  // Vulkan's number for the device that CUDA counts first.
  VkPhysicalDevice same_device() const
  {
    cudaDeviceProp cuda{};
    uint32_t count = 0;
    if (cudaGetDeviceProperties(&cuda, 0) != cudaSuccess || VULKAN(vkEnumeratePhysicalDevices)(instance_, &count, nullptr) != 0)
      return nullptr;
    std::vector<VkPhysicalDevice> devices(count);
    VULKAN(vkEnumeratePhysicalDevices)(instance_, &count, devices.data());
    for (VkPhysicalDevice device : devices) {
      VkPhysicalDeviceIDProperties id{};
      VkPhysicalDeviceProperties2 properties{};
      id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
      properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
      properties.pNext = &id;
      VULKAN(vkGetPhysicalDeviceProperties2)(device, &properties);
      if (std::memcmp(id.deviceUUID, &cuda.uuid, VK_UUID_SIZE) == 0)
        return device;
    }
    return nullptr;
  }

  // The first type of memory that is the device's own.
  uint32_t memory_type(VkPhysicalDevice device) const
  {
    VkPhysicalDeviceMemoryProperties memory{};
    VULKAN(vkGetPhysicalDeviceMemoryProperties)(device, &memory);
    for (uint32_t type = 0; type < memory.memoryTypeCount; ++type)
      if (memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
        return type;
    return 0;
  }

  VkDevice open(VkPhysicalDevice physical) const
  {
    const float priority = 1;
    const char* const extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo create{};
    create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue;
    create.enabledExtensionCount = 1;
    create.ppEnabledExtensionNames = extensions;
    VkDevice device = nullptr;
    return VULKAN(vkCreateDevice)(physical, &create, nullptr, &device) == VK_SUCCESS ? device : nullptr;
  }

  int export_from_device(size_t bytes)
  {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo create{};
    create.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    create.pApplicationInfo = &application;
    const auto create_instance = VULKAN(vkCreateInstance);
    if (create_instance == nullptr || create_instance(&create, nullptr, &instance_) != VK_SUCCESS)
      return -1;
    const VkPhysicalDevice physical = same_device();
    const VkDevice device = physical != nullptr ? open(physical) : nullptr;
    if (device == nullptr)
      return -1;
    VkExportMemoryAllocateInfo exported{};
    exported.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
    exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkMemoryAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.pNext = &exported;
    allocate.allocationSize = bytes;
    allocate.memoryTypeIndex = memory_type(physical);
    VkDeviceMemory memory{};
    if (VULKAN(vkAllocateMemory)(device, &allocate, nullptr, &memory) != VK_SUCCESS)
      return -1;
    VkMemoryGetFdInfoKHR get{};
    get.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
    get.memory = memory;
    get.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const auto device_function = VULKAN(vkGetDeviceProcAddr);
    const auto get_file = reinterpret_cast<PFN_vkGetMemoryFdKHR>(device_function(device, "vkGetMemoryFdKHR"));
    int file = -1;
    return get_file != nullptr && get_file(device, &get, &file) == VK_SUCCESS ? file : -1; // the driver keeps the rest
  }
#undef VULKAN

  PFN_vkGetInstanceProcAddr look_up_;
  VkInstance instance_ = nullptr;
};
