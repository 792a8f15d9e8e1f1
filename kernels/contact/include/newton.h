// Proximal Newton method for one world, in float64. The
// method is that of proximalNewton in package contact, which says what it minimizes; here velocities and Jacobians are
// rows of 8 numbers, 6 of them in use, so that row operations are those of vectors. Products are fused with sums only
// by FMA, FNMA and fused.

#include "api.h"
#include "arithmetic.h"
#include "constants.h"

enum { FOUR = W > 4 ? W : 4 };

typedef double eight[8] __attribute__((aligned(ALIGNMENT)));
typedef double four[FOUR] __attribute__((aligned(FOUR * 8))); // 3 of them in use

typedef struct {
    double mass, inverse_mass, inertia[6], inverse_inertia[6];
    eight free, base, gradient, force, step; // base = v_free + M⁻¹Jᵀλᵏ
    double violation, speed;                 // of its island, see set_row_scales
} moving;

typedef struct {
    int32_t a, b;       // index of the moving body, -1 for none
    eight ja[3], jb[3]; // rows of J for t1, t2 and n
    four ta[6], tb[6];  // their transposes
    four fixed;         // c of bodies that do not move, less c*
    four slip;          // c of base
    four outer, lambda, best;
    double friction, height, prox, shift;
    four compliance;            // R, twice of the tangential axes and of the normal
    double trace, speed, scale; // h of the residual, the speeds at the contact, and the speed scale of its island
    double h[3][3];             // -dλ/ds
} row;

typedef struct {
    const contact_options *o;
    int32_t n, bodies, blocks; // contacts, moving bodies, blocks of the matrix
    row *rows;
    moving *body;
    eight *v, *trial, *right; // v and trial are relative to base
    eight (*matrix)[6];
    int32_t *slot;               // [bodies, bodies] the place of each block
    int32_t *first, *later;      // the blocks of row k right of the diagonal are later[first[k]] to later[first[k + 1]]
    double energy, square, best; // energy of the convex problem, that of free velocities, least relative residual
    double rounding;             // of the speeds at contacts, relative to the residual they may have
    units units;
    int32_t steps;
    const int32_t *stop;
} world;

INLINE int64_t words_of(int64_t bodies) { return (bodies + 63) / 64; }

// add_to adds f·x to a row.
INLINE void add_to(double *to, double f, const double *x) {
    for (int i = 0; i < 8; i += W) STOREU(to + i, FMA(SET1(f), LOADU(x + i), LOADU(to + i)));
}

// solve_mass sets out = M⁻¹x.
static void solve_mass(const moving *m, eight out, const eight x) {
    for (int i = 0; i < 3; i++) out[i] = m->inverse_mass * x[i];
    multiply(out + 3, m->inverse_inertia, x + 3);
    out[6] = out[7] = 0;
}

// largest_block bounds the largest eigenvalue of G from above, by at most 15 %.
static double largest_block(double g[3][3]) {
    double trace = g[0][0] + g[1][1] + g[2][2];
    if (!(trace > 0)) return 0;
    double x[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) x[i][j] = g[i][j] / trace;
    for (int k = 0; k < 3; k++) {
        double y[3][3], s = x[0][1] * x[1][0], t = x[1][2] * x[2][1];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                if (i != j) y[i][j] = dot3(x[i][0], x[0][j], x[i][1], x[1][j], x[i][2], x[2][j]);
        y[0][0] = fused(x[0][2], x[2][0], fused(x[0][0], x[0][0], s));
        y[1][1] = fused(x[1][1], x[1][1], s) + t;
        y[2][2] = fused(x[2][2], x[2][2], fused(x[2][0], x[0][2], t));
        memcpy(x, y, sizeof x);
    }
    return trace * __builtin_sqrt(__builtin_sqrt(__builtin_sqrt(x[0][0] + x[1][1] + x[2][2])));
}

INLINE double norm2(const double x[2]) { return __builtin_sqrt(fused(x[0], x[0], x[1] * x[1])); }
INLINE double norm(const double x[3]) { return __builtin_sqrt(dot3(x[0], x[0], x[1], x[1], x[2], x[2])); }

