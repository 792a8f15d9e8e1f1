// The polytope that EPA expands: a closed surface of triangles with vertices on D = A - B, in scratch memory of a fixed
// size. One text for both precisions: single precision searches (epa_float32.comp), double precision proves and
// continues (depth.comp).
//
// Invariant: half-edge 4·f + k is edge k of face f, and every half-edge has a twin, so the surface is closed by
// construction. Each face stores its unit normal and its offset, the least support value of its corners along the
// normal; nearestFace has the least offset of all. A step adds a vertex w, removes the faces that w sees, and fills
// their horizon with a fan of new faces around w.
//
// The polytope is given up, and expand returns false, if the horizon is no simple closed curve (a matter of rounding)
// or the memory is full.
//
// The including file defines, before the include,
//     real supportRounding  // bound of the rounding of a support value
// and declares the scratch memory, one share for each of INVOCATIONS invocations. The shares of BLOCK neighbouring
// invocations are interleaved, so that these read neighbouring words.
//     real4 quads[INVOCATIONS · QUADS]   planes of faces, vertices
//     uvec4 faces[INVOCATIONS · FACES]   corners of faces, and the twins of their edges
//     uint links[INVOCATIONS · LINKS]    of vertices; free slots; the horizon
//
// A sweep visits every face, so a loop has as many passes as the largest polytope of the invocations that a device
// runs together, and no more in total, as polytopes grow by one vertex per step.

#ifndef CLEARANCE_POLYTOPE_GLSL
#define CLEARANCE_POLYTOPE_GLSL

#include "real.glsl"

layout(constant_id = 3) const uint INVOCATIONS = 64u; // that have scratch memory
layout(constant_id = 4) const uint VERTICES = 128u;   // of a polytope, 1024 at most
const uint FACES = 2u * VERTICES;                     // a closed surface has 2·vertices - 4

// Source is the origin of a vertex: in double precision its point of A, in single precision the corners of both cores,
// see epa_float32.comp.
#ifdef DOUBLE
#include "exact.glsl"
#define Source dvec3
const double FAR = 1e300lf;              // offset of a slot without a face, larger than any length
const double MIN_DOUBLE_AREA = 1e-300lf; // a face with a smaller cross product has no unit normal
const uint VERTEX_QUADS = 2u, VERTEX_LINKS = 2u;
const uint ROW_QUADS = 23u, ROW_LINKS = 10u; // of the row, see depth.glsl
#else
#define Source uint
const float FAR = 1e30;
const float MIN_DOUBLE_AREA = 1e-15; // far above denormal numbers
const uint VERTEX_QUADS = 1u, VERTEX_LINKS = 3u;
const uint ROW_QUADS = 0u, ROW_LINKS = 0u;
#endif
const uint QUADS = FACES + VERTEX_QUADS * VERTICES + ROW_QUADS;
const uint LINKS = FACES + VERTEX_LINKS * VERTICES + ROW_LINKS;
const uint BLOCK = 32u;

uint invocation;
uint faceCount, vertexCount; // slots in use, free ones included
uint freeSlots;              // free slots of faces
uint nearestFace;            // face with the least offset
real leastOffset;            // its offset

// The plane of face f: its outward unit normal, and the least and the greatest support value of its corners along it,
// the greatest increased by supportRounding. The least bounds the distance of the triangle from the origin, whatever
// rounding error the normal of a thin triangle has. Single precision stores only the least.
uint wordOf(uint count, uint k) { return (invocation / BLOCK * count + k) * BLOCK + invocation % BLOCK; }
uint planeAt(uint f) { return wordOf(QUADS, f); }
uint vectorOfVertex(uint v, uint k) { return wordOf(QUADS, FACES + VERTEX_QUADS * v + k); }

real3 normalOf(uint f) { return quads[planeAt(f)].xyz; }
real offsetOf(uint f) { return quads[planeAt(f)].w; }
void setOffset(uint f, real offset) { quads[planeAt(f)].w = offset; }

// vertexOf returns vertex v of D.
real3 vertexOf(uint v) { return quads[vectorOfVertex(v, 0u)].xyz; }

// The links of face f: its three corners, 10 bits each, and the half-edges that are the twins of its edges.
uint faceAt(uint f) { return wordOf(FACES, f); }
uint cornersOf(uint f) { return faces[faceAt(f)].x; }
uint cornerOf(uint corners, uint k) { return corners >> (10u * k) & 1023u; }
uint packCorners(uint a, uint b, uint c) { return a | b << 10 | c << 20; }
void setTwin(uint f, uint k, uint twin) { faces[faceAt(f)][1u + k] = twin; }

