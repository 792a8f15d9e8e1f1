// The C half of package vk. It builds every Vulkan structure on its own stack or heap,
// so that nothing Vulkan reads belongs to Go; arrays that Go passes are read during the
// call only and hold no pointers.
//
// Functions that can fail return a VkResult. What they created before failing is gone
// again. Nothing here locks: package vk says who may call what when.
#ifndef CLEARANCE_VKC_H
#define CLEARANCE_VKC_H

#include "abi.h"

// ---- Live objects, for tests of leaks.

enum {
    VKC_LIVE_INSTANCE,
    VKC_LIVE_MESSENGER,
    VKC_LIVE_DEVICE,
    VKC_LIVE_MEMORY,
    VKC_LIVE_BUFFER,
    VKC_LIVE_PIPELINE_CACHE,
    VKC_LIVE_SHADER_MODULE,
    VKC_LIVE_SET_LAYOUT,
    VKC_LIVE_PIPELINE_LAYOUT,
    VKC_LIVE_PIPELINE,
    VKC_LIVE_COMMAND_POOL,
    VKC_LIVE_DESCRIPTOR_POOL,
    VKC_LIVE_QUERY_POOL,
    VKC_LIVE_SEMAPHORE,
    VKC_LIVE_FENCE,
    VKC_LIVE_STRUCT,
    VKC_LIVE_COUNT
};

void vkc_live_add(int kind, int n);
int64_t vkc_live(int kind);
const char *vkc_live_name(int kind);

// vkc_new is calloc with a live count; vkc_free undoes it.
void *vkc_new(size_t size);
void vkc_free(void *p);

// ---- Faults, injected by tests. While none is armed a point costs one relaxed load.

enum {
    VKC_AT_DLOPEN,
    VKC_AT_CREATE_INSTANCE,
    VKC_AT_ENUMERATE_PHYSICAL_DEVICES,
    VKC_AT_CREATE_DEVICE,
    VKC_AT_ALLOCATE_MEMORY,
    VKC_AT_CREATE_BUFFER,
    VKC_AT_MAP_MEMORY,
    VKC_AT_CREATE_COMPUTE_PIPELINES,
    VKC_AT_CREATE_COMMAND_POOL,
    VKC_AT_ALLOCATE_DESCRIPTOR_SETS,
    VKC_AT_BEGIN_COMMAND_BUFFER,
    VKC_AT_END_COMMAND_BUFFER,
    VKC_AT_QUEUE_SUBMIT,
    VKC_AT_WAIT,
    VKC_AT_GET_QUERY_POOL_RESULTS,
    VKC_AT_READBACK,
    VKC_AT_COUNT
};

// vkc_fault_set arms a fault: calls number skip+1 to skip+times at the point fail with
// result (times < 0: all of them). At VKC_AT_READBACK the call succeeds, and the byte at
// offset of what it read is XORed with mask. times 0 disarms.
void vkc_fault_set(int point, int64_t skip, int64_t times, VkResult result, uint64_t offset, uint8_t mask);
const char *vkc_fault_name(int point);
int vkc_fault_armed(void);
int vkc_fault(int point, VkResult *result);

#define VKC_FAULT(point)                                                         \
    do {                                                                         \
        VkResult injected_;                                                      \
        if (vkc_fault_armed() && vkc_fault(point, &injected_)) return injected_; \
    } while (0)

// ---- Messages of the validation layer.

typedef struct vkc_log vkc_log;

vkc_log *vkc_log_new(void);
void vkc_log_free(vkc_log *log);
int vkc_log_count(vkc_log *log);               // messages kept
int vkc_log_dropped(vkc_log *log);             // messages for which there was no room
const char *vkc_log_text(vkc_log *log, int i); // valid until vkc_log_free
VkBool32 VKAPI_PTR vkc_log_callback(int32_t severity, uint32_t types, const VkDebugUtilsMessengerCallbackDataEXT *data,
                                    void *log);

// ---- Instances.

enum { VKC_MAX_GPUS = 64 };

#define VKC_INSTANCE_FUNCTIONS(X)               \
    X(vkDestroyInstance)                        \
    X(vkEnumeratePhysicalDevices)               \
    X(vkGetPhysicalDeviceProperties)            \
    X(vkGetPhysicalDeviceProperties2)           \
    X(vkGetPhysicalDeviceFeatures2)             \
    X(vkGetPhysicalDeviceQueueFamilyProperties) \
    X(vkGetPhysicalDeviceMemoryProperties)      \
    X(vkEnumerateDeviceExtensionProperties)     \
    X(vkCreateDevice)                           \
    X(vkGetDeviceProcAddr)

