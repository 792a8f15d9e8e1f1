// Support vertices of convex hulls. A hull of more than a few vertices has a cell map (geom/cells): the directions
// are divided into cells of a cube map, and each cell lists the vertices that can have the greatest support value
// for a direction in it. The lists are proved to be complete, so a support point does not depend on the map.
// Included by support.glsl.

#ifndef CLEARANCE_SUPPORT_HULL_GLSL
#define CLEARANCE_SUPPORT_HULL_GLSL

// cellRow returns the row or column in a cell map of n × n for a coordinate in [-1, 1].
int cellRow(float u, int n) { return clamp(int((u + 1.0) * (0.5 * float(n))), 0, n - 1); }

// cellIndex returns the cell of the direction e in a cube map with faces of n × n, as geom/cells numbers them. A zero
// direction has some cell.
uint cellIndex(vec3 e, int n) {
    vec3 a = abs(e);
    int face;
    vec3 q; // the largest component first, the others in cyclic order
    // clang-format off
    if (a.x >= a.y && a.x >= a.z) { face = 0; q = e; }
    else if (a.y >= a.z) { face = 2; q = e.yzx; }
    else { face = 4; q = e.zxy; }
    // clang-format on
    if (q.x < 0.0) face++;
    float m = max(abs(q.x), 1e-37);
    return uint((face * n + cellRow(q.y / m, n)) * n + cellRow(q.z / m, n));
}

// toCellFrame returns Lᵀd for the factor L of a hull with cells, rounded to floats at the end.
vec3 toCellFrame(uint record, real3 d) {
    real xx = paramOf(record, 0u), yx = paramOf(record, 1u), yy = paramOf(record, 2u);
    real zx = paramOf(record, 3u), zy = paramOf(record, 4u), zz = paramOf(record, 5u);
    precise real3 e = real3(xx * d.x + yx * d.y + zx * d.z, yy * d.y + zy * d.z, zz * d.z);
    return vec3(e);
}

// compareVertex makes vertex i the best if its support value is greater.
void compareVertex(uint i, real3 d, inout real largest, inout uint best) {
    real value = dotProduct(vertexAt(i), d);
    if (value > largest) {
        largest = value;
        best = i;
    }
}

// supportVertex returns the vertex with the greatest <d, x> among all vertices, or among those that the cell of the
// direction lists. It takes four per pass; the last pass may evaluate the last vertex several times.
uint supportVertex(Shape s, real3 d) {
    uint from = s.first, last = s.first + s.count - 1u;
    bool listed = uses(KIND_COUNT) && s.cells != 0u;
    if (listed) {
        uint start = s.cells + 2u + cellIndex(toCellFrame(s.record, d), int(cellWord(s.cells)));
        from = cellWord(start);
        last = cellWord(start + 1u) - 1u;
    }
    uint best = listed ? cellWord(from) : from;
    real largest = dotProduct(vertexAt(best), d);
    for (uint i = from + 1u; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        if (listed) k = uvec4(cellWord(k.x), cellWord(k.y), cellWord(k.z), cellWord(k.w));
        compareVertex(k.x, d, largest, best);
        compareVertex(k.y, d, largest, best);
        compareVertex(k.z, d, largest, best);
        compareVertex(k.w, d, largest, best);
    }
    return best;
}

#endif
