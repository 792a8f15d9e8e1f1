//go:build cgo && !(386 || arm || mips || mipsle)

// Devices and their memory, then compute pipelines.

#include "vkc.h"

#include <stdlib.h>
#include <string.h>

void vkc_fault_corrupt(uint8_t *data, uint64_t size);

static VkResult load_functions(vkc_instance *in, vkc_device *d) {
#define LOAD_OPTIONAL(name) d->name = (PFN_##name)in->vkGetDeviceProcAddr(d->handle, #name);
#define LOAD(name) LOAD_OPTIONAL(name) if (!d->name) return VK_ERROR_INCOMPATIBLE_DRIVER;
    VKC_DEVICE_FUNCTIONS(LOAD)
    VKC_DEVICE_OPTIONAL(LOAD_OPTIONAL)
#undef LOAD
#undef LOAD_OPTIONAL
    int complete = (!(d->features & VKC_F_TIMELINE) || d->vkWaitSemaphores) &&
                   (!(d->features & VKC_F_DEVICE_ADDRESS) || d->vkGetBufferDeviceAddress) &&
                   (!(d->features & VKC_F_HOST_IMPORT) || d->vkGetMemoryHostPointerPropertiesEXT) &&
                   (!(d->features & VKC_F_STATISTICS) || d->vkGetPipelineExecutableStatisticsKHR);
    return complete ? VK_SUCCESS : VK_ERROR_INCOMPATIBLE_DRIVER;
}

static VkResult create_cache(vkc_device *d, const void *data, size_t size) {
    VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = size,
        .pInitialData = data,
    };
    VkResult r = d->vkCreatePipelineCache(d->handle, &info, NULL, &d->cache);
    if (r == VK_SUCCESS) vkc_live_add(VKC_LIVE_PIPELINE_CACHE, 1);
    return r;
}

VkResult vkc_device_create(vkc_instance *in, uint32_t gpu, const vkc_info *info, uint32_t features, const void *cache,
                           size_t cache_size, vkc_device **out) {
    *out = NULL;
    VKC_FAULT(VKC_AT_CREATE_DEVICE);
    vkc_device *d = vkc_new(sizeof *d);
    if (!d) return VK_ERROR_OUT_OF_HOST_MEMORY;
    d->features = features;

    VkPhysicalDeviceVulkan13Features v13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .subgroupSizeControl = (features & VKC_F_SUBGROUP_SIZE) != 0,
        .computeFullSubgroups = (features & VKC_F_FULL_SUBGROUPS) != 0,
    };
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .storageBuffer8BitAccess = (features & VKC_F_STORAGE8) != 0,
        .shaderInt8 = (features & VKC_F_INT8) != 0,
        .shaderFloat16 = (features & VKC_F_FLOAT16) != 0,
        .scalarBlockLayout = (features & VKC_F_SCALAR_LAYOUT) != 0,
        .timelineSemaphore = (features & VKC_F_TIMELINE) != 0,
        .bufferDeviceAddress = (features & VKC_F_DEVICE_ADDRESS) != 0,
        .shaderBufferInt64Atomics = (features & VKC_F_INT64_ATOMICS) != 0,
        .vulkanMemoryModel = (features & VKC_F_MEMORY_MODEL) != 0,
        .vulkanMemoryModelDeviceScope = (features & VKC_F_MEMORY_MODEL) != 0, // else atomics of shaders are refused
    };
    VkPhysicalDevice16BitStorageFeatures storage16 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
        .storageBuffer16BitAccess = (features & VKC_F_STORAGE16) != 0,
    };
    VkPhysicalDeviceFeatures2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &storage16,
        .features =
            {
                .robustBufferAccess = (features & VKC_F_ROBUST_ACCESS) != 0,
                .shaderFloat64 = (features & VKC_F_FLOAT64) != 0,
                .shaderInt64 = (features & VKC_F_INT64) != 0,
                .shaderInt16 = (features & VKC_F_INT16) != 0,
            },
    };
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pNext = &storage16,
        .pipelineExecutableInfo = 1,
    };
    if (features & VKC_F_STATISTICS) all.pNext = &statistics;
    if (info->api_version >= VKC_VERSION(1, 2)) storage16.pNext = &v12;
    if (info->api_version >= VKC_VERSION(1, 3)) v12.pNext = &v13;

    const float priority = 1;
    VkDeviceQueueCreateInfo queues[VKC_QUEUE_COUNT] = {{0}};
    uint32_t queue_count = 0;
    d->families[VKC_QUEUE_COMPUTE] = (uint32_t)info->compute_family;
    d->families[VKC_QUEUE_TRANSFER] =
        (uint32_t)(info->transfer_family >= 0 ? info->transfer_family : info->compute_family);
    for (int i = 0; i < VKC_QUEUE_COUNT; i++) {
        if (i > 0 && d->families[i] == d->families[0]) continue;
        queues[queue_count++] = (VkDeviceQueueCreateInfo){
            .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            .queueFamilyIndex = d->families[i],
            .queueCount = 1,
            .pQueuePriorities = &priority,
        };
    }
    const char *extensions[3];
    uint32_t extension_count = 0;
    if (features & VKC_F_HOST_IMPORT) extensions[extension_count++] = "VK_EXT_external_memory_host";
    if (info->portability_subset) extensions[extension_count++] = "VK_KHR_portability_subset";
    if (features & VKC_F_STATISTICS) extensions[extension_count++] = "VK_KHR_pipeline_executable_properties";
    VkDeviceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &all,
        .queueCreateInfoCount = queue_count,
        .pQueueCreateInfos = queues,
        .enabledExtensionCount = extension_count,
        .ppEnabledExtensionNames = extensions,
    };
    VkResult r = in->vkCreateDevice(in->gpus[gpu], &create, NULL, &d->handle);
    if (r != VK_SUCCESS) goto fail;
    vkc_live_add(VKC_LIVE_DEVICE, 1);
    r = load_functions(in, d);
    if (r != VK_SUCCESS) goto fail;
    for (int i = 0; i < VKC_QUEUE_COUNT; i++) d->vkGetDeviceQueue(d->handle, d->families[i], 0, &d->queues[i]);
    r = create_cache(d, cache, cache_size);
    if (r != VK_SUCCESS && cache_size > 0) r = create_cache(d, NULL, 0); // start afresh
    if (r != VK_SUCCESS) goto fail;
    *out = d;
    return VK_SUCCESS;
