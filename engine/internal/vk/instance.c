//go:build cgo && !(386 || arm || mips || mipsle)

// Instances: layers, extensions, the messenger, the list of physical devices.

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
