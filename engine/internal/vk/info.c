//go:build cgo && !(386 || arm || mips || mipsle)

// What a physical device can do: properties, limits, features, queues, memory.

#include "vkc.h"

#include <stdlib.h>
#include <string.h>

// prepend puts a structure that starts with sType and pNext at the head of a chain.
typedef struct head {
    VkStructureType sType;
    void *pNext;
} head;

static void prepend(void **chain, void *structure, VkStructureType type) {
    head *h = structure;
    h->sType = type;
    h->pNext = *chain;
    *chain = structure;
}

static void get_extensions(vkc_instance *in, VkPhysicalDevice gpu, vkc_info *out) {
    uint32_t n = 0;
    if (in->vkEnumerateDeviceExtensionProperties(gpu, NULL, &n, NULL) != VK_SUCCESS || n == 0) return;
    VkExtensionProperties *list = calloc(n, sizeof *list);
    if (list && in->vkEnumerateDeviceExtensionProperties(gpu, NULL, &n, list) >= VK_SUCCESS) {
        for (uint32_t i = 0; i < n; i++) {
            if (strcmp(list[i].extensionName, "VK_EXT_external_memory_host") == 0) out->features |= VKC_F_HOST_IMPORT;
            if (strcmp(list[i].extensionName, "VK_KHR_portability_subset") == 0) out->portability_subset = 1;
            if (strcmp(list[i].extensionName, "VK_KHR_pipeline_executable_properties") == 0)
                out->features |= VKC_F_STATISTICS;
        }
    }
    free(list);
}

// get_queues chooses a family for compute, one without graphics and with timestamps
// first, and one that only copies, whose engine works beside the compute units.
static void get_queues(vkc_instance *in, VkPhysicalDevice gpu, vkc_info *out) {
    VkQueueFamilyProperties families[32];
    uint32_t n = sizeof families / sizeof *families;
    in->vkGetPhysicalDeviceQueueFamilyProperties(gpu, &n, families);
    int best = -1;
    out->compute_family = out->transfer_family = -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t f = families[i].queueFlags;
        if (families[i].queueCount == 0) continue;
        if (f & VK_QUEUE_COMPUTE_BIT) {
            int score = 2 * (families[i].timestampValidBits > 0) + !(f & VK_QUEUE_GRAPHICS_BIT);
            if (score > best) {
                best = score;
                out->compute_family = (int32_t)i;
                out->timestamp_bits = families[i].timestampValidBits;
            }
        } else if (out->transfer_family < 0 && (f & VK_QUEUE_TRANSFER_BIT) && !(f & VK_QUEUE_GRAPHICS_BIT)) {
            out->transfer_family = (int32_t)i;
        }
    }
}