fail:
    vkc_device_destroy(d);
    return r;
}

VkResult vkc_device_wait_idle(vkc_device *d) { return d->vkDeviceWaitIdle(d->handle); }

void vkc_device_destroy(vkc_device *d) {
    if (!d) return;
    if (d->cache) {
        d->vkDestroyPipelineCache(d->handle, d->cache, NULL);
        vkc_live_add(VKC_LIVE_PIPELINE_CACHE, -1);
    }
    if (d->handle && d->vkDestroyDevice) {
        d->vkDestroyDevice(d->handle, NULL);
        vkc_live_add(VKC_LIVE_DEVICE, -1);
    }
    vkc_free(d);
}

VkResult vkc_cache_data(vkc_device *d, size_t *size, void *data) {
    return d->vkGetPipelineCacheData(d->handle, d->cache, size, data);
}

// ---- Memory.

static VkResult create_buffer(vkc_device *d, uint64_t size, int import, VkBuffer *out) {
    VKC_FAULT(VKC_AT_CREATE_BUFFER);
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    };
    int shared = d->families[0] != d->families[1];
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = import ? &external : NULL,
        .size = size,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = shared ? VKC_QUEUE_COUNT : 0,
        .pQueueFamilyIndices = d->families,
    };
    if (d->features & VKC_F_DEVICE_ADDRESS) info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    VkResult r = d->vkCreateBuffer(d->handle, &info, NULL, out);
    if (r == VK_SUCCESS) vkc_live_add(VKC_LIVE_BUFFER, 1);
    return r;
}

static VkResult allocate(vkc_device *d, uint64_t size, uint32_t type, void *host, VkDeviceMemory *out) {
    VKC_FAULT(VKC_AT_ALLOCATE_MEMORY);
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = host,
    };
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = size,
        .memoryTypeIndex = type,
    };
    if (host) info.pNext = &import;
    if (d->features & VKC_F_DEVICE_ADDRESS) {
        flags.pNext = info.pNext;
        info.pNext = &flags;
    }
    VkResult r = d->vkAllocateMemory(d->handle, &info, NULL, out);
    if (r == VK_SUCCESS) vkc_live_add(VKC_LIVE_MEMORY, 1);
    return r;
}