typedef struct vkc_instance {
    VkInstance handle;
    VkDebugUtilsMessengerEXT messenger;
    PFN_vkDestroyDebugUtilsMessengerEXT vkDestroyDebugUtilsMessengerEXT;
    uint32_t max_version; // devices are treated as of this version at most
    uint32_t gpu_count;
    VkPhysicalDevice gpus[VKC_MAX_GPUS];
#define VKC_FIELD(name) PFN_##name name;
    VKC_INSTANCE_FUNCTIONS(VKC_FIELD)
} vkc_instance;

// vkc_loader opens the Vulkan loader once for the life of the process. It returns 0 and
// writes what failed to why (at most n bytes) if there is none.
int vkc_loader(char *why, size_t n);
PFN_vkVoidFunction vkc_loader_proc(VkInstance instance, const char *name);

// VKC_NEWEST is the newest version whose structures abi.h declares.
#define VKC_VERSION(major, minor) (((uint32_t)(major) << 22) | ((uint32_t)(minor) << 12))
#define VKC_NEWEST VKC_VERSION(1, 3)

// vkc_instance_create makes an instance that uses no version above max_version; log is
// NULL without validation. It returns VK_ERROR_LAYER_NOT_PRESENT without the validation
// layer, VK_ERROR_FEATURE_NOT_PRESENT with a loader of Vulkan 1.0.
VkResult vkc_instance_create(const char *app, uint32_t max_version, vkc_log *log, vkc_instance **out);
VkResult vkc_instance_enumerate(vkc_instance *in);
void vkc_instance_destroy(vkc_instance *in);

// ---- What a physical device can do.

enum {
    VKC_F_FLOAT64 = 1 << 0,
    VKC_F_INT64 = 1 << 1,
    VKC_F_INT16 = 1 << 2,
    VKC_F_INT8 = 1 << 3,
    VKC_F_FLOAT16 = 1 << 4,
    VKC_F_STORAGE16 = 1 << 5,
    VKC_F_STORAGE8 = 1 << 6,
    VKC_F_SCALAR_LAYOUT = 1 << 7,
    VKC_F_TIMELINE = 1 << 8,
    VKC_F_DEVICE_ADDRESS = 1 << 9,
    VKC_F_INT64_ATOMICS = 1 << 10,
    VKC_F_MEMORY_MODEL = 1 << 11,
    VKC_F_SUBGROUP_SIZE = 1 << 12,
    VKC_F_FULL_SUBGROUPS = 1 << 13,
    VKC_F_HOST_IMPORT = 1 << 14,
    VKC_F_ROBUST_ACCESS = 1 << 15,
    VKC_F_STATISTICS = 1 << 16
};

enum { // bits of float_controls
    VKC_C_RTE32 = 1 << 0,
    VKC_C_RTE64 = 1 << 1,
    VKC_C_DENORM_PRESERVE32 = 1 << 2,
    VKC_C_DENORM_PRESERVE64 = 1 << 3,
    VKC_C_DENORM_FLUSH32 = 1 << 4,
    VKC_C_SIGNED_ZERO_INF_NAN32 = 1 << 5,
    VKC_C_SIGNED_ZERO_INF_NAN64 = 1 << 6
};

typedef struct vkc_info {
    char name[256], driver_name[256], driver_info[256];
    uint32_t api_version, driver_version, vendor_id, device_id;
    int32_t type;
    uint8_t device_uuid[16], cache_uuid[16];
    uint32_t features, float_controls;
    int32_t compute_family, transfer_family; // -1: none
    uint32_t timestamp_bits;
    int32_t portability_subset;
    VkPhysicalDeviceLimits limits;
    uint64_t max_allocation, max_buffer, host_import_alignment;
    uint32_t subgroup_size, subgroup_operations, subgroup_stages, min_subgroup, max_subgroup;
    VkPhysicalDeviceMemoryProperties memory;
} vkc_info;

void vkc_info_get(vkc_instance *in, uint32_t gpu, vkc_info *out);

// ---- Devices.

