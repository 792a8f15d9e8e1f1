// The polytope that EPA expands: a closed surface of triangles with vertices on D = A - B,
// in scratch memory of a fixed size. Half-edge 4·f + k is edge k of face f. One text for
// both precisions: single searches (sketch.comp), double proves and goes on (depth.comp).
//
// The including file defines
//     real roundoff  // of a height
// before the include, and declares the scratch memory, one share for each of LANES
// invocations. The shares of BLOCK neighbours are interleaved, so that these read neighbouring
// words; what belongs together is read at once.
//     real4 quads[LANES · QUADS]       planes of faces, vertices
//     uvec4 faces[LANES · FACES]       corners of faces, and what is beyond their edges
//     uint links[LANES · LINKS]        of vertices, free places, the horizon
//
// A sweep looks at every face, so a loop has as many passes as the largest polytope of
// the invocations that a device runs together, and no more in sum: polytopes grow by
// a vertex a step.

#ifndef CLEARANCE_POLYTOPE_GLSL
#define CLEARANCE_POLYTOPE_GLSL

#include "real.glsl"

layout(constant_id = 3) const uint LANES = 64u;     // invocations that have scratch memory
layout(constant_id = 4) const uint VERTICES = 128u; // of a polytope, 1024 at most
const uint FACES = 2u * VERTICES;                   // a closed surface has 2·vertices - 4

// What is known of where a vertex comes from: in double precision the point of A that makes it,
// in single precision the corners of both cores, see sketch.comp.
#ifdef DOUBLE
#include "exact.glsl"
#define Made dvec3
const double FAR = 1e300lf; // key of a place without a face; no length comes near it
const double THIN = 1e-300lf; // normals of faces with less area are no unit vectors
const uint VERTEX_QUADS = 2u, VERTEX_LINKS = 2u;
#else
#define Made uint
const float FAR = 1e30;
const float THIN = 1e-15; // far from where floats become denormal
const uint VERTEX_QUADS = 1u, VERTEX_LINKS = 3u;
#endif
const uint QUADS = FACES + VERTEX_QUADS * VERTICES;
const uint LINKS = FACES + VERTEX_LINKS * VERTICES;
const uint BLOCK = 32u;

uint lane;
uint faceCount, vertexCount; // places in use, free ones included
uint spares;          // free places
uint nearest;         // face with the least key
real least;           // its key

// Numbers of face f: its outward unit normal, and the least and the greatest of the heights
// of its vertices along it, the greatest with the rounding of a height added. The least
// bounds the distance of the triangle from the origin, whatever rounding did to the normal
// of a thin one. In single precision the least has to do for both.
uint placeOf(uint count, uint k) { return (lane / BLOCK * count + k) * BLOCK + lane % BLOCK; }
uint planeOf(uint f) { return placeOf(QUADS, f); }
uint vertexQuad(uint v, uint k) { return placeOf(QUADS, FACES + VERTEX_QUADS * v + k); }

real3 normalOf(uint f) { return quads[planeOf(f)].xyz; }
real keyOf(uint f) { return quads[planeOf(f)].w; }
void putKey(uint f, real key) { quads[planeOf(f)].w = key; }

// vertexOf is vertex v of D.
real3 vertexOf(uint v) { return quads[vertexQuad(v, 0u)].xyz; }

// Links of face f: its three corners, 10 bits each, and the half-edges beyond its edges.
uint faceOf(uint f) { return placeOf(FACES, f); }
uint cornersOf(uint f) { return faces[faceOf(f)].x; }
uint cornerOf(uint corners, uint k) { return corners >> (10u * k) & 1023u; }
uint packed(uint a, uint b, uint c) { return a | b << 10 | c << 20; }
void join(uint f, uint k, uint twin) { faces[faceOf(f)][1u + k] = twin; }

