// The polytope that EPA expands: a closed surface of triangles with vertices on D, its faces
// in columns so that one sweep over them finds those that a new vertex sees and the
// nearest of the others. Half-edge 4·f + k is edge k of face f. Float64; see epa.h.

#define EPA_VERTICES 192
#define EPA_FACES 384 // 2·vertices − 4, filled up to whole vectors
#define EPA_WORDS (EPA_FACES / 64)

typedef struct {
    double nx[EPA_FACES], ny[EPA_FACES], nz[EPA_FACES]; // outward normals, unit
    // Least and greatest of the heights of the three vertices along the normal, infinite
    // where there is no face. The least bounds the distance of the triangle from the
    // origin, whatever rounding did to the normal of a thin one.
    double key[EPA_FACES], top[EPA_FACES];
    double w[EPA_VERTICES][4]; // vertices a − b of D, and
    double a[EPA_VERTICES][4]; // the points of A that make them
    uint16_t corner[EPA_FACES][4]; // three, and the first again
    uint16_t twin[EPA_FACES][4];   // half-edge on the other side of each edge
    uint16_t fan[EPA_VERTICES];    // new face that starts at a vertex of the horizon
    uint16_t spare[EPA_FACES];     // faces that are free
    int spares, faces, vertices;   // free ones; places in use, free ones included; vertices
    int nearest;                   // face with the least key
    double round;                  // rounding error of a height
} polytope;

// difference is a·b − c·d, accurate where both cancel (Kahan) if the machine fuses.
ALWAYS double difference(double a, double b, double c, double d) {
#if W > 2 || defined(__FP_FAST_FMA)
    double p = c * d, e = __builtin_fma(-c, d, p);
    return __builtin_fma(a, b, -p) + e;
#else
    return a * b - c * d;
#endif
}

// put_face makes f the triangle i, j, k, counter-clockwise seen from outside.
ALWAYS double put_face(polytope *p, int f, int i, int j, int k) {
    const double *a = p->w[i], *b = p->w[j], *c = p->w[k];
    double u[3] = {a[0] - c[0], a[1] - c[1], a[2] - c[2]}, v[3] = {b[0] - c[0], b[1] - c[1], b[2] - c[2]};
    double n[3] = {difference(u[1], v[2], u[2], v[1]), difference(u[2], v[0], u[0], v[2]), difference(u[0], v[1], u[1], v[0])};
    double area2 = dot3(n, n), inv = 1 / root(area2 > 1e-200 ? area2 : 1e-200); // not unit if that acts
    for (int d = 0; d < 3; d++) n[d] *= inv;
    double ha = dot3(n, a), hb = dot3(n, b), hc = dot3(n, c);
    double low = ha < hb ? ha : hb, high = ha < hb ? hb : ha;
    low = low < hc ? low : hc;
    high = high < hc ? hc : high;
    p->nx[f] = n[0], p->ny[f] = n[1], p->nz[f] = n[2];
    p->key[f] = low;
    p->top[f] = high;
    p->corner[f][0] = p->corner[f][3] = (uint16_t)i;
    p->corner[f][1] = (uint16_t)j;
    p->corner[f][2] = (uint16_t)k;
    return low;
}

ALWAYS void put_vertex(polytope *p, const double *w, const double *a) {
    for (int j = 0; j < 3; j++) p->w[p->vertices][j] = w[j], p->a[p->vertices][j] = a[j];
    p->vertices++;
}

// clear_places empties face places from on, up to a whole vector.
ALWAYS void clear_places(polytope *p, int from) {
    for (int f = from; f % W != 0; f++) p->key[f] = p->top[f] = INFINITY, p->nx[f] = p->ny[f] = p->nz[f] = 0;
}

// tetrahedron starts the surface with its first four vertices. It returns false where
// they are flat to rounding.
static int tetrahedron(polytope *p) {
    const double *a = p->w[0];
    double e[3][3], n[3];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) e[k][j] = p->w[k + 1][j] - a[j];
    for (int j = 0; j < 3; j++) n[j] = difference(e[0][(j + 1) % 3], e[1][(j + 2) % 3], e[0][(j + 2) % 3], e[1][(j + 1) % 3]);
    double volume = dot3(n, e[2]);
    if (!(fabs(volume) > 4 * p->round * root(dot3(n, n)))) return 0;
    int b = volume > 0 ? 2 : 1, c = 3 - b; // the fourth lies below abc
    static const uint16_t twin[4][4] = {{6, 10, 14, 0}, {13, 8, 0, 0}, {5, 12, 1, 0}, {9, 4, 2, 0}};
    memcpy(p->twin, twin, sizeof twin);
    put_face(p, 0, 0, b, c);
    put_face(p, 1, 0, 3, b);
    put_face(p, 2, b, 3, c);
    put_face(p, 3, c, 3, 0);
    p->faces = 4;
    p->spares = 0;
    clear_places(p, 4);
    p->nearest = 0;
    for (int f = 1; f < 4; f++)
        if (p->key[f] < p->key[p->nearest]) p->nearest = f;
    return 1;
}

