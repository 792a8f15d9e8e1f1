//go:build cgo && !(386 || arm || mips || mipsle)

// Compute pipelines.

#include "vkc.h"

#include <stdlib.h>

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