// side sets J of one body of a contact, or adds the velocity of one that does not move to fixed.
static int32_t side(row *r, const units *u, int32_t index, int32_t moves, const double *arm, const double *frame,
                    const double *velocity, double sign) {
    eight *j = sign < 0 ? r->ja : r->jb;
    four *t = sign < 0 ? r->ta : r->tb;
    memset(j, 0, 3 * sizeof *j);
    memset(t, 0, 6 * sizeof *t);
    if (index < 0) return -1;
    double l = 1 / u->length, a[3] = {arm[0] * l, arm[1] * l, arm[2] * l}, v[6];
    for (int k = 0; k < 6; k++) v[k] = velocity[6 * (int64_t)index + k] * (1 / (k < 3 ? u->speed : u->spin));
    r->speed += fused(norm(v + 3), norm(a), norm(v));
    for (int i = 0; i < 3; i++) {
        const double *d = frame + 3 * i;
        double x[6] = {d[0],
                       d[1],
                       d[2],
                       fused(a[1], d[2], -(a[2] * d[1])),
                       fused(a[2], d[0], -(a[0] * d[2])),
                       fused(a[0], d[1], -(a[1] * d[0]))};
        for (int k = 0; k < 6; k++) {
            j[i][k] = t[k][i] = sign * x[k];
            if (moves < 0) r->fixed[i] = fused(sign * x[k], v[k], r->fixed[i]);
        }
    }
    return moves;
}

static void heights(world *w) {
    for (int i = 0; i < w->n; i++) {
        row *r = &w->rows[i];
        double g[3][3] = {{0}};
        for (int s = 0; s < 2; s++) {
            int32_t b = s ? r->b : r->a;
            if (b < 0) continue;
            eight *j = s ? r->jb : r->ja;
            for (int p = 0; p < 3; p++) {
                eight k;
                solve_mass(&w->body[b], k, j[p]);
                for (int q = 0; q < 3; q++)
                    for (int x = 0; x < 6; x++) g[p][q] = fused(k[x], j[q][x], g[p][q]);
            }
        }
        for (int k = 0; k < 3; k++) g[k][k] += r->compliance[k];
        r->height = largest_block(g);
        r->trace = g[0][0] + g[1][1] + g[2][2];
    }
}

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

// row_velocity sets out to c + Jv of a contact.
INLINE void row_velocity(four out, const row *r, const four c, const eight *v) {
    for (int i = 0; i < FOUR; i += W) {
        VF x = LOADU(c + i);
        if (r->a >= 0)
            for (int k = 0; k < 6; k++) x = FMA(LOADU(r->ta[k] + i), SET1(v[r->a][k]), x);
        if (r->b >= 0)
            for (int k = 0; k < 6; k++) x = FMA(LOADU(r->tb[k] + i), SET1(v[r->b][k]), x);
        STOREU(out + i, x);
    }
}

// soften_row adds Rλ to c.
INLINE void soften_row(four c, const row *r, const four l) {
    for (int i = 0; i < FOUR; i += W) STOREU(c + i, FMA(LOADU(r->compliance + i), LOADU(l + i), LOADU(c + i)));
}

static double larger(double x, double y) { return x > y || x != x ? x : y; }

// row_dual_distance is the distance of c from the dual cone {c_N ≥ μ‖c_T‖}.
static double row_dual_distance(const double c[3], double mu) {
    double slip = norm2(c), edge = mu * slip;
    if (c[2] >= edge) return 0;
    return slip <= -mu * c[2] ? norm(c) : (edge - c[2]) / __builtin_sqrt(fused(mu, mu, 1));
}

// row_residual is the residual h·‖λ − Π_K(λ − (c + Γ)/h)‖ of contact.row.residual; c includes Γ.
static double row_residual(const double l[3], const double c[3], double mu, double h) {
    double x[3] = {l[0] - c[0] / h, l[1] - c[1] / h, l[2] - c[2] / h};
    double t = norm2(x), edge = mu * t;
    if (edge <= -x[2]) return h * norm(l);
    if (t <= mu * x[2]) return norm(c);
    double n = (edge + x[2]) / fused(mu, mu, 1), k = mu * n / t;
    return h * norm((double[3]){fused(-x[0], k, l[0]), fused(-x[1], k, l[1]), l[2] - n});
}

