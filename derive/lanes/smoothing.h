// Smoothed problems: features of cores with the Hessians of smoothed support functions.

#ifndef LN_SMOOTHING_H
#define LN_SMOOTHING_H

#include "gaussian.h"
#include "gumbel.h"

// smooth replaces both features and solves the system anew. It returns the lanes where that has an inverse. row is that
// of the answers.
APART int smooth(const pair *p, linear *s, const int64_t row[W], int active) {
    const ln_call *c = p->call;
    v3 opposite = neg3(s->n);
    if (c->mode == LN_GUMBEL) {
        vd epsilon = c->epsilon > 0 ? all(c->epsilon) : 1e-2 * p->size;
        gumbel_feature(&s->a, p, &p->a, p->class_a, s->n, epsilon, s->e0, s->e1, active);
        gumbel_feature(&s->b, p, &p->b, p->class_b, opposite, epsilon, s->e0, s->e1, active);
    } else {
        sampling g = {{(uint32_t)c->seed, (uint32_t)(c->seed >> 32)}, c->samples, c->epsilon, {{0}, {0}}};
        for (int i = 0; i < W; i++) {
            uint64_t number = c->first_number + (uint64_t)row[i];
            g.row[0][i] = (uint32_t)number, g.row[1][i] = number >> 32;
        }
        gaussian_feature(&s->a, &g, c, &p->a, p->class_a, s->n, s->e0, s->e1, 0, active);
        gaussian_feature(&s->b, &g, c, &p->b, p->class_b, opposite, s->e0, s->e1, 1, active);
    }
    solve(s, p);
    return active & bits(s->regular);
}

#endif
