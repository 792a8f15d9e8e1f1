// The structures of Vulkan that this package uses: to create an instance and to ask what a physical device can do, then
// on an open device. Included by abi.h.
#ifndef CLEARANCE_VK_ABI_STRUCTS_H
#define CLEARANCE_VK_ABI_STRUCTS_H

// Instances.

typedef struct VkExtent3D {
    uint32_t width, height, depth;
} VkExtent3D;
typedef struct VkApplicationInfo {
    VkStructureType sType;
    const void *pNext;
    const char *pApplicationName;
    uint32_t applicationVersion;
    const char *pEngineName;
    uint32_t engineVersion, apiVersion;
} VkApplicationInfo;
typedef struct VkInstanceCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    const VkApplicationInfo *pApplicationInfo;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
} VkInstanceCreateInfo;
typedef struct VkExtensionProperties {
    char extensionName[256];
    uint32_t specVersion;
} VkExtensionProperties;
typedef struct VkLayerProperties {
    char layerName[256];
    uint32_t specVersion, implementationVersion;
    char description[256];
} VkLayerProperties;
typedef struct VkDebugUtilsMessengerCallbackDataEXT {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    const char *pMessageIdName;
    int32_t messageIdNumber;
    const char *pMessage;
    uint32_t queueLabelCount;
    const void *pQueueLabels;
    uint32_t cmdBufLabelCount;
    const void *pCmdBufLabels;
    uint32_t objectCount;
    const void *pObjects;
} VkDebugUtilsMessengerCallbackDataEXT;
typedef struct VkDebugUtilsMessengerCreateInfoEXT {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, messageSeverity, messageType;
    PFN_vkDebugUtilsMessengerCallbackEXT pfnUserCallback;
    void *pUserData;
} VkDebugUtilsMessengerCreateInfoEXT;
typedef struct VkValidationFeaturesEXT {
    VkStructureType sType;
    const void *pNext;
    uint32_t enabledValidationFeatureCount;
    const int32_t *pEnabledValidationFeatures;
    uint32_t disabledValidationFeatureCount;
    const int32_t *pDisabledValidationFeatures;
} VkValidationFeaturesEXT;

// Physical devices.

