//go:build cgo && !(386 || arm || mips || mipsle)

// Live counts, injected faults, the loader, and the log of validation messages.

#include "vkc.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

// A lock for what is held for a few instructions and hardly ever contended.
typedef struct {
    atomic_flag held;
} spin;
#define SPIN_INIT {ATOMIC_FLAG_INIT}
static void spin_lock(spin *s) {
    while (atomic_flag_test_and_set_explicit(&s->held, memory_order_acquire)) {}
}
static void spin_unlock(spin *s) { atomic_flag_clear_explicit(&s->held, memory_order_release); }

// ---- Live objects.

static atomic_llong live[VKC_LIVE_COUNT];

void vkc_live_add(int kind, int n) { atomic_fetch_add(&live[kind], n); }

int64_t vkc_live(int kind) { return kind >= 0 && kind < VKC_LIVE_COUNT ? atomic_load(&live[kind]) : 0; }

const char *vkc_live_name(int kind) {
    static const char *names[VKC_LIVE_COUNT] = {
        "instance",        "messenger",      "device",        "memory",
        "buffer",          "pipeline cache", "shader module", "descriptor set layout",
        "pipeline layout", "pipeline",       "command pool",  "descriptor pool",
        "query pool",      "semaphore",      "fence",         "C struct",
    };
    return kind >= 0 && kind < VKC_LIVE_COUNT ? names[kind] : NULL;
}

void *vkc_new(size_t size) {
    void *p = calloc(1, size);
    if (p) vkc_live_add(VKC_LIVE_STRUCT, 1);
    return p;
}

void vkc_free(void *p) {
    if (p) vkc_live_add(VKC_LIVE_STRUCT, -1);
    free(p);
}

// ---- Faults.

static atomic_int armed; // number of armed points
static spin fault_lock = SPIN_INIT;
static struct {
    int64_t skip, times;
    VkResult result;
    uint64_t offset;
    uint8_t mask;
} faults[VKC_AT_COUNT];

const char *vkc_fault_name(int point) {
    static const char *names[VKC_AT_COUNT] = {
        "dlopen",
        "vkCreateInstance",
        "vkEnumeratePhysicalDevices",
        "vkCreateDevice",
        "vkAllocateMemory",
        "vkCreateBuffer",
        "vkMapMemory",
        "vkCreateComputePipelines",
        "vkCreateCommandPool",
        "vkAllocateDescriptorSets",
        "vkBeginCommandBuffer",
        "vkEndCommandBuffer",
        "vkQueueSubmit",
        "wait",
        "vkGetQueryPoolResults",
        "readback",
    };
    return point >= 0 && point < VKC_AT_COUNT ? names[point] : NULL;
}

void vkc_fault_set(int point, int64_t skip, int64_t times, VkResult result, uint64_t offset, uint8_t mask) {
    spin_lock(&fault_lock);
    int was = faults[point].times != 0, is = times != 0;
    faults[point].skip = skip;
    faults[point].times = times;
    faults[point].result = result;
    faults[point].offset = offset;
    faults[point].mask = mask;
    atomic_fetch_add(&armed, is - was);
    spin_unlock(&fault_lock);
}

int vkc_fault_armed(void) { return atomic_load_explicit(&armed, memory_order_relaxed) != 0; }

int vkc_fault(int point, VkResult *result) {
    int hit = 0;
    spin_lock(&fault_lock);
    if (faults[point].times != 0) {
        if (faults[point].skip > 0) {
            faults[point].skip--;
        } else {
            hit = 1;
            *result = faults[point].result;
            if (faults[point].times > 0 && --faults[point].times == 0) atomic_fetch_sub(&armed, 1);
        }
    }
    spin_unlock(&fault_lock);
    return hit;
}

// vkc_fault_corrupt changes one byte of data if a readback fault is due.
void vkc_fault_corrupt(uint8_t *data, uint64_t size);
void vkc_fault_corrupt(uint8_t *data, uint64_t size) {
    VkResult ignored;
    spin_lock(&fault_lock);
    uint64_t offset = faults[VKC_AT_READBACK].offset;
    uint8_t mask = faults[VKC_AT_READBACK].mask;
    spin_unlock(&fault_lock);
    if (offset < size && vkc_fault(VKC_AT_READBACK, &ignored)) data[offset] ^= mask;
}