uint fanOf(uint v) { return placeOf(LINKS, v); }                  // apex << 16 | new face that starts here
uint spareOf(uint i) { return placeOf(LINKS, VERTICES + i); }     // places of faces
uint edgeOf(uint i) { return placeOf(LINKS, VERTICES + FACES + i); } // the horizon, see edge below

#ifdef DOUBLE
uint topAt(uint f) { return vertexQuad(f >> 1, f & 1u); } // the fourth number there
double topOf(uint f) { return quads[topAt(f)].w; }
void putTop(uint f, double top) { quads[topAt(f)].w = top; }
dvec3 madeOf(uint v) { return quads[vertexQuad(v, 1u)].xyz; }
void putVertex(uint v, dvec3 w, dvec3 a) {
    quads[vertexQuad(v, 0u)].xyz = w;
    quads[vertexQuad(v, 1u)].xyz = a;
    links[fanOf(v)] = 0xffffffffu;
}
#else
float topOf(uint f) {
    precise float top = keyOf(f) + roundoff;
    return top;
}
void putTop(uint f, float top) {}
uint madeLink(uint v) { return placeOf(LINKS, FACES + 2u * VERTICES + v); }
uint madeOf(uint v) { return links[madeLink(v)]; }
void putVertex(uint v, vec3 w, uint a) {
    quads[vertexQuad(v, 0u)] = vec4(w, 0);
    links[madeLink(v)] = a;
    links[fanOf(v)] = 0xffffffffu;
}
#endif

// normalTo is u × v: in double precision right to its own last digits, as bounds rest on it.
real3 normalTo(real3 u, real3 v) {
#ifdef DOUBLE
    return exactCross(u, v);
#else
    precise vec3 n = cross(u, v);
    return n;
#endif
}

// measure forms the plane of face f with the corners a, b, c, counter-clockwise seen from
// outside.
void measure(uint f, real3 a, real3 b, real3 c) {
    precise real3 u = a - c;
    precise real3 v = b - c;
    real3 n = normalTo(u, v);
    real l = norm(n);
    precise real3 e = n / max(l, THIN); // no unit vector if there is no area
    real ha = product(e, a), hb = product(e, b), hc = product(e, c);
    real key = min(min(ha, hb), hc);
    precise real top = max(max(ha, hb), hc) + roundoff;
    quads[planeOf(f)] = real4(e, key);
    putTop(f, top);
    if (key < least) {
        least = key;
        nearest = f;
    }
}

void begin(uint f, uvec3 corner, uvec3 twin) {
    faces[faceOf(f)] = uvec4(packed(corner.x, corner.y, corner.z), twin);
    measure(f, vertexOf(corner.x), vertexOf(corner.y), vertexOf(corner.z));
}

// tetrahedron starts the surface from vertices 0 to 3. It returns false if they are flat
// to rounding, unless that is allowed.
bool tetrahedron(bool thin) {
    precise real3 e = vertexOf(1u) - vertexOf(0u);
    precise real3 f = vertexOf(2u) - vertexOf(0u);
    precise real3 g = vertexOf(3u) - vertexOf(0u);
    real3 n = normalTo(e, f);
    real volume = product(n, g);
    if (!thin && !(abs(volume) > real(4) * roundoff * norm(n))) return false;
    if (volume < real(0)) { // the fourth is to lie above the triangle 0, 1, 2
        real3 w = vertexOf(1u);
        Made a = madeOf(1u);
        putVertex(1u, vertexOf(2u), madeOf(2u));
        putVertex(2u, w, a);
    }
    vertexCount = 4u;
    faceCount = 4u;
    spares = 0u;
    nearest = 0u;
    least = FAR;
    begin(0u, uvec3(0, 2, 1), uvec3(6, 10, 14));
    begin(1u, uvec3(0, 3, 2), uvec3(13, 8, 0));
    begin(2u, uvec3(2, 3, 1), uvec3(5, 12, 1));
    begin(3u, uvec3(1, 3, 0), uvec3(9, 4, 2));
    return true;
}