typedef struct VkPhysicalDeviceLimits {
    uint32_t maxImageDimension1D, maxImageDimension2D, maxImageDimension3D, maxImageDimensionCube;
    uint32_t maxImageArrayLayers, maxTexelBufferElements, maxUniformBufferRange, maxStorageBufferRange;
    uint32_t maxPushConstantsSize, maxMemoryAllocationCount, maxSamplerAllocationCount;
    VkDeviceSize bufferImageGranularity, sparseAddressSpaceSize;
    uint32_t maxBoundDescriptorSets, maxPerStageDescriptorSamplers, maxPerStageDescriptorUniformBuffers;
    uint32_t maxPerStageDescriptorStorageBuffers, maxPerStageDescriptorSampledImages;
    uint32_t maxPerStageDescriptorStorageImages, maxPerStageDescriptorInputAttachments;
    uint32_t maxPerStageResources, maxDescriptorSetSamplers, maxDescriptorSetUniformBuffers;
    uint32_t maxDescriptorSetUniformBuffersDynamic, maxDescriptorSetStorageBuffers;
    uint32_t maxDescriptorSetStorageBuffersDynamic, maxDescriptorSetSampledImages;
    uint32_t maxDescriptorSetStorageImages, maxDescriptorSetInputAttachments, maxVertexInputAttributes;
    uint32_t maxVertexInputBindings, maxVertexInputAttributeOffset, maxVertexInputBindingStride;
    uint32_t maxVertexOutputComponents, maxTessellationGenerationLevel, maxTessellationPatchSize;
    uint32_t maxTessellationControlPerVertexInputComponents;
    uint32_t maxTessellationControlPerVertexOutputComponents;
    uint32_t maxTessellationControlPerPatchOutputComponents, maxTessellationControlTotalOutputComponents;
    uint32_t maxTessellationEvaluationInputComponents, maxTessellationEvaluationOutputComponents;
    uint32_t maxGeometryShaderInvocations, maxGeometryInputComponents, maxGeometryOutputComponents;
    uint32_t maxGeometryOutputVertices, maxGeometryTotalOutputComponents, maxFragmentInputComponents;
    uint32_t maxFragmentOutputAttachments, maxFragmentDualSrcAttachments;
    uint32_t maxFragmentCombinedOutputResources, maxComputeSharedMemorySize, maxComputeWorkGroupCount[3];
    uint32_t maxComputeWorkGroupInvocations, maxComputeWorkGroupSize[3], subPixelPrecisionBits;
    uint32_t subTexelPrecisionBits, mipmapPrecisionBits, maxDrawIndexedIndexValue, maxDrawIndirectCount;
    float maxSamplerLodBias, maxSamplerAnisotropy;
    uint32_t maxViewports, maxViewportDimensions[2];
    float viewportBoundsRange[2];
    uint32_t viewportSubPixelBits;
    size_t minMemoryMapAlignment;
    VkDeviceSize minTexelBufferOffsetAlignment, minUniformBufferOffsetAlignment;
    VkDeviceSize minStorageBufferOffsetAlignment;
    int32_t minTexelOffset;
    uint32_t maxTexelOffset;
    int32_t minTexelGatherOffset;
    uint32_t maxTexelGatherOffset;
    float minInterpolationOffset, maxInterpolationOffset;
    uint32_t subPixelInterpolationOffsetBits, maxFramebufferWidth, maxFramebufferHeight;
    uint32_t maxFramebufferLayers, framebufferColorSampleCounts, framebufferDepthSampleCounts;
    uint32_t framebufferStencilSampleCounts, framebufferNoAttachmentsSampleCounts, maxColorAttachments;
    uint32_t sampledImageColorSampleCounts, sampledImageIntegerSampleCounts, sampledImageDepthSampleCounts;
    uint32_t sampledImageStencilSampleCounts, storageImageSampleCounts, maxSampleMaskWords;
    VkBool32 timestampComputeAndGraphics;
    float timestampPeriod;
    uint32_t maxClipDistances, maxCullDistances, maxCombinedClipAndCullDistances, discreteQueuePriorities;
    float pointSizeRange[2], lineWidthRange[2], pointSizeGranularity, lineWidthGranularity;
    VkBool32 strictLines, standardSampleLocations;
    VkDeviceSize optimalBufferCopyOffsetAlignment, optimalBufferCopyRowPitchAlignment, nonCoherentAtomSize;
} VkPhysicalDeviceLimits;
typedef struct VkPhysicalDeviceSparseProperties {
    VkBool32 residencyStandard2DBlockShape, residencyStandard2DMultisampleBlockShape;
    VkBool32 residencyStandard3DBlockShape, residencyAlignedMipSize, residencyNonResidentStrict;
} VkPhysicalDeviceSparseProperties;
typedef struct VkPhysicalDeviceProperties {
    uint32_t apiVersion, driverVersion, vendorID, deviceID;
    int32_t deviceType;
    char deviceName[256];
    uint8_t pipelineCacheUUID[16];
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceSparseProperties sparseProperties;
} VkPhysicalDeviceProperties;
typedef struct VkPhysicalDeviceProperties2 {
    VkStructureType sType;
    void *pNext;
    VkPhysicalDeviceProperties properties;
} VkPhysicalDeviceProperties2;
typedef struct VkPhysicalDeviceSubgroupProperties {
    VkStructureType sType;
    void *pNext;
    uint32_t subgroupSize, supportedStages, supportedOperations;
    VkBool32 quadOperationsInAllStages;
} VkPhysicalDeviceSubgroupProperties;
typedef struct VkPhysicalDeviceIDProperties {
    VkStructureType sType;
    void *pNext;
    uint8_t deviceUUID[16], driverUUID[16], deviceLUID[8];
    uint32_t deviceNodeMask;
    VkBool32 deviceLUIDValid;
} VkPhysicalDeviceIDProperties;
typedef struct VkPhysicalDeviceMaintenance3Properties {
    VkStructureType sType;
    void *pNext;
    uint32_t maxPerSetDescriptors;
    VkDeviceSize maxMemoryAllocationSize;
} VkPhysicalDeviceMaintenance3Properties;
typedef struct VkConformanceVersion {
    uint8_t major, minor, subminor, patch;
} VkConformanceVersion;
typedef struct VkPhysicalDeviceDriverProperties {
    VkStructureType sType;
    void *pNext;
    int32_t driverID;
    char driverName[256], driverInfo[256];
    VkConformanceVersion conformanceVersion;
} VkPhysicalDeviceDriverProperties;
typedef struct VkPhysicalDeviceFloatControlsProperties {
    VkStructureType sType;
    void *pNext;
    int32_t denormBehaviorIndependence, roundingModeIndependence;
    VkBool32 shaderSignedZeroInfNanPreserveFloat16, shaderSignedZeroInfNanPreserveFloat32;
    VkBool32 shaderSignedZeroInfNanPreserveFloat64, shaderDenormPreserveFloat16;
    VkBool32 shaderDenormPreserveFloat32, shaderDenormPreserveFloat64, shaderDenormFlushToZeroFloat16;
    VkBool32 shaderDenormFlushToZeroFloat32, shaderDenormFlushToZeroFloat64, shaderRoundingModeRTEFloat16;
    VkBool32 shaderRoundingModeRTEFloat32, shaderRoundingModeRTEFloat64, shaderRoundingModeRTZFloat16;
    VkBool32 shaderRoundingModeRTZFloat32, shaderRoundingModeRTZFloat64;
} VkPhysicalDeviceFloatControlsProperties;
typedef struct VkPhysicalDeviceSubgroupSizeControlProperties {
    VkStructureType sType;
    void *pNext;
    uint32_t minSubgroupSize, maxSubgroupSize, maxComputeWorkgroupSubgroups, requiredSubgroupSizeStages;
} VkPhysicalDeviceSubgroupSizeControlProperties;
typedef struct VkPhysicalDeviceMaintenance4Properties {
    VkStructureType sType;
    void *pNext;
    VkDeviceSize maxBufferSize;
} VkPhysicalDeviceMaintenance4Properties;
typedef struct VkPhysicalDeviceExternalMemoryHostPropertiesEXT {
    VkStructureType sType;
    void *pNext;
    VkDeviceSize minImportedHostPointerAlignment;
} VkPhysicalDeviceExternalMemoryHostPropertiesEXT;
typedef struct VkPhysicalDeviceFeatures {
    VkBool32 robustBufferAccess, fullDrawIndexUint32, imageCubeArray, independentBlend, geometryShader;
    VkBool32 tessellationShader, sampleRateShading, dualSrcBlend, logicOp, multiDrawIndirect;
    VkBool32 drawIndirectFirstInstance, depthClamp, depthBiasClamp, fillModeNonSolid, depthBounds;
    VkBool32 wideLines, largePoints, alphaToOne, multiViewport, samplerAnisotropy, textureCompressionETC2;
    VkBool32 textureCompressionASTC_LDR, textureCompressionBC, occlusionQueryPrecise;
    VkBool32 pipelineStatisticsQuery, vertexPipelineStoresAndAtomics, fragmentStoresAndAtomics;
    VkBool32 shaderTessellationAndGeometryPointSize, shaderImageGatherExtended;
    VkBool32 shaderStorageImageExtendedFormats, shaderStorageImageMultisample;
    VkBool32 shaderStorageImageReadWithoutFormat, shaderStorageImageWriteWithoutFormat;
    VkBool32 shaderUniformBufferArrayDynamicIndexing, shaderSampledImageArrayDynamicIndexing;
    VkBool32 shaderStorageBufferArrayDynamicIndexing, shaderStorageImageArrayDynamicIndexing;
    VkBool32 shaderClipDistance, shaderCullDistance, shaderFloat64, shaderInt64, shaderInt16;
    VkBool32 shaderResourceResidency, shaderResourceMinLod, sparseBinding, sparseResidencyBuffer;
    VkBool32 sparseResidencyImage2D, sparseResidencyImage3D, sparseResidency2Samples;
    VkBool32 sparseResidency4Samples, sparseResidency8Samples, sparseResidency16Samples;
    VkBool32 sparseResidencyAliased, variableMultisampleRate, inheritedQueries;
} VkPhysicalDeviceFeatures;
typedef struct VkPhysicalDeviceFeatures2 {
    VkStructureType sType;
    void *pNext;
    VkPhysicalDeviceFeatures features;
} VkPhysicalDeviceFeatures2;
typedef struct VkPhysicalDevice16BitStorageFeatures {
    VkStructureType sType;
    void *pNext;
    VkBool32 storageBuffer16BitAccess, uniformAndStorageBuffer16BitAccess, storagePushConstant16;
    VkBool32 storageInputOutput16;
} VkPhysicalDevice16BitStorageFeatures;
typedef struct VkPhysicalDeviceVulkan12Features {
    VkStructureType sType;
    void *pNext;
    VkBool32 samplerMirrorClampToEdge, drawIndirectCount, storageBuffer8BitAccess;
    VkBool32 uniformAndStorageBuffer8BitAccess, storagePushConstant8, shaderBufferInt64Atomics;
    VkBool32 shaderSharedInt64Atomics, shaderFloat16, shaderInt8, descriptorIndexing;
    VkBool32 shaderInputAttachmentArrayDynamicIndexing, shaderUniformTexelBufferArrayDynamicIndexing;
    VkBool32 shaderStorageTexelBufferArrayDynamicIndexing, shaderUniformBufferArrayNonUniformIndexing;
    VkBool32 shaderSampledImageArrayNonUniformIndexing, shaderStorageBufferArrayNonUniformIndexing;
    VkBool32 shaderStorageImageArrayNonUniformIndexing, shaderInputAttachmentArrayNonUniformIndexing;
    VkBool32 shaderUniformTexelBufferArrayNonUniformIndexing;
    VkBool32 shaderStorageTexelBufferArrayNonUniformIndexing;
    VkBool32 descriptorBindingUniformBufferUpdateAfterBind, descriptorBindingSampledImageUpdateAfterBind;
    VkBool32 descriptorBindingStorageImageUpdateAfterBind, descriptorBindingStorageBufferUpdateAfterBind;
    VkBool32 descriptorBindingUniformTexelBufferUpdateAfterBind;
    VkBool32 descriptorBindingStorageTexelBufferUpdateAfterBind, descriptorBindingUpdateUnusedWhilePending;
    VkBool32 descriptorBindingPartiallyBound, descriptorBindingVariableDescriptorCount;
    VkBool32 runtimeDescriptorArray, samplerFilterMinmax, scalarBlockLayout, imagelessFramebuffer;
    VkBool32 uniformBufferStandardLayout, shaderSubgroupExtendedTypes, separateDepthStencilLayouts;
    VkBool32 hostQueryReset, timelineSemaphore, bufferDeviceAddress, bufferDeviceAddressCaptureReplay;
    VkBool32 bufferDeviceAddressMultiDevice, vulkanMemoryModel, vulkanMemoryModelDeviceScope;
    VkBool32 vulkanMemoryModelAvailabilityVisibilityChains, shaderOutputViewportIndex, shaderOutputLayer;
    VkBool32 subgroupBroadcastDynamicId;
} VkPhysicalDeviceVulkan12Features;
typedef struct VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR {
    VkStructureType sType;
    void *pNext;
    VkBool32 pipelineExecutableInfo;
} VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR;
typedef struct VkPhysicalDeviceVulkan13Features {
    VkStructureType sType;
    void *pNext;
    VkBool32 robustImageAccess, inlineUniformBlock, descriptorBindingInlineUniformBlockUpdateAfterBind;
    VkBool32 pipelineCreationCacheControl, privateData, shaderDemoteToHelperInvocation;
    VkBool32 shaderTerminateInvocation, subgroupSizeControl, computeFullSubgroups, synchronization2;
    VkBool32 textureCompressionASTC_HDR, shaderZeroInitializeWorkgroupMemory, dynamicRendering;
    VkBool32 shaderIntegerDotProduct, maintenance4;
} VkPhysicalDeviceVulkan13Features;
typedef struct VkQueueFamilyProperties {
    uint32_t queueFlags, queueCount, timestampValidBits;
    VkExtent3D minImageTransferGranularity;
} VkQueueFamilyProperties;
typedef struct VkMemoryType {
    uint32_t propertyFlags, heapIndex;
} VkMemoryType;
typedef struct VkMemoryHeap {
    VkDeviceSize size;
    uint32_t flags;
} VkMemoryHeap;
typedef struct VkPhysicalDeviceMemoryProperties {
    uint32_t memoryTypeCount;
    VkMemoryType memoryTypes[32];
    uint32_t memoryHeapCount;
    VkMemoryHeap memoryHeaps[16];
} VkPhysicalDeviceMemoryProperties;

