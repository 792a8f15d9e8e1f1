// The linear system of Newton's method: M + JᵀHJ in blocks of 6×6, of which only those that are not zero, before or
// during the elimination, have memory. The bodies are numbered in the order of their elimination.

// order finds an order of elimination by minimum degree [George1989, section 2]: the next body is the one with the
// fewest neighbours, which then become neighbours of each other. graph has a row of bits for each body, its neighbours,
// and is overwritten. place is the number of each body. It sets the blocks of the matrix.
static void order(world *w, uint64_t *graph, int32_t *place, int32_t *degree) {
    int n = w->bodies, words = words_of(n), listed = 0;
    for (int v = 0; v < n; v++) {
        place[v] = -1, degree[v] = 0;
        for (int i = 0; i < words; i++) degree[v] += __builtin_popcountll(graph[(int64_t)v * words + i]);
    }
    for (int k = 0; k < n; k++) {
        int next = -1;
        for (int v = 0; v < n; v++)
            if (place[v] < 0 && (next < 0 || degree[v] < degree[next])) next = v;
        const uint64_t *row = graph + (int64_t)next * words;
        place[next] = k;
        w->first[k] = listed;
        for (int i = 0; i < words; i++)
            for (uint64_t bits = row[i]; bits; bits &= bits - 1) w->later[listed++] = 64 * i + __builtin_ctzll(bits);
        for (int j = w->first[k]; j < listed; j++) {
            int v = w->later[j];
            uint64_t *of = graph + (int64_t)v * words;
            degree[v] = 0;
            for (int i = 0; i < words; i++) of[i] |= row[i];
            of[v / 64] &= ~((uint64_t)1 << v % 64);
            of[next / 64] &= ~((uint64_t)1 << next % 64);
            for (int i = 0; i < words; i++) degree[v] += __builtin_popcountll(of[i]);
        }
    }
    w->first[n] = listed;
    w->blocks = n;
    for (int k = 0; k < n; k++) {
        w->slot[(int64_t)k * n + k] = k;
        for (int j = w->first[k]; j < w->first[k + 1]; j++) {
            int q = w->later[j] = place[w->later[j]];
            w->slot[(int64_t)k * n + q] = w->blocks++;
            w->slot[(int64_t)q * n + k] = w->blocks++;
        }
    }
}

// block_of is the block of the matrix of the rows of body p and the columns of body q.
INLINE eight *block_of(world *w, int p, int q) { return w->matrix[w->slot[(int64_t)p * w->bodies + q]]; }

// add_block adds the block JpᵀHJq to the matrix; left is JpᵀH.
INLINE void add_block(eight *to, const eight left[3], const eight *right) {
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 8; j += W) {
            VF x = LOADU(to[i] + j);
            for (int k = 0; k < 3; k++) x = FMA(SET1(left[k][i]), LOADU(right[k] + j), x);
            STOREU(to[i] + j, x);
        }
    }
}

// assemble forms M + JᵀHJ.
static void assemble(world *w) {
    memset(w->matrix, 0, (size_t)w->blocks * sizeof *w->matrix);
    for (int b = 0; b < w->bodies; b++) {
        eight *m = w->matrix[b];
        double *i = w->body[b].inertia, full[3][3] = {{i[0], i[3], i[4]}, {i[3], i[1], i[5]}, {i[4], i[5], i[2]}};
        for (int k = 0; k < 3; k++) m[k][k] = w->body[b].mass;
        for (int k = 0; k < 3; k++) memcpy(m[3 + k] + 3, full[k], sizeof full[k]);
    }
    for (int i = 0; i < w->n; i++) {
        row *r = &w->rows[i];
        if (r->h[2][2] == 0) continue;
        for (int s = 0; s < 2; s++) {
            int p = s ? r->b : r->a;
            if (p < 0) continue;
            eight *j = s ? r->jb : r->ja, left[3];
            for (int c = 0; c < 3; c++) {
                VF h0 = SET1(r->h[0][c]), h1 = SET1(r->h[1][c]), h2 = SET1(r->h[2][c]);
                for (int k = 0; k < 8; k += W)
                    STOREU(left[c] + k, FMA(h2, LOADU(j[2] + k), FMA(h0, LOADU(j[0] + k), h1 * LOADU(j[1] + k))));
            }
            if (r->a >= 0) add_block(block_of(w, p, r->a), left, r->ja);
            if (r->b >= 0) add_block(block_of(w, p, r->b), left, r->jb);
        }
    }
}