#define VKC_DEVICE_FUNCTIONS(X)       \
    X(vkDestroyDevice)                \
    X(vkGetDeviceQueue)               \
    X(vkDeviceWaitIdle)               \
    X(vkQueueSubmit)                  \
    X(vkAllocateMemory)               \
    X(vkFreeMemory)                   \
    X(vkMapMemory)                    \
    X(vkFlushMappedMemoryRanges)      \
    X(vkInvalidateMappedMemoryRanges) \
    X(vkBindBufferMemory)             \
    X(vkGetBufferMemoryRequirements)  \
    X(vkCreateBuffer)                 \
    X(vkDestroyBuffer)                \
    X(vkCreateShaderModule)           \
    X(vkDestroyShaderModule)          \
    X(vkCreateDescriptorSetLayout)    \
    X(vkDestroyDescriptorSetLayout)   \
    X(vkCreatePipelineLayout)         \
    X(vkDestroyPipelineLayout)        \
    X(vkCreatePipelineCache)          \
    X(vkDestroyPipelineCache)         \
    X(vkGetPipelineCacheData)         \
    X(vkCreateComputePipelines)       \
    X(vkDestroyPipeline)              \
    X(vkCreateDescriptorPool)         \
    X(vkDestroyDescriptorPool)        \
    X(vkResetDescriptorPool)          \
    X(vkAllocateDescriptorSets)       \
    X(vkUpdateDescriptorSets)         \
    X(vkCreateCommandPool)            \
    X(vkDestroyCommandPool)           \
    X(vkResetCommandPool)             \
    X(vkAllocateCommandBuffers)       \
    X(vkBeginCommandBuffer)           \
    X(vkEndCommandBuffer)             \
    X(vkCmdBindPipeline)              \
    X(vkCmdBindDescriptorSets)        \
    X(vkCmdPushConstants)             \
    X(vkCmdDispatch)                  \
    X(vkCmdDispatchIndirect)          \
    X(vkCmdCopyBuffer)                \
    X(vkCmdFillBuffer)                \
    X(vkCmdPipelineBarrier)           \
    X(vkCreateQueryPool)              \
    X(vkDestroyQueryPool)             \
    X(vkCmdResetQueryPool)            \
    X(vkCmdWriteTimestamp)            \
    X(vkGetQueryPoolResults)          \
    X(vkCreateSemaphore)              \
    X(vkDestroySemaphore)             \
    X(vkCreateFence)                  \
    X(vkDestroyFence)                 \
    X(vkResetFences)                  \
    X(vkWaitForFences)

#define VKC_DEVICE_OPTIONAL(X)             \
    X(vkWaitSemaphores)                    \
    X(vkGetBufferDeviceAddress)            \
    X(vkGetMemoryHostPointerPropertiesEXT) \
    X(vkGetPipelineExecutableStatisticsKHR)

enum { VKC_QUEUE_COMPUTE, VKC_QUEUE_TRANSFER, VKC_QUEUE_COUNT };

typedef struct vkc_device {
    VkDevice handle;
    VkPipelineCache cache;
    uint32_t features;               // enabled ones
    VkQueue queues[VKC_QUEUE_COUNT]; // the same one twice without a transfer family
    uint32_t families[VKC_QUEUE_COUNT];
    VKC_DEVICE_FUNCTIONS(VKC_FIELD)
    VKC_DEVICE_OPTIONAL(VKC_FIELD)
} vkc_device;

// vkc_device_create opens a device with the features given and a pipeline cache that
// starts from the bytes given.
VkResult vkc_device_create(vkc_instance *in, uint32_t gpu, const vkc_info *info, uint32_t features, const void *cache,
                           size_t cache_size, vkc_device **out);
VkResult vkc_device_wait_idle(vkc_device *d);
void vkc_device_destroy(vkc_device *d);

// vkc_cache_data works as vkGetPipelineCacheData does.
VkResult vkc_cache_data(vkc_device *d, size_t *size, void *data);

// ---- Memory: an allocation with one buffer over all of it.

typedef struct vkc_block {
    VkDeviceMemory memory;
    VkBuffer buffer;
    void *map;        // NULL unless host visible
    uint64_t address; // 0 without VKC_F_DEVICE_ADDRESS
} vkc_block;

// vkc_block_create tries the memory types in the order given and returns the index into
// types of the one used. host, if not NULL, is memory of the process to import.
VkResult vkc_block_create(vkc_device *d, uint64_t size, const uint32_t *types, uint32_t type_count,
                          const uint8_t *mappable, void *host, vkc_block **out, uint32_t *used);