// Devices.

typedef struct VkDeviceQueueCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, queueFamilyIndex, queueCount;
    const float *pQueuePriorities;
} VkDeviceQueueCreateInfo;
typedef struct VkDeviceCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, queueCreateInfoCount;
    const VkDeviceQueueCreateInfo *pQueueCreateInfos;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
    const VkPhysicalDeviceFeatures *pEnabledFeatures;
} VkDeviceCreateInfo;

// Memory.

typedef struct VkBufferCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    VkDeviceSize size;
    uint32_t usage;
    int32_t sharingMode;
    uint32_t queueFamilyIndexCount;
    const uint32_t *pQueueFamilyIndices;
} VkBufferCreateInfo;
typedef struct VkExternalMemoryBufferCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t handleTypes;
} VkExternalMemoryBufferCreateInfo;
typedef struct VkMemoryRequirements {
    VkDeviceSize size, alignment;
    uint32_t memoryTypeBits;
} VkMemoryRequirements;
typedef struct VkMemoryAllocateInfo {
    VkStructureType sType;
    const void *pNext;
    VkDeviceSize allocationSize;
    uint32_t memoryTypeIndex;
} VkMemoryAllocateInfo;
typedef struct VkMemoryAllocateFlagsInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, deviceMask;
} VkMemoryAllocateFlagsInfo;
typedef struct VkImportMemoryHostPointerInfoEXT {
    VkStructureType sType;
    const void *pNext;
    int32_t handleType;
    void *pHostPointer;
} VkImportMemoryHostPointerInfoEXT;
typedef struct VkMemoryHostPointerPropertiesEXT {
    VkStructureType sType;
    void *pNext;
    uint32_t memoryTypeBits;
} VkMemoryHostPointerPropertiesEXT;
typedef struct VkMappedMemoryRange {
    VkStructureType sType;
    const void *pNext;
    VkDeviceMemory memory;
    VkDeviceSize offset, size;
} VkMappedMemoryRange;
typedef struct VkBufferDeviceAddressInfo {
    VkStructureType sType;
    const void *pNext;
    VkBuffer buffer;
} VkBufferDeviceAddressInfo;