uint fanAt(uint v) { return wordOf(LINKS, v); }                            // apex << 16 | new face that starts at v
uint freeSlotAt(uint i) { return wordOf(LINKS, VERTICES + i); }            // free slots of faces
uint horizonEdgeAt(uint i) { return wordOf(LINKS, VERTICES + FACES + i); } // see addHorizonEdge

#ifdef DOUBLE
uint maxOffsetAt(uint f) { return vectorOfVertex(f >> 1, f & 1u); } // in the fourth component
double maxOffsetOf(uint f) { return quads[maxOffsetAt(f)].w; }
void setMaxOffset(uint f, double maxOffset) { quads[maxOffsetAt(f)].w = maxOffset; }
dvec3 sourceOf(uint v) { return quads[vectorOfVertex(v, 1u)].xyz; }
void setVertex(uint v, dvec3 w, dvec3 a) {
    quads[vectorOfVertex(v, 0u)].xyz = w;
    quads[vectorOfVertex(v, 1u)].xyz = a;
    links[fanAt(v)] = 0xffffffffu;
}
#else
float maxOffsetOf(uint f) {
    precise float maxOffset = offsetOf(f) + supportRounding;
    return maxOffset;
}
void setMaxOffset(uint f, float maxOffset) {}
uint sourceAt(uint v) { return wordOf(LINKS, FACES + 2u * VERTICES + v); }
uint sourceOf(uint v) { return links[sourceAt(v)]; }
void setVertex(uint v, vec3 w, uint a) {
    quads[vectorOfVertex(v, 0u)] = vec4(w, 0);
    links[sourceAt(v)] = a;
    links[fanAt(v)] = 0xffffffffu;
}
#endif

// faceNormal returns u × v, in double precision accurate to its own last digits, since bounds rest on it.
real3 faceNormal(real3 u, real3 v) {
#ifdef DOUBLE
    return exactCross(u, v);
#else
    precise vec3 n = cross(u, v);
    return n;
#endif
}

// formPlane sets the plane of face f with the corners a, b, c, counter-clockwise seen from outside.
void formPlane(uint f, real3 a, real3 b, real3 c) {
    precise real3 u = a - c;
    precise real3 v = b - c;
    real3 n = faceNormal(u, v);
    real l = norm(n);
    precise real3 unit_ = n / max(l, MIN_DOUBLE_AREA); // shorter than 1 if the area is 0
    real ha = dotProduct(unit_, a), hb = dotProduct(unit_, b), hc = dotProduct(unit_, c);
    real offset = min(min(ha, hb), hc);
    precise real maxOffset = max(max(ha, hb), hc) + supportRounding;
    quads[planeAt(f)] = real4(unit_, offset);
    setMaxOffset(f, maxOffset);
    if (offset < leastOffset) {
        leastOffset = offset;
        nearestFace = f;
    }
}

void addFace(uint f, uvec3 corner, uvec3 twin) {
    faces[faceAt(f)] = uvec4(packCorners(corner.x, corner.y, corner.z), twin);
    formPlane(f, vertexOf(corner.x), vertexOf(corner.y), vertexOf(corner.z));
}

// startTetrahedron starts the surface from vertices 0 to 3. It returns false if they are coplanar to rounding, unless
// that is allowed.
bool startTetrahedron(bool allowFlat) {
    precise real3 e = vertexOf(1u) - vertexOf(0u);
    precise real3 f = vertexOf(2u) - vertexOf(0u);
    precise real3 g = vertexOf(3u) - vertexOf(0u);
    real3 n = faceNormal(e, f);
    real volume = dotProduct(n, g);
    if (!allowFlat && !(abs(volume) > real(4) * supportRounding * norm(n))) return false;
    if (volume < real(0)) { // vertex 3 is to be above the triangle 0, 1, 2
        real3 w = vertexOf(1u);
        Source a = sourceOf(1u);
        setVertex(1u, vertexOf(2u), sourceOf(2u));
        setVertex(2u, w, a);
    }
    vertexCount = 4u;
    faceCount = 4u;
    freeSlots = 0u;
    nearestFace = 0u;
    leastOffset = FAR;
    // Of face f, corners f of these, and twins f. In a loop, since the text of a plane is long.
    const uvec4 FIRST = uvec4(0, 0, 2, 1), SECOND = uvec4(2, 3, 3, 3), THIRD = uvec4(1, 2, 1, 0);
    const uvec4 TWIN0 = uvec4(6, 13, 5, 9), TWIN1 = uvec4(10, 8, 12, 4), TWIN2 = uvec4(14, 0, 1, 2);
    for (uint k = 0u; k < 4u; k++)
        addFace(k, uvec3(FIRST[k], SECOND[k], THIRD[k]), uvec3(TWIN0[k], TWIN1[k], TWIN2[k]));
    return true;
}

