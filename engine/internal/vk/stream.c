//go:build cgo && !(386 || arm || mips || mipsle)

// Streams: recording, submission, waiting.

#include "vkc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SETS_PER_POOL = 32, DESCRIPTORS_PER_POOL = 512, MAX_WAITS = 16 };

VkResult vkc_stream_create(vkc_device *d, uint32_t queue, uint32_t query_count, vkc_stream **out) {
    *out = NULL;
    VKC_FAULT(VKC_AT_CREATE_COMMAND_POOL);
    vkc_stream *s = vkc_new(sizeof *s);
    if (!s) return VK_ERROR_OUT_OF_HOST_MEMORY;
    s->queue = queue;
    s->query_count = query_count;
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = d->families[queue],
    };
    VkResult r = d->vkCreateCommandPool(d->handle, &pool, NULL, &s->pool);
    if (r != VK_SUCCESS) goto fail;
    vkc_live_add(VKC_LIVE_COMMAND_POOL, 1);
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    r = d->vkAllocateCommandBuffers(d->handle, &commands, &s->commands);
    if (r != VK_SUCCESS) goto fail;
    if (query_count > 0) {
        VkQueryPoolCreateInfo queries = {
            .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
            .queryType = VK_QUERY_TYPE_TIMESTAMP,
            .queryCount = query_count,
        };
        r = d->vkCreateQueryPool(d->handle, &queries, NULL, &s->queries);
        if (r != VK_SUCCESS) goto fail;
        vkc_live_add(VKC_LIVE_QUERY_POOL, 1);
    }
    if (d->features & VKC_F_TIMELINE) {
        VkSemaphoreTypeCreateInfo type = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
        };
        VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
        r = d->vkCreateSemaphore(d->handle, &semaphore, NULL, &s->timeline);
        if (r != VK_SUCCESS) goto fail;
        vkc_live_add(VKC_LIVE_SEMAPHORE, 1);
    } else {
        VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        r = d->vkCreateFence(d->handle, &fence, NULL, &s->fence);
        if (r != VK_SUCCESS) goto fail;
        vkc_live_add(VKC_LIVE_FENCE, 1);
    }
    *out = s;
    return VK_SUCCESS;
fail:
    vkc_stream_destroy(d, s);
    return r;
}

void vkc_stream_destroy(vkc_device *d, vkc_stream *s) {
    if (!s) return;
    if (s->fence) {
        d->vkDestroyFence(d->handle, s->fence, NULL);
        vkc_live_add(VKC_LIVE_FENCE, -1);
    }
    if (s->timeline) {
        d->vkDestroySemaphore(d->handle, s->timeline, NULL);
        vkc_live_add(VKC_LIVE_SEMAPHORE, -1);
    }
    if (s->queries) {
        d->vkDestroyQueryPool(d->handle, s->queries, NULL);
        vkc_live_add(VKC_LIVE_QUERY_POOL, -1);
    }
    if (s->pool) { // takes its command buffer with it
        d->vkDestroyCommandPool(d->handle, s->pool, NULL);
        vkc_live_add(VKC_LIVE_COMMAND_POOL, -1);
    }
    for (uint32_t i = 0; i < s->set_pool_count; i++) {
        d->vkDestroyDescriptorPool(d->handle, s->set_pools[i], NULL);
        vkc_live_add(VKC_LIVE_DESCRIPTOR_POOL, -1);
    }
    free(s->set_pools);
    vkc_free(s);
}

VkResult vkc_stream_begin(vkc_device *d, vkc_stream *s) {
    VKC_FAULT(VKC_AT_BEGIN_COMMAND_BUFFER);
    VkResult r = d->vkResetCommandPool(d->handle, s->pool, 0);
    if (r != VK_SUCCESS) return r;
    for (uint32_t i = 0; i < s->set_pool_count; i++) d->vkResetDescriptorPool(d->handle, s->set_pools[i], 0);
    s->set_pool_current = 0;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    r = d->vkBeginCommandBuffer(s->commands, &info);
    if (r == VK_SUCCESS && s->queries) d->vkCmdResetQueryPool(s->commands, s->queries, 0, s->query_count);
    return r;
}

VkResult vkc_stream_end(vkc_device *d, vkc_stream *s) {
    VKC_FAULT(VKC_AT_END_COMMAND_BUFFER);
    return d->vkEndCommandBuffer(s->commands);
}