void vkc_block_destroy(vkc_device *d, vkc_block *b);
VkResult vkc_block_flush(vkc_device *d, vkc_block *b, uint64_t offset, uint64_t size);
// vkc_block_invalidate is also the point where a test corrupts what is read back: a byte
// at data[0..data_size).
VkResult vkc_block_invalidate(vkc_device *d, vkc_block *b, uint64_t offset, uint64_t size, int coherent, uint64_t data,
                              uint64_t data_size);

// ---- Pipelines.

typedef struct vkc_pipeline {
    VkDescriptorSetLayout set;
    VkPipelineLayout layout;
    VkPipeline handle;
} vkc_pipeline;

// vkc_pipeline_create compiles a compute shader whose storage buffers are bindings 0 to
// bindings-1 of set 0. spec holds spec_count ids, then as many values. subgroup 0 leaves
// the size to the driver. With VKC_F_STATISTICS the driver keeps statistics of the compiled code.
VkResult vkc_pipeline_create(vkc_device *d, const uint32_t *code, size_t code_size, const char *entry,
                             uint32_t bindings, uint32_t push_size, const uint32_t *spec, uint32_t spec_count,
                             uint32_t subgroup, int full_subgroups, vkc_pipeline **out);
void vkc_pipeline_destroy(vkc_device *d, vkc_pipeline *p);

// vkc_pipeline_statistics works as vkGetPipelineExecutableStatisticsKHR does, for the only executable of a
// compute pipeline.
VkResult vkc_pipeline_statistics(vkc_device *d, vkc_pipeline *p, uint32_t *count,
                                 VkPipelineExecutableStatisticKHR *out);

// ---- Streams: a command buffer and what it needs to be submitted and waited for.

enum { VKC_STAGE_TRANSFER = 1, VKC_STAGE_COMPUTE = 2, VKC_STAGE_INDIRECT = 4, VKC_STAGE_HOST = 8 };

typedef struct vkc_stream {
    uint32_t queue; // VKC_QUEUE_*
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkDescriptorPool *set_pools; // grows; each serves VKC_SETS_PER_POOL sets
    uint32_t set_pool_count, set_pool_current;
    VkQueryPool queries;
    uint32_t query_count;
    VkSemaphore timeline; // or
    VkFence fence;
    uint64_t value; // the timeline's value once the latest submission is done
} vkc_stream;

VkResult vkc_stream_create(vkc_device *d, uint32_t queue, uint32_t query_count, vkc_stream **out);
void vkc_stream_destroy(vkc_device *d, vkc_stream *s);
VkResult vkc_stream_begin(vkc_device *d, vkc_stream *s);
VkResult vkc_stream_end(vkc_device *d, vkc_stream *s);
// vkc_stream_submit submits the recorded commands after the latest submissions of others.
VkResult vkc_stream_submit(vkc_device *d, vkc_stream *s, const uint64_t *semaphores, const uint64_t *values,
                           uint32_t count);
VkResult vkc_stream_wait(vkc_device *d, vkc_stream *s, uint64_t timeout_ns);
VkResult vkc_stream_timestamps(vkc_device *d, vkc_stream *s, uint64_t *out);

// ranges holds (buffer, offset, size) triples.
VkResult vkc_cmd_bind(vkc_device *d, vkc_stream *s, vkc_pipeline *p, const uint64_t *ranges, uint32_t count);
void vkc_cmd_push(vkc_device *d, vkc_stream *s, vkc_pipeline *p, const void *data, uint32_t size);
void vkc_cmd_dispatch(vkc_device *d, vkc_stream *s, uint32_t x, uint32_t y, uint32_t z);
void vkc_cmd_dispatch_indirect(vkc_device *d, vkc_stream *s, vkc_block *b, uint64_t offset);
void vkc_cmd_copy(vkc_device *d, vkc_stream *s, vkc_block *dst, uint64_t dst_offset, vkc_block *src,
                  uint64_t src_offset, uint64_t size);
void vkc_cmd_fill(vkc_device *d, vkc_stream *s, vkc_block *dst, uint64_t offset, uint64_t size, uint32_t word);
void vkc_cmd_barrier(vkc_device *d, vkc_stream *s, uint32_t from, uint32_t to);
void vkc_cmd_timestamp(vkc_device *d, vkc_stream *s, uint32_t slot);

#endif