static VkResult map(vkc_device *d, vkc_block *b) {
    VKC_FAULT(VKC_AT_MAP_MEMORY);
    return d->vkMapMemory(d->handle, b->memory, 0, ~0ull, 0, &b->map);
}

VkResult vkc_block_create(vkc_device *d, uint64_t size, const uint32_t *types, uint32_t type_count,
                          const uint8_t *mappable, void *host, vkc_block **out, uint32_t *used) {
    *out = NULL;
    vkc_block *b = vkc_new(sizeof *b);
    if (!b) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult r = create_buffer(d, size, host != NULL, &b->buffer);
    if (r != VK_SUCCESS) goto fail;
    VkMemoryRequirements need;
    d->vkGetBufferMemoryRequirements(d->handle, b->buffer, &need);
    uint32_t allowed = need.memoryTypeBits;
    if (host) {
        VkMemoryHostPointerPropertiesEXT properties = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
        r = d->vkGetMemoryHostPointerPropertiesEXT(d->handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
                                                   host, &properties);
        if (r != VK_SUCCESS) goto fail;
        allowed &= properties.memoryTypeBits;
        need.size = size; // an import is as large as what it imports
    }
    r = VK_ERROR_FEATURE_NOT_PRESENT; // unless a type fits
    for (uint32_t i = 0; i < type_count; i++) {
        if (!(allowed >> types[i] & 1)) continue;
        *used = i;
        r = allocate(d, need.size, types[i], host, &b->memory);
        if (r != VK_ERROR_OUT_OF_DEVICE_MEMORY) break; // the next type may lie in another heap
    }
    if (r != VK_SUCCESS) goto fail;
    r = d->vkBindBufferMemory(d->handle, b->buffer, b->memory, 0);
    if (r != VK_SUCCESS) goto fail;
    if (host) {
        b->map = host; // imported memory is read and written through the process's own pointer
    } else if (mappable[*used]) {
        r = map(d, b);
        if (r != VK_SUCCESS) goto fail;
    }
    if (d->features & VKC_F_DEVICE_ADDRESS) {
        VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = b->buffer};
        b->address = d->vkGetBufferDeviceAddress(d->handle, &info);
    }
    *out = b;
    return VK_SUCCESS;
fail:
    vkc_block_destroy(d, b);
    return r;
}

void vkc_block_destroy(vkc_device *d, vkc_block *b) {
    if (!b) return;
    if (b->buffer) {
        d->vkDestroyBuffer(d->handle, b->buffer, NULL);
        vkc_live_add(VKC_LIVE_BUFFER, -1);
    }
    if (b->memory) { // freeing unmaps
        d->vkFreeMemory(d->handle, b->memory, NULL);
        vkc_live_add(VKC_LIVE_MEMORY, -1);
    }
    vkc_free(b);
}

VkResult vkc_block_flush(vkc_device *d, vkc_block *b, uint64_t offset, uint64_t size) {
    VkMappedMemoryRange range = {
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
        .memory = b->memory,
        .offset = offset,
        .size = size,
    };
    return d->vkFlushMappedMemoryRanges(d->handle, 1, &range);
}

VkResult vkc_block_invalidate(vkc_device *d, vkc_block *b, uint64_t offset, uint64_t size, int coherent, uint64_t data,
                              uint64_t data_size) {
    VkResult r = VK_SUCCESS;
    if (!coherent) {
        VkMappedMemoryRange range = {
            .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
            .memory = b->memory,
            .offset = offset,
            .size = size,
        };
        r = d->vkInvalidateMappedMemoryRanges(d->handle, 1, &range);
    }
    if (vkc_fault_armed() && r == VK_SUCCESS) vkc_fault_corrupt((uint8_t *)b->map + data, data_size);
    return r;
}

static VkResult create_layouts(vkc_device *d, vkc_pipeline *p, uint32_t bindings, uint32_t push_size) {
    VkDescriptorSetLayoutBinding *list = calloc(bindings ? bindings : 1, sizeof *list);
    if (!list) return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < bindings; i++) {
        list[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = bindings,
        .pBindings = list,
    };
    VkResult r = d->vkCreateDescriptorSetLayout(d->handle, &set, NULL, &p->set);
    free(list);
    if (r != VK_SUCCESS) return r;
    vkc_live_add(VKC_LIVE_SET_LAYOUT, 1);
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = push_size};
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &p->set,
        .pushConstantRangeCount = push_size > 0,
        .pPushConstantRanges = &push,
    };
    r = d->vkCreatePipelineLayout(d->handle, &layout, NULL, &p->layout);
    if (r == VK_SUCCESS) vkc_live_add(VKC_LIVE_PIPELINE_LAYOUT, 1);
    return r;
}