// Pipelines.

typedef struct VkShaderModuleCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    size_t codeSize;
    const uint32_t *pCode;
} VkShaderModuleCreateInfo;
typedef struct VkDescriptorSetLayoutBinding {
    uint32_t binding;
    int32_t descriptorType;
    uint32_t descriptorCount, stageFlags;
    const VkSampler *pImmutableSamplers;
} VkDescriptorSetLayoutBinding;
typedef struct VkDescriptorSetLayoutCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, bindingCount;
    const VkDescriptorSetLayoutBinding *pBindings;
} VkDescriptorSetLayoutCreateInfo;
typedef struct VkPushConstantRange {
    uint32_t stageFlags, offset, size;
} VkPushConstantRange;
typedef struct VkPipelineLayoutCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, setLayoutCount;
    const VkDescriptorSetLayout *pSetLayouts;
    uint32_t pushConstantRangeCount;
    const VkPushConstantRange *pPushConstantRanges;
} VkPipelineLayoutCreateInfo;
typedef struct VkSpecializationMapEntry {
    uint32_t constantID, offset;
    size_t size;
} VkSpecializationMapEntry;
typedef struct VkSpecializationInfo {
    uint32_t mapEntryCount;
    const VkSpecializationMapEntry *pMapEntries;
    size_t dataSize;
    const void *pData;
} VkSpecializationInfo;
typedef struct VkPipelineShaderStageCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    int32_t stage;
    VkShaderModule module;
    const char *pName;
    const VkSpecializationInfo *pSpecializationInfo;
} VkPipelineShaderStageCreateInfo;
typedef struct VkPipelineShaderStageRequiredSubgroupSizeCreateInfo {
    VkStructureType sType;
    void *pNext;
    uint32_t requiredSubgroupSize;
} VkPipelineShaderStageRequiredSubgroupSizeCreateInfo;
typedef struct VkComputePipelineCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    VkPipelineShaderStageCreateInfo stage;
    VkPipelineLayout layout;
    VkPipeline basePipelineHandle;
    int32_t basePipelineIndex;
} VkComputePipelineCreateInfo;
typedef struct VkPipelineExecutableInfoKHR {
    VkStructureType sType;
    const void *pNext;
    VkPipeline pipeline;
    uint32_t executableIndex;
} VkPipelineExecutableInfoKHR;
typedef union VkPipelineExecutableStatisticValueKHR {
    VkBool32 b32;
    int64_t i64;
    uint64_t u64;
    double f64;
} VkPipelineExecutableStatisticValueKHR;
typedef struct VkPipelineExecutableStatisticKHR {
    VkStructureType sType;
    void *pNext;
    char name[256], description[256];
    int32_t format;
    VkPipelineExecutableStatisticValueKHR value;
} VkPipelineExecutableStatisticKHR;
typedef struct VkPipelineCacheCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    size_t initialDataSize;
    const void *pInitialData;
} VkPipelineCacheCreateInfo;

