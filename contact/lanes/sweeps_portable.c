//go:build cgo

#define SWEEP lanes_sweep_portable
#include "sweeps.h"

int64_t lanes_sweep_scratch(int32_t bodies, int32_t contacts) {
    return (int64_t)(sizeof(body) + sizeof(lone)) * (bodies + 1) +
           (int64_t)W * contacts * (int64_t)(sizeof(slot) + sizeof(entry));
}