// ---- The loader. It stays open: drivers leave threads and exit handlers behind.

static spin loader_lock = SPIN_INIT;
static PFN_vkGetInstanceProcAddr loader_proc;

static void *open_library(const char *name) {
#if defined(_WIN32)
    return (void *)LoadLibraryA(name);
#else
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
#endif
}

static void *library_symbol(void *library, const char *name) {
#if defined(_WIN32)
    return (void *)GetProcAddress((HMODULE)library, name);
#else
    return dlsym(library, name);
#endif
}

int vkc_loader(char *why, size_t n) {
#if defined(_WIN32)
    static const char *names[] = {"vulkan-1.dll"};
#elif defined(__APPLE__)
    static const char *names[] = {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"};
#else
    static const char *names[] = {"libvulkan.so.1", "libvulkan.so"};
#endif
    VkResult injected;
    if (vkc_fault_armed() && vkc_fault(VKC_AT_DLOPEN, &injected)) {
        snprintf(why, n, "%s not opened (injected fault)", names[0]);
        return 0;
    }
    spin_lock(&loader_lock);
    for (size_t i = 0; i < sizeof names / sizeof *names && !loader_proc; i++) {
        void *library = open_library(names[i]);
        if (library) {
            void *symbol = library_symbol(library, "vkGetInstanceProcAddr");
            memcpy(&loader_proc, &symbol, sizeof symbol); // ISO C casts no object pointer to a function's
            if (!symbol) snprintf(why, n, "%s has no vkGetInstanceProcAddr", names[i]);
        } else if (i == 0) {
#if defined(_WIN32)
            snprintf(why, n, "%s not found (error %lu)", names[i], (unsigned long)GetLastError());
#else
            const char *text = dlerror();
            snprintf(why, n, "%s", text ? text : names[i]);
#endif
        }
    }
    int ok = loader_proc != NULL;
    spin_unlock(&loader_lock);
    return ok;
}

PFN_vkVoidFunction vkc_loader_proc(VkInstance instance, const char *name) { return loader_proc(instance, name); }

// ---- The log. It keeps the first messages: later ones mostly follow from them.

enum { LOG_ROOM = 256, LOG_LENGTH = 4096 };

struct vkc_log {
    spin lock;
    int count, dropped;
    char *text[LOG_ROOM];
};

vkc_log *vkc_log_new(void) { return vkc_new(sizeof(vkc_log)); } // zero is an open spin lock on gcc and clang

void vkc_log_free(vkc_log *log) {
    if (!log) return;
    for (int i = 0; i < log->count; i++) vkc_free(log->text[i]);
    vkc_free(log);
}

int vkc_log_count(vkc_log *log) {
    spin_lock(&log->lock);
    int n = log->count;
    spin_unlock(&log->lock);
    return n;
}

int vkc_log_dropped(vkc_log *log) {
    spin_lock(&log->lock);
    int n = log->dropped;
    spin_unlock(&log->lock);
    return n;
}

const char *vkc_log_text(vkc_log *log, int i) {
    spin_lock(&log->lock);
    const char *text = i >= 0 && i < log->count ? log->text[i] : NULL;
    spin_unlock(&log->lock);
    return text;
}

VkBool32 VKAPI_PTR vkc_log_callback(int32_t severity, uint32_t types, const VkDebugUtilsMessengerCallbackDataEXT *data,
                                    void *user) {
    (void)types;
    vkc_log *log = user;
    char *text = vkc_new(LOG_LENGTH);
    if (text) {
        snprintf(text, LOG_LENGTH, "%s: %s: %s",
                 severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? "error" : "warning",
                 data->pMessageIdName ? data->pMessageIdName : "no name", data->pMessage ? data->pMessage : "no text");
    }
    spin_lock(&log->lock);
    if (text && log->count < LOG_ROOM) {
        log->text[log->count++] = text;
        text = NULL;
    } else {
        log->dropped++;
    }
    spin_unlock(&log->lock);
    vkc_free(text);
    return 0; // the call that caused the message goes on
}