// Descriptors.

typedef struct VkDescriptorPoolSize {
    int32_t type;
    uint32_t descriptorCount;
} VkDescriptorPoolSize;
typedef struct VkDescriptorPoolCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, maxSets, poolSizeCount;
    const VkDescriptorPoolSize *pPoolSizes;
} VkDescriptorPoolCreateInfo;
typedef struct VkDescriptorSetAllocateInfo {
    VkStructureType sType;
    const void *pNext;
    VkDescriptorPool descriptorPool;
    uint32_t descriptorSetCount;
    const VkDescriptorSetLayout *pSetLayouts;
} VkDescriptorSetAllocateInfo;
typedef struct VkDescriptorBufferInfo {
    VkBuffer buffer;
    VkDeviceSize offset, range;
} VkDescriptorBufferInfo;
typedef struct VkWriteDescriptorSet {
    VkStructureType sType;
    const void *pNext;
    VkDescriptorSet dstSet;
    uint32_t dstBinding, dstArrayElement, descriptorCount;
    int32_t descriptorType;
    const void *pImageInfo;
    const VkDescriptorBufferInfo *pBufferInfo;
    const VkBufferView *pTexelBufferView;
} VkWriteDescriptorSet;

// Commands.

typedef struct VkCommandPoolCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, queueFamilyIndex;
} VkCommandPoolCreateInfo;
typedef struct VkCommandBufferAllocateInfo {
    VkStructureType sType;
    const void *pNext;
    VkCommandPool commandPool;
    int32_t level;
    uint32_t commandBufferCount;
} VkCommandBufferAllocateInfo;
typedef struct VkCommandBufferBeginInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    const void *pInheritanceInfo;
} VkCommandBufferBeginInfo;
typedef struct VkBufferCopy {
    VkDeviceSize srcOffset, dstOffset, size;
} VkBufferCopy;
typedef struct VkMemoryBarrier {
    VkStructureType sType;
    const void *pNext;
    uint32_t srcAccessMask, dstAccessMask;
} VkMemoryBarrier;
typedef struct VkQueryPoolCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
    int32_t queryType;
    uint32_t queryCount, pipelineStatistics;
} VkQueryPoolCreateInfo;