VkResult vkc_stream_submit(vkc_device *d, vkc_stream *s, const uint64_t *semaphores, const uint64_t *values,
                           uint32_t count) {
    VKC_FAULT(VKC_AT_QUEUE_SUBMIT);
    if (count > MAX_WAITS) return VK_ERROR_TOO_MANY_OBJECTS;
    VkSemaphore waits[MAX_WAITS];
    VkPipelineStageFlags stages[MAX_WAITS];
    for (uint32_t i = 0; i < count; i++) {
        waits[i] = (VkSemaphore)(uintptr_t)semaphores[i];
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    }
    uint64_t next = s->value + 1;
    VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = count,
        .pWaitSemaphoreValues = values,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &next,
    };
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = s->timeline ? &timeline : NULL,
        .waitSemaphoreCount = count,
        .pWaitSemaphores = waits,
        .pWaitDstStageMask = stages,
        .commandBufferCount = 1,
        .pCommandBuffers = &s->commands,
        .signalSemaphoreCount = s->timeline ? 1 : 0,
        .pSignalSemaphores = &s->timeline,
    };
    VkResult r = VK_SUCCESS;
    if (s->fence) r = d->vkResetFences(d->handle, 1, &s->fence);
    if (r == VK_SUCCESS) r = d->vkQueueSubmit(d->queues[s->queue], 1, &info, s->fence);
    if (r == VK_SUCCESS) s->value = next;
    return r;
}

static void sleep_ns(uint64_t ns) {
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

VkResult vkc_stream_wait(vkc_device *d, vkc_stream *s, uint64_t timeout_ns) {
    VkResult injected;
    if (vkc_fault_armed() && vkc_fault(VKC_AT_WAIT, &injected)) {
        if (injected == VK_TIMEOUT) sleep_ns(timeout_ns); // as a submission that does not end
        return injected;
    }
    if (s->fence) return d->vkWaitForFences(d->handle, 1, &s->fence, 1, timeout_ns);
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &s->timeline,
        .pValues = &s->value,
    };
    return d->vkWaitSemaphores(d->handle, &info, timeout_ns);
}

VkResult vkc_stream_timestamps(vkc_device *d, vkc_stream *s, uint64_t *out) {
    VKC_FAULT(VKC_AT_GET_QUERY_POOL_RESULTS);
    // Availability comes with each value: slots that nobody wrote read as 0, 0.
    memset(out, 0, 16 * (size_t)s->query_count);
    VkResult r = d->vkGetQueryPoolResults(d->handle, s->queries, 0, s->query_count, 16 * (size_t)s->query_count, out,
                                          16, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    return r == VK_NOT_READY ? VK_SUCCESS : r;
}

// ---- Commands.

static VkResult add_set_pool(vkc_device *d, vkc_stream *s) {
    VkDescriptorPool *list = realloc(s->set_pools, (s->set_pool_count + 1) * sizeof *list);
    if (!list) return VK_ERROR_OUT_OF_HOST_MEMORY;
    s->set_pools = list;
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = DESCRIPTORS_PER_POOL};
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = SETS_PER_POOL,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkResult r = d->vkCreateDescriptorPool(d->handle, &info, NULL, &list[s->set_pool_count]);
    if (r != VK_SUCCESS) return r;
    s->set_pool_count++;
    vkc_live_add(VKC_LIVE_DESCRIPTOR_POOL, 1);
    return VK_SUCCESS;
}

static VkResult allocate_set(vkc_device *d, vkc_stream *s, VkDescriptorSetLayout layout, VkDescriptorSet *out) {
    for (int fresh = 0;; s->set_pool_current++) {
        if (s->set_pool_current == s->set_pool_count) {
            if (fresh) return VK_ERROR_OUT_OF_POOL_MEMORY; // one set larger than a whole pool
            VkResult r = add_set_pool(d, s);
            if (r != VK_SUCCESS) return r;
            fresh = 1;
        }
        VkDescriptorSetAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = s->set_pools[s->set_pool_current],
            .descriptorSetCount = 1,
            .pSetLayouts = &layout,
        };
        VkResult r;
        if (!vkc_fault_armed() || !vkc_fault(VKC_AT_ALLOCATE_DESCRIPTOR_SETS, &r))
            r = d->vkAllocateDescriptorSets(d->handle, &info, out);
        if (r != VK_ERROR_OUT_OF_POOL_MEMORY && r != VK_ERROR_FRAGMENTED_POOL) return r;
    }
}

