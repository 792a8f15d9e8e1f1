// The only writer of the answer columns. A template, float64.

enum { CLR_SEPARATED, CLR_TOUCHING, CLR_PENETRATING }; // as batch.Status

// round_up is the least float32 above g, which also covers the rounding of g itself; it
// does not branch, as half of all gaps are rounded up.
ALWAYS float round_up(double g) {
    float f = (float)g;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    u += (uint32_t)((double)f <= g) & (uint32_t)(g > 0);
    memcpy(&f, &u, sizeof f);
    return f;
}

// store_answer stores lane l of the answers v in row i of the columns: distance, its
// lower and upper bound, then normal and witnesses in the world. The gap holds both
// bounds around the distance as it is stored.
ALWAYS void store_answer(const clr_call *c, int64_t i, double (*v)[W], int l, int status, int steps, int solver) {
    double stored = v[0][l];
    if (c->single) stored = (double)(float)stored;
    if (c->distance32) c->distance32[i] = (float)stored;
    if (c->distance64) c->distance64[i] = stored;
    if (c->gap) c->gap[i] = round_up(v[2][l] - stored > stored - v[1][l] ? v[2][l] - stored : stored - v[1][l]);
    if (c->normal32) for (int j = 0; j < 3; j++) c->normal32[3 * i + j] = (float)v[3 + j][l];
    if (c->normal64) for (int j = 0; j < 3; j++) c->normal64[3 * i + j] = v[3 + j][l];
    if (c->witness_a32) for (int j = 0; j < 3; j++) c->witness_a32[3 * i + j] = (float)v[6 + j][l];
    if (c->witness_a64) for (int j = 0; j < 3; j++) c->witness_a64[3 * i + j] = v[6 + j][l];
    if (c->witness_b32) for (int j = 0; j < 3; j++) c->witness_b32[3 * i + j] = (float)v[9 + j][l];
    if (c->witness_b64) for (int j = 0; j < 3; j++) c->witness_b64[3 * i + j] = v[9 + j][l];
    if (c->status) c->status[i] = (uint8_t)status;
    if (c->iterations) c->iterations[i] = (uint16_t)steps;
    if (c->method) c->method[i] = (uint8_t)solver;
}