// find_nearest looks for the face with the least key.
static void find_nearest(polytope *p) {
    int best = 0;
    for (int f = 1; f < p->faces; f++)
        if (p->key[f] < p->key[best]) best = f;
    p->nearest = best;
}

// expand replaces the faces that the newest vertex sees by a fan around it. What rounding
// makes of their border does not matter as long as the surface stays closed: every
// vertex of the border must begin one of its edges only. It returns false, with the
// polytope spoilt, where that fails or the memory is full.
static int expand(polytope *p) {
    const int apex = p->vertices - 1;
    const double *w = p->w[apex];
    const VF wx = SET1(w[0]), wy = SET1(w[1]), wz = SET1(w[2]), round = SET1(p->round), none = SET1(INFINITY), step = SET1(W);
    uint64_t seen[EPA_WORDS];
    double lane[W] __attribute__((aligned(64)));
    for (int l = 0; l < W; l++) lane[l] = l;
    VF least = none, which = SET1(0), index = LOADU(lane);
    for (int f = 0; f < p->faces; f += 64) {
        uint64_t word = 0;
        for (int g = f; g < f + 64 && g < p->faces; g += W) {
            VF h = FMA(LOADU(p->nz + g), wz, FMA(LOADU(p->ny + g), wy, LOADU(p->nx + g) * wx));
            VM visible = LT(LOADU(p->top + g) + round, h);
            VF key = SEL(visible, none, LOADU(p->key + g));
            STOREU(p->key + g, key);
            MSTORE(p->top + g, visible, none);
            VM better = LT(key, least);
            least = SEL(better, key, least);
            which = SEL(better, index, which);
            index = index + step;
            word |= (uint64_t)MBITS(visible) << (g - f);
        }
        seen[f / 64] = word;
    }

    // The horizon: edges of visible faces with a face beyond them that is not.
    uint16_t beyond[EPA_FACES + 3], from[EPA_FACES + 3], to[EPA_FACES + 3];
    int edges = 0;
    for (int k = 0; 64 * k < p->faces; k++)
        for (uint64_t m = seen[k]; m; m &= m - 1) {
            int f = 64 * k + __builtin_ctzll(m);
            p->spare[p->spares++] = (uint16_t)f;
            if (edges > EPA_FACES) return 0;
            for (int e = 0; e < 3; e++) {
                int t = p->twin[f][e], o = t >> 2;
                beyond[edges] = (uint16_t)t;
                from[edges] = p->corner[f][e];
                to[edges] = p->corner[f][e + 1];
                edges += !(seen[o / 64] >> (o & 63) & 1);
            }
        }
    if (p->faces + edges - p->spares > EPA_FACES) return 0;

    const VF low = SET1(-HMAX(-least));
    double found[W] __attribute__((aligned(64)));
    STOREU(found, which);
    unsigned equal = MBITS(LE(least, low));
    int nearest = equal ? (int)found[__builtin_ctz(equal)] : 0;
    double first[W] __attribute__((aligned(64)));
    STOREU(first, low);
    double key = first[0];

    uint64_t starts[(EPA_VERTICES + 63) / 64] = {0};
    uint16_t put[EPA_FACES];
    int twice = 0;
    for (int i = 0; i < edges; i++) {
        int a = from[i], f = p->spares > 0 ? p->spare[--p->spares] : p->faces++;
        twice |= (int)(starts[a / 64] >> (a & 63) & 1);
        starts[a / 64] |= (uint64_t)1 << (a & 63);
        put[i] = p->fan[a] = (uint16_t)f;
        double k = put_face(p, f, a, to[i], apex);
        if (k < key) key = k, nearest = f;
    }
    if (twice) return 0;
    clear_places(p, p->faces);
    for (int i = 0; i < edges; i++) {
        int f = put[i], next = p->fan[to[i]], t = beyond[i];
        p->twin[f][0] = (uint16_t)t;
        p->twin[t >> 2][t & 3] = (uint16_t)(4 * f);
        p->twin[f][1] = (uint16_t)(4 * next + 2);
        p->twin[next][2] = (uint16_t)(4 * f + 1);
    }
    p->nearest = nearest;
    return edges > 0;
}