// join_islands sets violation and speed of both bodies of a contact to the larger ones, and reports whether that
// changes any.
INLINE int join_islands(world *w, const row *r) {
    if (r->a < 0 || r->b < 0) return 0;
    moving *a = &w->body[r->a], *b = &w->body[r->b];
    // Of numbers beyond those of the format, which are NaN, none is the larger one, so that the passes end.
    if (!(a->violation < b->violation || a->violation > b->violation || a->speed < b->speed || a->speed > b->speed))
        return 0;
    a->violation = b->violation = larger(a->violation, b->violation);
    a->speed = b->speed = larger(a->speed, b->speed);
    return 1;
}

// set_row_scales sets the speed scales of the contacts, see contact.worldSolver.setScales. Islands are found by passes
// forwards and backwards over the contacts until no number changes.
static void set_row_scales(world *w) {
    for (int b = 0; b < w->bodies; b++) memcpy(w->trial[b], w->body[b].free, sizeof(eight));
    for (int i = 0; i < w->n; i++) {
        row *r = &w->rows[i];
        four c;
        row_velocity(c, r, r->fixed, w->trial);
        if (!w->o->convex) c[2] = fused(r->friction, norm2(c), c[2]);
        double violation = row_dual_distance(c, r->friction);
        for (int s = 0; s < 2; s++) {
            int32_t b = s ? r->b : r->a;
            if (b < 0) continue;
            w->body[b].violation = larger(w->body[b].violation, violation);
            w->body[b].speed = larger(w->body[b].speed, r->speed);
        }
    }
    for (int changed = 1; changed;) {
        changed = 0;
        for (int i = 0; i < w->n; i++) changed |= join_islands(w, &w->rows[i]);
        for (int i = w->n; changed && i-- > 0;) join_islands(w, &w->rows[i]);
    }
    double tolerance = w->o->tolerance;
    for (int i = 0; i < w->n; i++) {
        row *r = &w->rows[i];
        const moving *m = &w->body[r->b >= 0 ? r->b : r->a];
        r->scale = larger(m->violation, w->o->resolved * m->speed);
        if (r->scale > 0) w->rounding = larger(0x1p-53 * m->speed / (tolerance * r->scale), w->rounding);
    }
}

// cone_force minimizes ½λᵀRλ + sᵀλ over K, R = diag(p, p, r), and sets h = -dλ/ds.
static void cone_force(const double s[3], double mu, double p, double r, double l[3], double h[3][3]) {
    double t = norm2(s), edge = mu * t;
    memset(h, 0, 9 * sizeof(double));
    if (s[2] >= edge) { // open
        l[0] = l[1] = l[2] = 0;
        return;
    }
    double ratio = p == r ? 1 : r / p;
    if (t * ratio <= -mu * s[2]) { // stick
        h[0][0] = h[1][1] = 1 / p, h[2][2] = 1 / r;
        for (int i = 0; i < 2; i++) l[i] = -s[i] / p;
        l[2] = -s[2] / r;
        return;
    }
    double q = fused(mu * mu, p, r), n = (edge - s[2]) / q, dx = 0, dy = 0;
    if (t > 0) {
        dx = -s[0] / t, dy = -s[1] / t;
        double w = mu * n / t; // across the slip
        h[0][0] = w * dy * dy, h[0][1] = h[1][0] = -w * dx * dy, h[1][1] = w * dx * dx;
    }
    double e[3] = {mu * dx, mu * dy, 1};
    for (int i = 0; i < 3; i++) {
        l[i] = n * e[i];
        for (int j = 0; j < 3; j++) h[i][j] += e[i] * e[j] / q;
    }
}

// disc_force is the normal law max(0, -s_N/r), then -s_T/p projected on the disc of radius μλ_N. h is not symmetric
// where the contact slides.
static void disc_force(const double s[3], double mu, double p, double r, double l[3], double h[3][3]) {
    memset(h, 0, 9 * sizeof(double));
    l[0] = l[1] = l[2] = 0;
    double n = -s[2] / r;
    if (!(n > 0)) return;
    l[2] = n;
    h[2][2] = 1 / r;
    double t = norm2(s), radius = mu * n;
    if (t <= radius * p) {
        h[0][0] = h[1][1] = 1 / p;
        l[0] = -s[0] / p, l[1] = -s[1] / p;
        return;
    }
    double dx = -s[0] / t, dy = -s[1] / t, w = radius / t;
    h[0][0] = w * dy * dy, h[0][1] = h[1][0] = -w * dx * dy, h[1][1] = w * dx * dx;
    h[0][2] = mu * dx / r, h[1][2] = mu * dy / r;
    l[0] = radius * dx, l[1] = radius * dy;
}