// triangular replaces a block by the factors of it, without pivoting: a unit lower triangle, and an upper triangle with
// the inverses of its diagonal. It returns 0 if a pivot vanishes, which matrices of the NCP can do.
INLINE int triangular(eight *d) {
    for (int c = 0; c < 6; c++) {
        double pivot = d[c][c], inverse = 1 / pivot;
        if (!(__builtin_fabs(pivot) > 0)) return 0;
        for (int i = c + 1; i < 6; i++) {
            double f = d[i][c] * inverse;
            d[i][c] = f;
            for (int j = c + 1; j < 6; j++) d[i][j] = fused(-f, d[c][j], d[i][j]);
        }
        d[c][c] = inverse;
    }
    return 1;
}

// divide replaces x by D⁻¹x, given the factors of D.
INLINE void divide(const eight *d, eight *x) {
    for (int j = 0; j < 8; j += W) {
        VF y[6];
        for (int i = 0; i < 6; i++) y[i] = LOADU(x[i] + j);
        for (int c = 0; c < 5; c++)
            for (int i = c + 1; i < 6; i++) y[i] = FNMA(SET1(d[i][c]), y[c], y[i]);
        for (int c = 5; c >= 0; c--) {
            y[c] *= SET1(d[c][c]);
            for (int i = 0; i < c; i++) y[i] = FNMA(SET1(d[i][c]), y[c], y[i]);
        }
        for (int i = 0; i < 6; i++) STOREU(x[i] + j, y[i]);
    }
}

INLINE void divide_vector(const eight *d, eight x) {
    for (int c = 0; c < 5; c++)
        for (int i = c + 1; i < 6; i++) x[i] = fused(-d[i][c], x[c], x[i]);
    for (int c = 5; c >= 0; c--) {
        x[c] *= d[c][c];
        for (int i = 0; i < c; i++) x[i] = fused(-d[i][c], x[c], x[i]);
    }
}

// subtract_product subtracts the product of two blocks.
INLINE void subtract_product(eight *to, const eight *l, const eight *u) {
    VF v[6][8 / W];
    for (int c = 0; c < 6; c++)
        for (int j = 0; j < 8 / W; j++) v[c][j] = LOADU(u[c] + W * j);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 8 / W; j++) {
            VF x = LOADU(to[i] + W * j);
            for (int c = 0; c < 6; c++) x = FNMA(SET1(l[i][c]), v[c][j], x);
            STOREU(to[i] + W * j, x);
        }
}

INLINE void subtract_image(eight to, const eight *l, const eight x) {
    for (int i = 0; i < 6; i++)
        for (int c = 0; c < 6; c++) to[i] = fused(-l[i][c], x[c], to[i]);
}

// factor solves for the step by elimination without pivoting: the matrix of the convex problem is positive definite. It
// returns 0 if a pivot vanishes or a step is not finite, and where it is stopped.
static int factor(world *w) {
    int n = w->bodies;
    for (int b = 0; b < n; b++)
        for (int i = 0; i < 8; i++) w->right[b][i] = -w->body[b].gradient[i];
    for (int k = 0; k < n; k++) {
        eight *d = w->matrix[k];
        if (is_set(w->stop) || !triangular(d)) return 0;
        divide_vector(d, w->right[k]);
        const int32_t *later = w->later + w->first[k], *end = w->later + w->first[k + 1];
        for (const int32_t *q = later; q < end; q++) divide(d, block_of(w, k, *q));
        for (const int32_t *p = later; p < end; p++) {
            const eight *l = block_of(w, *p, k);
            subtract_image(w->right[*p], l, w->right[k]);
            for (const int32_t *q = later; q < end; q++) subtract_product(block_of(w, *p, *q), l, block_of(w, k, *q));
        }
    }
    for (int k = n - 1; k >= 0; k--)
        for (int j = w->first[k]; j < w->first[k + 1]; j++)
            subtract_image(w->right[k], block_of(w, k, w->later[j]), w->right[w->later[j]]);
    for (int b = 0; b < n; b++) {
        for (int i = 0; i < 6; i++)
            if (w->right[b][i] - w->right[b][i] != 0) return 0;
        memcpy(w->body[b].step, w->right[b], sizeof(eight));
        w->body[b].step[6] = w->body[b].step[7] = 0;
    }
    return 1;
}