VkResult vkc_cmd_bind(vkc_device *d, vkc_stream *s, vkc_pipeline *p, const uint64_t *ranges, uint32_t count) {
    enum { MAX_BINDINGS = 64 };
    VkDescriptorBufferInfo buffers[MAX_BINDINGS];
    VkWriteDescriptorSet writes[MAX_BINDINGS];
    VkDescriptorSet set;
    if (count > MAX_BINDINGS) return VK_ERROR_TOO_MANY_OBJECTS;
    d->vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->handle);
    if (count == 0) return VK_SUCCESS;
    VkResult r = allocate_set(d, s, p->set, &set);
    if (r != VK_SUCCESS) return r;
    for (uint32_t i = 0; i < count; i++) {
        buffers[i] = (VkDescriptorBufferInfo){
            .buffer = (VkBuffer)(uintptr_t)ranges[3 * i],
            .offset = ranges[3 * i + 1],
            .range = ranges[3 * i + 2],
        };
        writes[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &buffers[i],
        };
    }
    d->vkUpdateDescriptorSets(d->handle, count, writes, 0, NULL);
    d->vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &set, 0, NULL);
    return VK_SUCCESS;
}

void vkc_cmd_push(vkc_device *d, vkc_stream *s, vkc_pipeline *p, const void *data, uint32_t size) {
    d->vkCmdPushConstants(s->commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, size, data);
}

void vkc_cmd_dispatch(vkc_device *d, vkc_stream *s, uint32_t x, uint32_t y, uint32_t z) {
    d->vkCmdDispatch(s->commands, x, y, z);
}

void vkc_cmd_dispatch_indirect(vkc_device *d, vkc_stream *s, vkc_block *b, uint64_t offset) {
    d->vkCmdDispatchIndirect(s->commands, b->buffer, offset);
}

void vkc_cmd_copy(vkc_device *d, vkc_stream *s, vkc_block *dst, uint64_t dst_offset, vkc_block *src,
                  uint64_t src_offset, uint64_t size) {
    VkBufferCopy region = {.srcOffset = src_offset, .dstOffset = dst_offset, .size = size};
    d->vkCmdCopyBuffer(s->commands, src->buffer, dst->buffer, 1, &region);
}

void vkc_cmd_fill(vkc_device *d, vkc_stream *s, vkc_block *dst, uint64_t offset, uint64_t size, uint32_t word) {
    d->vkCmdFillBuffer(s->commands, dst->buffer, offset, size, word);
}

// scope turns stages of package vk into those of Vulkan, with all their reads and writes.
static void scope(uint32_t stages, VkPipelineStageFlags *mask, uint32_t *reads, uint32_t *writes) {
    *mask = *reads = *writes = 0;
    if (stages & VKC_STAGE_TRANSFER) {
        *mask |= VK_PIPELINE_STAGE_TRANSFER_BIT;
        *reads |= VK_ACCESS_TRANSFER_READ_BIT;
        *writes |= VK_ACCESS_TRANSFER_WRITE_BIT;
    }
    if (stages & VKC_STAGE_COMPUTE) {
        *mask |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        *reads |= VK_ACCESS_SHADER_READ_BIT;
        *writes |= VK_ACCESS_SHADER_WRITE_BIT;
    }
    if (stages & VKC_STAGE_INDIRECT) {
        *mask |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
        *reads |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
    }
    if (stages & VKC_STAGE_HOST) {
        *mask |= VK_PIPELINE_STAGE_HOST_BIT;
        *reads |= VK_ACCESS_HOST_READ_BIT;
        *writes |= VK_ACCESS_HOST_WRITE_BIT;
    }
}

void vkc_cmd_barrier(vkc_device *d, vkc_stream *s, uint32_t from, uint32_t to) {
    VkPipelineStageFlags before, after;
    uint32_t read_before, write_before, read_after, write_after;
    if (s->queue == VKC_QUEUE_TRANSFER && d->families[0] != d->families[1]) { // it only copies
        from &= ~(uint32_t)(VKC_STAGE_COMPUTE | VKC_STAGE_INDIRECT);
        to &= ~(uint32_t)(VKC_STAGE_COMPUTE | VKC_STAGE_INDIRECT);
    }
    scope(from, &before, &read_before, &write_before);
    scope(to, &after, &read_after, &write_after);
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = write_before, // reads before need only the order, which the stages give
        .dstAccessMask = read_after | write_after,
    };
    if (!before || !after) return; // nothing of that kind happens on this queue
    d->vkCmdPipelineBarrier(s->commands, before, after, 0, 1, &barrier, 0, NULL, 0, NULL);
}

void vkc_cmd_timestamp(vkc_device *d, vkc_stream *s, uint32_t slot) {
    d->vkCmdWriteTimestamp(s->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, s->queries, slot);
}