// add_force adds Jᵀλ to the forces.
INLINE void add_force(world *w, const row *r, const four l) {
    for (int i = 0; i < 3; i++) {
        if (r->a >= 0) add_to(w->body[r->a].force, l[i], r->ja[i]);
        if (r->b >= 0) add_to(w->body[r->b].force, l[i], r->jb[i]);
    }
}

// forces sets λ(v), its curvature, force = Jᵀ(λ - λᵏ), the gradient M(v - v_f) - Jᵀλ = M(v - base) - force and the
// cost of the convex problem.
static void forces(world *w, eight *v, int convex) {
    w->energy = 0;
    for (int b = 0; b < w->bodies; b++) {
        moving *m = &w->body[b];
        eight d;
        double spun[3];
        for (int i = 0; i < 8; i++) d[i] = v[b][i] + (m->base[i] - m->free[i]);
        multiply(spun, m->inertia, d + 3);
        for (int i = 0; i < 3; i++) w->energy += 0.5 * fused(m->mass * d[i], d[i], spun[i] * d[3 + i]);
        for (int i = 0; i < 3; i++) m->gradient[i] = m->mass * v[b][i];
        multiply(m->gradient + 3, m->inertia, v[b] + 3);
        memset(m->force, 0, sizeof m->force);
    }
    for (int i = 0; i < w->n; i++) {
        row *r = &w->rows[i];
        four s;
        row_velocity(s, r, r->slip, v);
        for (int k = 0; k < FOUR; k += W) STOREU(s + k, FNMA(SET1(r->prox), LOADU(r->outer + k), LOADU(s + k)));
        s[2] += r->shift;
        const double *l = r->lambda, rt = r->compliance[0], rn = r->compliance[2];
        if (convex) cone_force(s, r->friction, r->prox + rt, r->prox + rn, r->lambda, r->h);
        else disc_force(s, r->friction, r->prox + rt, r->prox + rn, r->lambda, r->h);
        w->energy = fused(0.5 * r->prox, dot3(l[0], l[0], l[1], l[1], l[2], l[2]), w->energy);
        w->energy = fused(0.5 * rt, fused(l[0], l[0], l[1] * l[1]), fused(0.5 * rn * l[2], l[2], w->energy));
        four change;
        for (int k = 0; k < FOUR; k += W) STOREU(change + k, LOADU(l + k) - LOADU(r->outer + k));
        add_force(w, r, change);
    }
    for (int b = 0; b < w->bodies; b++) add_to(w->body[b].gradient, -1, w->body[b].force);
}

static double gradient_norm(world *w) {
    double sum = 0;
    for (int b = 0; b < w->bodies; b++) {
        eight x;
        solve_mass(&w->body[b], x, w->body[b].gradient);
        for (int i = 0; i < 6; i++) sum = fused(x[i], w->body[b].gradient[i], sum);
    }
    return __builtin_sqrt(sum);
}

// keep_rows measures the impulses, λ or λᵏ, and keeps them if their residual is the least so far. It returns the
// residual. force must be set, for λᵏ to Jᵀλᵏ. It leaves the velocities in trial.
static double keep_rows(world *w, int outer) {
    for (int b = 0; b < w->bodies; b++) {
        moving *m = &w->body[b];
        eight x;
        solve_mass(m, x, m->force);
        const double *from = outer ? m->free : m->base;
        for (int i = 0; i < 8; i++) w->trial[b][i] = from[i] + x[i];
    }
    double e = 0;
    for (int i = 0; i < w->n; i++) {
        row *r = &w->rows[i];
        four c;
        const double *l = outer ? r->outer : r->lambda;
        row_velocity(c, r, r->fixed, w->trial);
        soften_row(c, r, l);
        if (!w->o->convex) c[2] = fused(r->friction, norm2(c), c[2]);
        double of = row_residual(l, c, r->friction, r->trace);
        e = larger(of == 0 ? 0 : of / r->scale, e);
    }
    if (e < w->best) {
        w->best = e;
        for (int i = 0; i < w->n; i++)
            memcpy(w->rows[i].best, outer ? w->rows[i].outer : w->rows[i].lambda, sizeof(four));
    }
    return e;
}