// look at face f: if w sees it, its place is to be free, else it may be the nearest.
void look(uint f, real3 w, inout uint free) {
    if (f >= faceCount) return;
    real4 plane = quads[planeOf(f)];
    real key = plane.w;
#ifdef DOUBLE
    real top = topOf(f);
#else
    precise real top = key + roundoff;
#endif
    if (product(plane.xyz, w) > top) {
        links[spareOf(free++)] = f;
        putKey(f, FAR);
    } else if (key < least) {
        least = key;
        nearest = f;
    }
}

// spot finds the faces that w sees and the nearest of the others. It returns the number of
// places that are free then, or 0 if a device ended the loop early.
uint spot(real3 w) {
    uint free = spares, f = 0u;
    least = FAR;
    nearest = 0u;
    for (; f < faceCount; f += 4u) {
        look(f, w, free);
        look(f + 1u, w, free);
        look(f + 2u, w, free);
        look(f + 3u, w, free);
    }
    return f < faceCount ? 0u : free;
}

// place is where face i of those that take the horizon goes: to places that became free,
// and then to new ones.
uint place(uint i, uint free) { return i < free ? links[spareOf(free - 1u - i)] : faceCount + (i - free); }

// border adds edge k of a face to the horizon if the face beyond it stays. It returns false
// if another edge starts at the same vertex, or there are too many.
bool border(uvec4 face, uint k, uint apex, uint free, inout uint edges) {
    uint twin = face[1u + k], corners = face.x;
    if (!(keyOf(twin >> 2) < FAR)) return true;
    uint a = cornerOf(corners, k), b = cornerOf(corners, k == 2u ? 0u : k + 1u);
    if (edges == VERTICES || links[fanOf(a)] >> 16 == apex) return false;
    links[fanOf(a)] = apex << 16 | place(edges, free);
    links[edgeOf(edges)] = twin | a << 12 | b << 22;
    edges++;
    return true;
}

// expand replaces the faces that vertex w, the newest, sees by a fan around it. What rounding
// makes of their border does not matter as long as the surface stays closed: every vertex
// of the border must begin one of its edges only. It returns false, with the polytope
// spoilt, where that fails or the memory is full.
bool expand(real3 w) {
    uint apex = vertexCount - 1u, free = spot(w), edges = 0u, i = spares;
    bool whole = true;
    for (; i < free && whole; i++) {
        uvec4 face = faces[faceOf(links[spareOf(i)])];
        whole = border(face, 0u, apex, free, edges) && border(face, 1u, apex, free, edges) && border(face, 2u, apex, free, edges);
    }
    if (!whole || i < free || edges < 3u || (edges > free && faceCount + (edges - free) > FACES)) return false;
    for (i = 0u; i < edges; i++) {
        uint edge = links[edgeOf(i)], twin = edge & 4095u, a = edge >> 12 & 1023u, b = edge >> 22;
        uint f = place(i, free), fan = links[fanOf(b)], next = fan & 0xffffu;
        if (fan >> 16 != apex) return false;
        faces[faceOf(f)].xyz = uvec3(packed(a, b, apex), twin, 4u * next + 2u);
        join(twin >> 2, twin & 3u, 4u * f);
        join(next, 2u, 4u * f + 1u);
        measure(f, vertexOf(a), vertexOf(b), w);
    }
    if (i < edges) return false;
    for (uint k = spares; k + edges < free; k++) putTop(links[spareOf(k)], FAR);
    faceCount += edges > free ? edges - free : 0u;
    spares = free > edges ? free - edges : 0u;
    return true;
}

// renew gives face f another key and looks for the nearest anew.
void renew(uint f, real key) {
    putKey(f, key);
    least = FAR;
    nearest = f;
    uint g = 0u;
    for (; g < faceCount; g++) {
        real k = keyOf(g);
        if (k < least) {
            least = k;
            nearest = g;
        }
    }
    if (g < faceCount) least = -FAR; // a device ended the loop early: nothing is known
}

#endif
