//go:build cgo

#define SWEEP lanes_sweep_portable
#include "sweeps.h"

int64_t lanes_sweep_scratch(int32_t bodies, int64_t contacts) {
    return (int64_t)(sizeof(body) + sizeof(lone)) * (bodies + 1) + contacts * (int64_t)(sizeof(slot) + sizeof(entry));
}
