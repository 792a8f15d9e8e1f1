// The part of the Vulkan ABI that this package uses, so that neither it nor its users
// need Vulkan headers. Names are the official ones. Enumerations and flags are plain
// integers of the same size. abi_test.go compiles a listing of every size, offset and
// value against this file and against the official headers, and compares the two.
//
// Structures that are only passed as null are left incomplete; pointers to them
// are void pointers.
#ifndef CLEARANCE_VK_ABI_H
#define CLEARANCE_VK_ABI_H

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX < UINT64_MAX
#error "this package supports 64-bit systems; others build with its stub"
#endif

#if defined(_WIN32)
#define VKAPI_PTR __stdcall
#else
#define VKAPI_PTR
#endif

// Handles: pointers, on 64-bit systems all of them.
#define VKC_HANDLE(name) typedef struct name##_T *name;
VKC_HANDLE(VkInstance)
VKC_HANDLE(VkPhysicalDevice)
VKC_HANDLE(VkDevice)
VKC_HANDLE(VkQueue)
VKC_HANDLE(VkCommandBuffer)
VKC_HANDLE(VkBuffer)
VKC_HANDLE(VkBufferView)
VKC_HANDLE(VkDeviceMemory)
VKC_HANDLE(VkShaderModule)
VKC_HANDLE(VkPipeline)
VKC_HANDLE(VkPipelineLayout)
VKC_HANDLE(VkPipelineCache)
VKC_HANDLE(VkDescriptorSetLayout)
VKC_HANDLE(VkDescriptorPool)
VKC_HANDLE(VkDescriptorSet)
VKC_HANDLE(VkSampler)
VKC_HANDLE(VkCommandPool)
VKC_HANDLE(VkQueryPool)
VKC_HANDLE(VkSemaphore)
VKC_HANDLE(VkFence)
VKC_HANDLE(VkDebugUtilsMessengerEXT)
#undef VKC_HANDLE

typedef uint32_t VkBool32;
typedef uint64_t VkDeviceSize, VkDeviceAddress;
typedef int32_t VkResult, VkStructureType, VkPipelineBindPoint, VkPipelineStageFlagBits,
    VkExternalMemoryHandleTypeFlagBits;
typedef uint32_t VkCommandPoolResetFlags, VkDependencyFlags, VkDescriptorPoolResetFlags, VkMemoryMapFlags,
    VkPipelineStageFlags, VkQueryResultFlags, VkShaderStageFlags;

typedef struct VkAllocationCallbacks VkAllocationCallbacks;
typedef struct VkBufferMemoryBarrier VkBufferMemoryBarrier;
typedef struct VkImageMemoryBarrier VkImageMemoryBarrier;
typedef struct VkCopyDescriptorSet VkCopyDescriptorSet;
typedef struct VkDebugUtilsMessengerCallbackDataEXT VkDebugUtilsMessengerCallbackDataEXT;

typedef void(VKAPI_PTR *PFN_vkVoidFunction)(void);
typedef VkBool32(VKAPI_PTR *PFN_vkDebugUtilsMessengerCallbackEXT)(int32_t severity, uint32_t types,
                                                                  const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                                  void *user);

#include "abi_enums.h"
#include "abi_physical.h"
#include "abi_device.h"
#include "abi_funcs.h"

#endif
