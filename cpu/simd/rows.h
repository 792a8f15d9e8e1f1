// Where the rows of the input are.

// clr_row is shapes and poses of a row.
typedef struct { int32_t shape_a, shape_b; const double *pa, *qa, *pb, *qb; } clr_row;

static inline __attribute__((always_inline)) clr_row row_at(const clr_call *c, int64_t i) {
    clr_row r;
    if (!c->poses) {
        r = (clr_row){c->shape_a[i], c->shape_b[i], c->position_a + 3 * i, c->rotation_a + 4 * i, c->position_b + 3 * i, c->rotation_b + 4 * i};
    } else {
        int64_t world = i / c->templates, pair = i % c->templates;
        int32_t a = c->template_a[pair], b = c->template_b[pair];
        const double *pa = c->poses + 7 * (world * c->bodies + a), *pb = c->poses + 7 * (world * c->bodies + b);
        r = (clr_row){c->body_shape[a], c->body_shape[b], pa, pa + 3, pb, pb + 3};
    }
    return r;
}
