// The kernel of one instruction set. The file that includes this sets ISA to its header
// and KERNEL to the name of the function.

#include <string.h>

// A sum of products is rounded as it is written (the compilers' default in ISO C, but
// for Clang): where a kernel fuses, it says so.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define REAL_BITS 32
#include ISA
#include "vec3.h"
#include "support.h"
#include "project.h"
#include "gjk.h"
#include "isa_undef.h"

#define REAL_BITS 64
#include ISA
#include "vec3.h"
#include "support.h"
#include "prepare.h"
#include "store.h"
#include "finish.h"
#include "project.h"
#include "gjk.h"

// sort puts the rows in the order of their pair of classes, so that a vector runs one
// support function. It returns where the groups begin in first; rows of shapes without
// a class, or that name no shape, go to s->left.
static __attribute__((noinline)) int sort(const clr_call *c, clr_scratch *s, int64_t lo, int n, int32_t *first) {
    enum { GROUPS = CLR_CLASSES * CLR_CLASSES };
    int32_t at[GROUPS] = {0};
    int left = 0;
    for (int i = 0; i < n; i++) {
        clr_row r = row_at(c, lo + i);
        int a = CLR_NO_CLASS, b = CLR_NO_CLASS;
        if ((uint64_t)(int64_t)r.shape_a < (uint64_t)c->shape_count) a = c->shapes[r.shape_a].class;
        if ((uint64_t)(int64_t)r.shape_b < (uint64_t)c->shape_count) b = c->shapes[r.shape_b].class;
        if (a >= CLR_CLASSES || b >= CLR_CLASSES) {
            s->key[i] = GROUPS;
            s->left[left++] = i;
            continue;
        }
        s->key[i] = (uint8_t)(a * CLR_CLASSES + b);
        at[s->key[i]]++;
    }
    int32_t sum = 0;
    for (int g = 0; g < GROUPS; g++) {
        first[g] = sum;
        sum += at[g];
        at[g] = first[g];
    }
    first[GROUPS] = sum;
    for (int i = 0; i < n; i++)
        if (s->key[i] < GROUPS) s->order[at[s->key[i]]++] = i;
    return left;
}

int KERNEL(const clr_call *c, clr_scratch *s, int64_t lo, int64_t hi) {
    int32_t first[CLR_CLASSES * CLR_CLASSES + 1];
    int left = sort(c, s, lo, (int)(hi - lo), first);
    for (int g = 0; g < CLR_CLASSES * CLR_CLASSES; g++) {
        int ka = g / CLR_CLASSES, kb = g % CLR_CLASSES;
        for (int k = first[g]; k < first[g + 1]; k += CLR_CAP) {
            int n = first[g + 1] - k < CLR_CAP ? first[g + 1] - k : CLR_CAP;
            prepare(c, s, lo, s->order + k, n, ka, kb);
            gjk32(c, s, 0, n, ka, kb);
            int listed = finish(c, s, lo - c->first, n, ka, kb, 1, &left);
            if (listed > 0) {
                gjk64(c, s, s->list, listed, ka, kb);
                finish(c, s, lo - c->first, n, ka, kb, 0, &left);
            }
        }
    }
    return left;
}