// inner solves M(v - v_f) = Jᵀλ(v) from v. used counts its steps; ended is 0 if the line search failed. It returns
// whether λ(v) is within the tolerance.
static int inner(world *w, int convex, int *used, int *ended) {
    forces(w, w->v, convex);
    double f = w->energy, g = gradient_norm(w);
    for (*used = 0;; ++*used) {
        double move = 0;
        for (int i = 0; i < w->n; i++) {
            row *r = &w->rows[i];
            double square = 0;
            for (int k = 0; k < 3; k++) {
                double change = r->lambda[k] - r->outer[k];
                square = fused(change, change, square);
            }
            move = larger(r->prox * r->prox * square / r->height, move);
        }
        double end = larger(INEXACTNESS * __builtin_sqrt(move), GRADIENT_ROUNDING * __builtin_sqrt(f + w->square));
        *ended = 1;
        if (g <= end) return 0;
        *ended = convex;
        if (w->steps >= w->o->steps || (*used >= INNER_LIMIT && !convex)) return 0;
        assemble(w);
        if (!factor(w)) return 0;
        w->steps++;
        double decrease = 0;
        for (int b = 0; b < w->bodies; b++)
            for (int i = 0; i < 6; i++) decrease = fused(-w->body[b].gradient[i], w->body[b].step[i], decrease);
        for (double alpha = 1;;) {
            for (int b = 0; b < w->bodies; b++)
                for (int i = 0; i < 8; i++) w->trial[b][i] = fused(alpha, w->body[b].step[i], w->v[b][i]);
            forces(w, w->trial, convex);
            *ended = 0;
            if (w->energy != w->energy) return 0;
            double after = gradient_norm(w);
            if (convex && decrease <= COST_ROUNDING * f) {
                *ended = 1;
                if (!(after <= g / 2)) return 0; // the gradient is at its rounding error
            } else if (convex) {
                if (!(w->energy <= fused(-(ARMIJO * alpha), decrease, f)) && alpha > SHORTEST_CCP) {
                    alpha /= 2;
                    continue;
                }
            } else if (!(after <= fused(-ARMIJO, alpha, 1) * g)) {
                if (alpha < SHORTEST) return 0;
                alpha /= 2;
                continue;
            }
            f = w->energy, g = after;
            break;
        }
        eight *swap = w->v;
        w->v = w->trial, w->trial = swap;
        *ended = 1;
        if (keep_rows(w, 0) <= w->o->tolerance) return 1; // overwrites trial
    }
}

// measure_outer sets base and slip to those of λᵏ and returns the residual.
static double measure_outer(world *w) {
    for (int b = 0; b < w->bodies; b++) memset(w->body[b].force, 0, sizeof(eight));
    for (int i = 0; i < w->n; i++) add_force(w, &w->rows[i], w->rows[i].outer);
    double e = keep_rows(w, 1);
    for (int b = 0; b < w->bodies; b++) memcpy(w->body[b].base, w->trial[b], sizeof(eight));
    for (int i = 0; i < w->n; i++) row_velocity(w->rows[i].slip, &w->rows[i], w->rows[i].fixed, w->trial);
    return e;
}