static void get_features(vkc_instance *in, VkPhysicalDevice gpu, vkc_info *out) {
    VkPhysicalDevice16BitStorageFeatures storage16 = {0};
    VkPhysicalDeviceVulkan12Features v12 = {0};
    VkPhysicalDeviceVulkan13Features v13 = {0};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics = {0};
    VkPhysicalDeviceFeatures2 all = {0};
    void *chain = NULL;
    if (out->features & VKC_F_STATISTICS)
        prepend(&chain, &statistics, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR);
    prepend(&chain, &storage16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
    if (out->api_version >= VKC_VERSION(1, 2))
        prepend(&chain, &v12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    if (out->api_version >= VKC_VERSION(1, 3))
        prepend(&chain, &v13, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    prepend(&chain, &all, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    in->vkGetPhysicalDeviceFeatures2(gpu, &all);
#define HAVE(condition, bit) \
    if (condition) out->features |= bit
    HAVE(all.features.shaderFloat64, VKC_F_FLOAT64);
    HAVE(all.features.shaderInt64, VKC_F_INT64);
    HAVE(all.features.shaderInt16, VKC_F_INT16);
    HAVE(all.features.robustBufferAccess, VKC_F_ROBUST_ACCESS);
    HAVE(storage16.storageBuffer16BitAccess, VKC_F_STORAGE16);
    HAVE(v12.shaderInt8, VKC_F_INT8);
    HAVE(v12.shaderFloat16, VKC_F_FLOAT16);
    HAVE(v12.storageBuffer8BitAccess, VKC_F_STORAGE8);
    HAVE(v12.scalarBlockLayout, VKC_F_SCALAR_LAYOUT);
    HAVE(v12.timelineSemaphore, VKC_F_TIMELINE);
    HAVE(v12.bufferDeviceAddress, VKC_F_DEVICE_ADDRESS);
    HAVE(v12.shaderBufferInt64Atomics, VKC_F_INT64_ATOMICS);
    HAVE(v12.vulkanMemoryModel && v12.vulkanMemoryModelDeviceScope, VKC_F_MEMORY_MODEL);
    HAVE(v13.subgroupSizeControl, VKC_F_SUBGROUP_SIZE);
    HAVE(v13.computeFullSubgroups, VKC_F_FULL_SUBGROUPS);
    if (!statistics.pipelineExecutableInfo) out->features &= ~(uint32_t)VKC_F_STATISTICS;
}

static void get_properties(vkc_instance *in, VkPhysicalDevice gpu, vkc_info *out) {
    VkPhysicalDeviceIDProperties id = {0};
    VkPhysicalDeviceSubgroupProperties subgroup = {0};
    VkPhysicalDeviceMaintenance3Properties maintenance3 = {0};
    VkPhysicalDeviceDriverProperties driver = {0};
    VkPhysicalDeviceFloatControlsProperties floats = {0};
    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {0};
    VkPhysicalDeviceMaintenance4Properties maintenance4 = {0};
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {0};
    VkPhysicalDeviceProperties2 all = {0};
    void *chain = NULL;
    prepend(&chain, &id, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    prepend(&chain, &subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    prepend(&chain, &maintenance3, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
    if (out->api_version >= VKC_VERSION(1, 2)) {
        prepend(&chain, &driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
        prepend(&chain, &floats, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
    }
    if (out->api_version >= VKC_VERSION(1, 3)) {
        prepend(&chain, &sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
        prepend(&chain, &maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    }
    if (out->features & VKC_F_HOST_IMPORT)
        prepend(&chain, &host, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
    prepend(&chain, &all, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    in->vkGetPhysicalDeviceProperties2(gpu, &all);

    memcpy(out->device_uuid, id.deviceUUID, sizeof out->device_uuid);
    memcpy(out->driver_name, driver.driverName, sizeof out->driver_name);
    memcpy(out->driver_info, driver.driverInfo, sizeof out->driver_info);
    out->max_allocation = maintenance3.maxMemoryAllocationSize;
    out->max_buffer = maintenance4.maxBufferSize;
    out->host_import_alignment = host.minImportedHostPointerAlignment;
    out->subgroup_size = subgroup.subgroupSize;
    out->subgroup_operations = subgroup.supportedOperations;
    out->subgroup_stages = subgroup.supportedStages;
    out->min_subgroup = sizes.minSubgroupSize;
    out->max_subgroup = sizes.maxSubgroupSize;
    if (!(sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT))
        out->features &= ~(uint32_t)VKC_F_SUBGROUP_SIZE;
#define CONTROL(field, bit) \
    if (floats.field) out->float_controls |= bit
    CONTROL(shaderRoundingModeRTEFloat32, VKC_C_RTE32);
    CONTROL(shaderRoundingModeRTEFloat64, VKC_C_RTE64);
    CONTROL(shaderDenormPreserveFloat32, VKC_C_DENORM_PRESERVE32);
    CONTROL(shaderDenormPreserveFloat64, VKC_C_DENORM_PRESERVE64);
    CONTROL(shaderDenormFlushToZeroFloat32, VKC_C_DENORM_FLUSH32);
    CONTROL(shaderSignedZeroInfNanPreserveFloat32, VKC_C_SIGNED_ZERO_INF_NAN32);
    CONTROL(shaderSignedZeroInfNanPreserveFloat64, VKC_C_SIGNED_ZERO_INF_NAN64);
}

void vkc_info_get(vkc_instance *in, uint32_t gpu_index, vkc_info *out) {
    VkPhysicalDevice gpu = in->gpus[gpu_index];
    VkPhysicalDeviceProperties basic;
    memset(out, 0, sizeof *out);
    in->vkGetPhysicalDeviceProperties(gpu, &basic);
    memcpy(out->name, basic.deviceName, sizeof out->name);
    memcpy(out->cache_uuid, basic.pipelineCacheUUID, sizeof out->cache_uuid);
    // A patch version does not matter, so 1.3.x stays what it is under a maximum of 1.3.
    out->api_version = basic.apiVersion >> 12 > in->max_version >> 12 ? in->max_version : basic.apiVersion;
    out->driver_version = basic.driverVersion;
    out->vendor_id = basic.vendorID;
    out->device_id = basic.deviceID;
    out->type = basic.deviceType;
    out->limits = basic.limits;
    in->vkGetPhysicalDeviceMemoryProperties(gpu, &out->memory);
    get_queues(in, gpu, out);
    if (out->api_version < VKC_VERSION(1, 1)) return; // the rest asks with functions of 1.1
    get_extensions(in, gpu, out);
    get_features(in, gpu, out);
    get_properties(in, gpu, out);
}