// Submission.

typedef struct VkSemaphoreTypeCreateInfo {
    VkStructureType sType;
    const void *pNext;
    int32_t semaphoreType;
    uint64_t initialValue;
} VkSemaphoreTypeCreateInfo;
typedef struct VkSemaphoreCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
} VkSemaphoreCreateInfo;
typedef struct VkTimelineSemaphoreSubmitInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t waitSemaphoreValueCount;
    const uint64_t *pWaitSemaphoreValues;
    uint32_t signalSemaphoreValueCount;
    const uint64_t *pSignalSemaphoreValues;
} VkTimelineSemaphoreSubmitInfo;
typedef struct VkSubmitInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t waitSemaphoreCount;
    const VkSemaphore *pWaitSemaphores;
    const uint32_t *pWaitDstStageMask;
    uint32_t commandBufferCount;
    const VkCommandBuffer *pCommandBuffers;
    uint32_t signalSemaphoreCount;
    const VkSemaphore *pSignalSemaphores;
} VkSubmitInfo;
typedef struct VkSemaphoreWaitInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags, semaphoreCount;
    const VkSemaphore *pSemaphores;
    const uint64_t *pValues;
} VkSemaphoreWaitInfo;
typedef struct VkFenceCreateInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t flags;
} VkFenceCreateInfo;

#endif
