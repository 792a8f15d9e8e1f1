//go:build cgo && !(386 || arm || mips || mipsle)

// Instances: layers, extensions, the messenger, the list of physical devices. Then what a physical device can do:
// properties, limits, features, queues, memory.

#include "vkc.h"

#include <stdlib.h>
#include <string.h>

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

static int has_extension(const char *layer, const char *name) {
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)vkc_loader_proc(NULL, "vkEnumerateInstanceExtensionProperties");
    uint32_t n = 0;
    int found = 0;
    if (!enumerate || enumerate(layer, &n, NULL) != VK_SUCCESS || n == 0) return 0;
    VkExtensionProperties *list = calloc(n, sizeof *list);
    if (list && enumerate(layer, &n, list) >= VK_SUCCESS)
        for (uint32_t i = 0; i < n; i++) found |= strcmp(list[i].extensionName, name) == 0;
    free(list);
    return found;
}

static int has_layer(const char *name) {
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        (PFN_vkEnumerateInstanceLayerProperties)vkc_loader_proc(NULL, "vkEnumerateInstanceLayerProperties");
    uint32_t n = 0;
    int found = 0;
    if (!enumerate || enumerate(&n, NULL) != VK_SUCCESS || n == 0) return 0;
    VkLayerProperties *list = calloc(n, sizeof *list);
    if (list && enumerate(&n, list) >= VK_SUCCESS)
        for (uint32_t i = 0; i < n; i++) found |= strcmp(list[i].layerName, name) == 0;
    free(list);
    return found;
}

static VkResult load_functions(vkc_instance *in) {
#define LOAD(name)                                             \
    in->name = (PFN_##name)vkc_loader_proc(in->handle, #name); \
    if (!in->name) return VK_ERROR_INCOMPATIBLE_DRIVER;
    VKC_INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
    return VK_SUCCESS;
}

VkResult vkc_instance_create(const char *app, uint32_t max_version, vkc_log *log, vkc_instance **out) {
    *out = NULL;
    VKC_FAULT(VKC_AT_CREATE_INSTANCE);
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)vkc_loader_proc(NULL, "vkCreateInstance");
    // A loader of Vulkan 1.0 has no vkEnumerateInstanceVersion. Later ones accept any version
    // from an application, and a device that offers less says so.
    if (!create || !vkc_loader_proc(NULL, "vkEnumerateInstanceVersion")) return VK_ERROR_FEATURE_NOT_PRESENT;
    if (log && !has_layer(VALIDATION_LAYER)) return VK_ERROR_LAYER_NOT_PRESENT;

    vkc_instance *in = vkc_new(sizeof *in);
    if (!in) return VK_ERROR_OUT_OF_HOST_MEMORY;
    in->max_version = max_version;

    const char *layers[] = {VALIDATION_LAYER};
    const char *extensions[4];
    uint32_t extension_count = 0, flags = 0;
    if (has_extension(NULL, "VK_KHR_portability_enumeration")) { // lists drivers such as MoltenVK
        extensions[extension_count++] = "VK_KHR_portability_enumeration";
        flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = vkc_log_callback,
        .pUserData = log,
    };
    const int32_t enable[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messenger,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = enable,
    };
    const void *next = NULL;
    if (log) {
        next = &messenger; // also hears creation and destruction of the instance
        extensions[extension_count++] = "VK_EXT_debug_utils";
        if (has_extension(VALIDATION_LAYER, "VK_EXT_validation_features")) {
            extensions[extension_count++] = "VK_EXT_validation_features";
            next = &features;
        }
    }
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = app,
        .pEngineName = "clearance",
        .apiVersion = max_version < VKC_VERSION(1, 1) ? VKC_VERSION(1, 1) : max_version,
    };
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = next,
        .flags = flags,
        .pApplicationInfo = &application,
        .enabledLayerCount = log ? 1 : 0,
        .ppEnabledLayerNames = layers,
        .enabledExtensionCount = extension_count,
        .ppEnabledExtensionNames = extensions,
    };
    VkResult r = create(&info, NULL, &in->handle);
    if (r != VK_SUCCESS) goto fail;
    vkc_live_add(VKC_LIVE_INSTANCE, 1);
    r = load_functions(in);
    if (r != VK_SUCCESS) goto fail;
    if (log) {
        PFN_vkCreateDebugUtilsMessengerEXT create_messenger =
            (PFN_vkCreateDebugUtilsMessengerEXT)vkc_loader_proc(in->handle, "vkCreateDebugUtilsMessengerEXT");
        in->vkDestroyDebugUtilsMessengerEXT =
            (PFN_vkDestroyDebugUtilsMessengerEXT)vkc_loader_proc(in->handle, "vkDestroyDebugUtilsMessengerEXT");
        r = create_messenger && in->vkDestroyDebugUtilsMessengerEXT
                ? create_messenger(in->handle, &messenger, NULL, &in->messenger)
                : VK_ERROR_EXTENSION_NOT_PRESENT;
        if (r != VK_SUCCESS) goto fail;
        vkc_live_add(VKC_LIVE_MESSENGER, 1);
    }
    *out = in;
    return VK_SUCCESS;
fail:
    vkc_instance_destroy(in);
    return r;
}

VkResult vkc_instance_enumerate(vkc_instance *in) {
    VkResult injected;
    if (vkc_fault_armed() && vkc_fault(VKC_AT_ENUMERATE_PHYSICAL_DEVICES, &injected)) {
        in->gpu_count = 0; // an injected success finds nothing
        return injected;
    }
    in->gpu_count = VKC_MAX_GPUS;
    VkResult r = in->vkEnumeratePhysicalDevices(in->handle, &in->gpu_count, in->gpus);
    if (r < 0) in->gpu_count = 0;
    return r == VK_INCOMPLETE ? VK_SUCCESS : r;
}

void vkc_instance_destroy(vkc_instance *in) {
    if (!in) return;
    if (in->messenger) {
        in->vkDestroyDebugUtilsMessengerEXT(in->handle, in->messenger, NULL);
        vkc_live_add(VKC_LIVE_MESSENGER, -1);
    }
    if (in->handle) {
        if (!in->vkDestroyInstance)
            in->vkDestroyInstance = (PFN_vkDestroyInstance)vkc_loader_proc(in->handle, "vkDestroyInstance");
        if (in->vkDestroyInstance) {
            in->vkDestroyInstance(in->handle, NULL);
            vkc_live_add(VKC_LIVE_INSTANCE, -1);
        }
    }
    vkc_free(in);
}

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