static VkResult compile(vkc_device *d, vkc_pipeline *p, VkShaderModule module, const char *entry,
                        const VkSpecializationInfo *spec, uint32_t subgroup, int full_subgroups) {
    VKC_FAULT(VKC_AT_CREATE_COMPUTE_PIPELINES);
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = subgroup,
    };
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage =
            {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = subgroup ? &size : NULL,
                .flags = full_subgroups ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = entry,
                .pSpecializationInfo = spec,
            },
        .layout = p->layout,
        .basePipelineIndex = -1,
        .flags = d->features & VKC_F_STATISTICS ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0,
    };
    VkResult r = d->vkCreateComputePipelines(d->handle, d->cache, 1, &info, NULL, &p->handle);
    if (r == VK_SUCCESS) vkc_live_add(VKC_LIVE_PIPELINE, 1);
    return r;
}

VkResult vkc_pipeline_create(vkc_device *d, const uint32_t *code, size_t code_size, const char *entry,
                             uint32_t bindings, uint32_t push_size, const uint32_t *spec, uint32_t spec_count,
                             uint32_t subgroup, int full_subgroups, vkc_pipeline **out) {
    *out = NULL;
    VkShaderModule module = NULL;
    vkc_pipeline *p = vkc_new(sizeof *p);
    VkSpecializationMapEntry *entries = calloc(spec_count ? spec_count : 1, sizeof *entries);
    VkResult r = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (!p || !entries) goto done;
    for (uint32_t i = 0; i < spec_count; i++)
        entries[i] = (VkSpecializationMapEntry){.constantID = spec[i], .offset = 4 * i, .size = 4};
    VkSpecializationInfo info = {
        .mapEntryCount = spec_count,
        .pMapEntries = entries,
        .dataSize = 4 * (size_t)spec_count,
        .pData = spec_count ? spec + spec_count : NULL,
    };
    VkShaderModuleCreateInfo shader = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = code_size,
        .pCode = code,
    };
    r = d->vkCreateShaderModule(d->handle, &shader, NULL, &module);
    if (r != VK_SUCCESS) goto done;
    vkc_live_add(VKC_LIVE_SHADER_MODULE, 1);
    r = create_layouts(d, p, bindings, push_size);
    if (r != VK_SUCCESS) goto done;
    r = compile(d, p, module, entry, spec_count ? &info : NULL, subgroup, full_subgroups);
done:
    if (module) {
        d->vkDestroyShaderModule(d->handle, module, NULL);
        vkc_live_add(VKC_LIVE_SHADER_MODULE, -1);
    }
    free(entries);
    if (r == VK_SUCCESS) *out = p;
    else vkc_pipeline_destroy(d, p);
    return r;
}

void vkc_pipeline_destroy(vkc_device *d, vkc_pipeline *p) {
    if (!p) return;
    if (p->handle) {
        d->vkDestroyPipeline(d->handle, p->handle, NULL);
        vkc_live_add(VKC_LIVE_PIPELINE, -1);
    }
    if (p->layout) {
        d->vkDestroyPipelineLayout(d->handle, p->layout, NULL);
        vkc_live_add(VKC_LIVE_PIPELINE_LAYOUT, -1);
    }
    if (p->set) {
        d->vkDestroyDescriptorSetLayout(d->handle, p->set, NULL);
        vkc_live_add(VKC_LIVE_SET_LAYOUT, -1);
    }
    vkc_free(p);
}

VkResult vkc_pipeline_statistics(vkc_device *d, vkc_pipeline *p, uint32_t *count,
                                 VkPipelineExecutableStatisticKHR *out) {
    VkPipelineExecutableInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pipeline = p->handle,
    };
    for (uint32_t i = 0; out && i < *count; i++)
        out[i] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
    return d->vkGetPipelineExecutableStatisticsKHR(d->handle, &info, count, out);
}