static void newton(world *w) {
    int convex_model = w->o->convex, frozen = 0;
    double rho = convex_model ? PROX_CCP : PROX_NCP, last = __builtin_inf(), lo = __builtin_inf(), hi = 0;
    for (int b = 0; b < w->bodies; b++) {
        double m = w->body[b].mass;
        if (m < lo) lo = m;
        if (m > hi) hi = m;
    }
    double least = w->rounding;
    if (!(least > 1e-7)) least = 1e-7;
    if (!(least < 1e-6)) least = 1e-6;
    if (1e-3 * lo / hi < least) least = 1e-3 * lo / hi;
    if (!(least > 1e-10)) least = 1e-10;
    measure_outer(w);
    while (w->steps < w->o->steps && !is_set(w->stop)) {
        int convex = convex_model || frozen > 0, used, ended;
        for (int i = 0; i < w->n; i++) {
            row *r = &w->rows[i];
            r->prox = rho * r->height, r->shift = 0;
            if (convex && !convex_model) {
                four c;
                memcpy(c, r->slip, sizeof c);
                soften_row(c, r, r->outer);
                r->shift = r->friction * norm2(c);
            }
        }
        memset(w->v, 0, sizeof(eight) * w->bodies);
        if (inner(w, convex, &used, &ended)) return;
        if (used == 0) w->steps++; // so that the loop ends
        if (!ended && !convex) {
            frozen = 2;
            rho = 10 * rho < PROX_MOST ? 10 * rho : PROX_MOST;
            continue;
        }
        for (int i = 0; i < w->n; i++) memcpy(w->rows[i].outer, w->rows[i].lambda, sizeof(four));
        double e = measure_outer(w);
        if (e <= w->o->tolerance) return;
        if (used > 8) rho = 3 * rho < PROX_MOST ? 3 * rho : PROX_MOST;
        else if (e > last / 5 && frozen == 0) {
            double floor = e > STUCK * last && rho <= least ? LEAST_STUCK * least : least;
            rho = 0.3 * rho > floor ? 0.3 * rho : floor;
        } else if (rho < least) rho = least;
        if (frozen > 0) frozen--;
        last = e;
    }
}