// classifyFace frees the slot of face f if w sees it; otherwise f may be the nearest face.
void classifyFace(uint f, real3 w, inout uint freeCount) {
    if (f >= faceCount) return;
    real4 plane = quads[planeAt(f)];
    real offset = plane.w;
#ifdef DOUBLE
    real maxOffset = maxOffsetOf(f);
#else
    precise real maxOffset = offset + supportRounding;
#endif
    if (dotProduct(plane.xyz, w) > maxOffset) {
        links[freeSlotAt(freeCount++)] = f;
        setOffset(f, FAR);
    } else if (offset < leastOffset) {
        leastOffset = offset;
        nearestFace = f;
    }
}

// findVisibleFaces removes the faces that w sees and finds the nearest of the others. It returns the number of free
// slots, or 0 if the device ended the loop early.
uint findVisibleFaces(real3 w) {
    uint freeCount = freeSlots, f = 0u;
    leastOffset = FAR;
    nearestFace = 0u;
    for (; f < faceCount; f += 4u) {
        classifyFace(f, w, freeCount);
        classifyFace(f + 1u, w, freeCount);
        classifyFace(f + 2u, w, freeCount);
        classifyFace(f + 3u, w, freeCount);
    }
    return f < faceCount ? 0u : freeCount;
}

// slotFor returns the slot of new face i: first those that became free, then new ones.
uint slotFor(uint i, uint freeCount) {
    return i < freeCount ? links[freeSlotAt(freeCount - 1u - i)] : faceCount + (i - freeCount);
}

// addHorizonEdge adds edge k of a removed face to the horizon if the face beyond it remains. It returns false if
// another edge starts at the same vertex, or if there are too many.
bool addHorizonEdge(uvec4 face, uint k, uint apex, uint freeCount, inout uint edges) {
    uint twin = face[1u + k], corners = face.x;
    if (!(offsetOf(twin >> 2) < FAR)) return true;
    uint a = cornerOf(corners, k), b = cornerOf(corners, k == 2u ? 0u : k + 1u);
    if (edges == VERTICES || links[fanAt(a)] >> 16 == apex) return false;
    links[fanAt(a)] = apex << 16 | slotFor(edges, freeCount);
    links[horizonEdgeAt(edges)] = twin | a << 12 | b << 22;
    edges++;
    return true;
}

// expand replaces the faces that vertex w, the newest, sees by a fan around it. Rounding may change which faces these
// are; it is sufficient that the surface remains closed, that is, that every vertex of the horizon begins exactly one
// of its edges. It returns false, with the polytope no longer valid, where that fails or the memory is full.
bool expand(real3 w) {
    uint apex = vertexCount - 1u, freeCount = findVisibleFaces(w), edges = 0u, i = freeSlots;
    bool closed = true;
    for (; i < freeCount && closed; i++) {
        uvec4 face = faces[faceAt(links[freeSlotAt(i)])];
        closed = addHorizonEdge(face, 0u, apex, freeCount, edges) && addHorizonEdge(face, 1u, apex, freeCount, edges) &&
                 addHorizonEdge(face, 2u, apex, freeCount, edges);
    }
    if (!closed || i < freeCount || edges < 3u || (edges > freeCount && faceCount + (edges - freeCount) > FACES))
        return false;
    for (i = 0u; i < edges; i++) {
        uint edge = links[horizonEdgeAt(i)], twin = edge & 4095u, a = edge >> 12 & 1023u, b = edge >> 22;
        uint f = slotFor(i, freeCount), fan = links[fanAt(b)], next = fan & 0xffffu;
        if (fan >> 16 != apex) return false;
        faces[faceAt(f)].xyz = uvec3(packCorners(a, b, apex), twin, 4u * next + 2u);
        setTwin(twin >> 2, twin & 3u, 4u * f);
        setTwin(next, 2u, 4u * f + 1u);
        formPlane(f, vertexOf(a), vertexOf(b), w);
    }
    if (i < edges) return false;
    for (uint k = freeSlots; k + edges < freeCount; k++) setMaxOffset(links[freeSlotAt(k)], FAR);
    faceCount += edges > freeCount ? edges - freeCount : 0u;
    freeSlots = freeCount > edges ? freeCount - edges : 0u;
    return true;
}

// raiseOffset replaces the offset of face f by a greater bound and finds the nearest face anew.
void raiseOffset(uint f, real offset) {
    setOffset(f, offset);
    leastOffset = FAR;
    nearestFace = f;
    uint g = 0u;
    for (; g < faceCount; g++) {
        real k = offsetOf(g);
        if (k < leastOffset) {
            leastOffset = k;
            nearestFace = g;
        }
    }
    if (g < faceCount) leastOffset = -FAR; // the device ended the loop early: no bound is known
}

#endif