// reserve returns memory for n things of a size, aligned to vectors.
static void *reserve(char **memory, int64_t n, size_t size) {
    void *p = *memory;
    *memory += (n * (int64_t)size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return p;
}

// most_moving bounds the number of bodies that move and have a contact.
INLINE int64_t most_moving(int64_t bodies, int64_t contacts) { return bodies < 2 * contacts ? bodies : 2 * contacts; }

// most_bodies of them have fewer pairs than an int32_t can number.
enum { most_bodies = 1 << 15 };

// number sets index of each body that moves and has a contact to its place in the order of elimination, and of all
// others to -1.
static void number(world *w, int32_t *index, uint64_t *graph, int32_t *place, int32_t *degree, const double *mass,
                   const int32_t *body_a, const int32_t *body_b) {
    int bodies = w->o->bodies, words;
    for (int b = 0; b < bodies; b++) index[b] = -1;
    for (int i = 0; i < w->n; i++) {
        if (body_a[i] >= 0) index[body_a[i]] = 0;
        if (body_b[i] >= 0) index[body_b[i]] = 0;
    }
    for (int b = 0; b < bodies; b++) index[b] = index[b] == 0 && mass[b] - mass[b] == 0 ? w->bodies++ : -1;
    words = words_of(w->bodies);
    memset(graph, 0, (size_t)w->bodies * words * sizeof *graph);
    for (int i = 0; i < w->n; i++) {
        int a = body_a[i] < 0 ? -1 : index[body_a[i]], b = body_b[i] < 0 ? -1 : index[body_b[i]];
        if (a < 0 || b < 0) continue;
        graph[(int64_t)a * words + b / 64] |= (uint64_t)1 << b % 64;
        graph[(int64_t)b * words + a / 64] |= (uint64_t)1 << a % 64;
    }
    order(w, graph, place, degree);
    for (int b = 0; b < bodies; b++)
        if (index[b] >= 0) index[b] = place[index[b]];
}

static int64_t newton_scratch(int32_t bodies, int32_t contacts, int64_t blocks) {
    int64_t b = most_moving(bodies, contacts), each = (int64_t)sizeof(moving) + 3 * (int64_t)sizeof(eight) + 12;
    if (b > most_bodies) return -1;
    each += (int64_t)sizeof(uint64_t) * words_of(b) + 6 * b;
    return 4 * (int64_t)bodies + each * b + (int64_t)sizeof(row) * contacts + 6 * (int64_t)sizeof(eight) * blocks +
           ALIGNMENT * 14;
}

static int64_t newton_blocks(int32_t bodies, int32_t contacts) {
    int64_t b = most_moving(bodies, contacts), sparse = b + 6 * (int64_t)contacts;
    return b < sparse / b ? b * b : sparse;
}

static CONTACT_NEWTON(newton_world) {
    const contact_columns *p = columns;
    int n = p->count[index_of_world];
    int64_t first = (int64_t)index_of_world * o->contacts, first_body = (int64_t)index_of_world * o->bodies;
    const double *mass = p->mass + first_body, *inertia = p->inertia + 6 * first_body,
                 *velocity = p->velocity + 6 * first_body;
    const int32_t *body_a = p->body_a + first, *body_b = p->body_b + first;
    const double *target = p->target ? p->target + first : 0;
    const double *compliance = p->compliance ? p->compliance + 2 * first : 0;
    double *impulse = p->impulse + 3 * first;
    int64_t most = most_moving(o->bodies, n);
    char *memory = scratch;
    world w = {.o = o, .n = n, .best = __builtin_inf(), .stop = stop};
    w.units = units_of(o->bodies, n, mass, inertia, velocity, target);
    int32_t *index = reserve(&memory, o->bodies, sizeof(int32_t));
    int32_t *place = reserve(&memory, most, sizeof(int32_t));
    int32_t *degree = reserve(&memory, most, sizeof(int32_t));
    uint64_t *graph = reserve(&memory, most * words_of(most), sizeof(uint64_t));
    w.rows = reserve(&memory, n, sizeof(row));
    w.body = reserve(&memory, most, sizeof(moving));
    w.v = reserve(&memory, most, sizeof(eight));
    w.trial = reserve(&memory, most, sizeof(eight));
    w.right = reserve(&memory, most, sizeof(eight));
    w.first = reserve(&memory, most + 1, sizeof(int32_t));
    w.later = reserve(&memory, most * most / 2, sizeof(int32_t));
    w.slot = reserve(&memory, most * most, sizeof(int32_t));
    w.matrix = reserve(&memory, blocks, sizeof *w.matrix);
    const units *u = &w.units;
    number(&w, index, graph, place, degree, mass, body_a, body_b);
    if (w.blocks > blocks) return -w.blocks;
    for (int b = 0; b < o->bodies; b++) {
        if (index[b] < 0) continue;
        moving *m = &w.body[index[b]];
        memset(m, 0, sizeof *m);
        m->mass = mass[b] * (1 / u->mass), m->inverse_mass = 1 / m->mass;
        for (int i = 0; i < 6; i++) m->inertia[i] = inertia[6 * b + i] * (1 / u->inertia);
        invert(m->inverse_inertia, m->inertia);
        for (int i = 0; i < 6; i++) m->free[i] = velocity[6 * b + i] * (1 / (i < 3 ? u->speed : u->spin));
        double x[3];
        multiply(x, m->inertia, m->free + 3);
        for (int i = 0; i < 3; i++) w.square += fused(m->mass * m->free[i], m->free[i], x[i] * m->free[3 + i]);
    }
    for (int i = 0; i < n; i++) {
        row *r = &w.rows[i];
        memset(r->fixed, 0, sizeof r->fixed);
        r->fixed[2] = target ? -target[i] * (1 / u->speed) : 0;
        r->speed = __builtin_fabs(r->fixed[2]);
        r->friction = p->friction[first + i];
        memset(r->compliance, 0, sizeof r->compliance);
        for (int k = 0; compliance && k < 3; k++) r->compliance[k] = compliance[2 * i + k / 2] * u->mass;
        int a = body_a[i], b = body_b[i];
        r->a =
            side(r, u, a, a < 0 ? -1 : index[a], p->arm_a + 3 * (first + i), p->frame + 9 * (first + i), velocity, -1);
        r->b =
            side(r, u, b, b < 0 ? -1 : index[b], p->arm_b + 3 * (first + i), p->frame + 9 * (first + i), velocity, 1);
        for (int k = 0; k < 3; k++) r->outer[k] = r->best[k] = impulse[3 * i + k] * (1 / u->impulse);
        for (int k = 3; k < FOUR; k++) r->outer[k] = r->best[k] = r->lambda[k] = 0;
    }
    heights(&w);
    set_row_scales(&w);
    newton(&w);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) impulse[3 * i + k] = w.rows[i].best[k] * u->impulse;
    return w.steps;
}
