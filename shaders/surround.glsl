// Depths of curved cores: a local minimum of the heights of D = A - B, found by the trust region
// method (paper 002, Alg. 2), a cap of directions around it where nothing is lower (caps.glsl),
// and a polytope for the others. Included by epa.glsl.
//
// The polytope has a vertex that is no point of D, the apex n·L√(1 + t²) for a cap of size t
// around n; all others are points of D. Once the ball of radius L is inside, every direction has a
// vertex as high as L. If that is the apex, the direction is no more than atan(t) from n, and in the cap;
// else it is a point of D. So D is as high as L along all directions.
//
// Where a face finds D lower than L there is another minimum, which is looked for from there. Its own L is
// lower, and the apices known before are made as much lower: their angles stay what they were.
// The polytope is then built anew from the vertices that there are.

#ifndef CLEARANCE_SURROUND_GLSL
#define CLEARANCE_SURROUND_GLSL

#include "caps.glsl"

const uint MAX_TURNS = 4u;
const uint SURROUND_VERTICES = 96u; // VERTICES at most

// Of t², so that rounding of the apex, which tilts it, does not matter: caps are NARROWEST_CAP at least.
const double APEX_SHARE = 0.98lf;
const double NARROWEST_CAP = 0.02lf;

// Of the wanted gap, what lies between the height of the minimum and what is proved.
const double PROOF_SHARE = 0.9lf;

// Where D is less than 2 % higher than the minimum, and more than 25 degrees off it, there is another one,
// most often, as shapes are symmetric. It gets an apex of its own.
const double NEARLY = 1.02lf, SAME_BASIN = 0.9lf;

// Passes of loops that a polytope may take, as SWEEP_PASSES.
const uint SURROUND_PASSES = SURROUND_VERTICES * SURROUND_VERTICES / 2u + 16u * SURROUND_VERTICES;

// Steps, counting looks and caps, that this may take before EPA begins.
const uint SURROUND_STEPS = MAX_TURNS * 16u + SURROUND_VERTICES;

Stationary minimum; // the lowest, once there is one
double minimal;     // its height
double proved;      // what is to be proved of all faces
double shrunk;      // proved, of what it was when the polytope was built
double tilt;        // of the first three directions against that of the minimum: its tangent
uint started;       // vertices of the first tetrahedron, which are numbers 0 to 3
uint put;           // vertices: those from vertexCount on are not yet of the polytope
uint turns;
dvec3 from;         // where the next turn starts
bool turning;       // it is to be started
bool needed;        // and must find a minimum
bool anew;          // the polytope is to be built anew

// An apex has this where other vertices have the point of A.
const double APEX = FAR;

void putNext(dvec3 w, dvec3 a) {
    putVertex(put++, w, a);
}

// surround begins.
void surround() {
    turning = true;
    needed = true;
    anew = true;
    turns = 0u;
    started = 0u;
    put = 4u;
    minimal = FAR;
    proved = FAR;
}

// handed is the minimum that rtr.comp found: the vertex of the seed, and all that follows.
Stationary handed() {
    Stationary p;
    p.x = stationaryDirection();
    basis(p.x, p.e, p.f);
    precise dvec3 w = seedVertex(0u) + (shapeA.erode + shapeB.erode) * p.x, a = seedPoint(0u) + shapeA.erode * p.x;
    p.w = w;
    p.a = a;
    p.h = product(p.x, w);
    p.g = dvec2(product(p.e, w), product(p.f, w));
    p.slope = root(product2(p.g, p.g));
    return p;
}

// turn takes the minimum that was handed on, or looks for one in `cap` looks at most, and puts its apex, or where there is
// no cap its vertex. It returns false if there is no minimum where D is lower than what was to be proved.
bool turn(uint cap, out uint spent) {
    turning = false;
    shrunk = 1.0lf; // the polytope is mended
    uint before = evaluations;
    Stationary p;
    if (turns == 0u) p = handed();
    else p = trust(from, stop, roundoff, -4.0lf * scale, cap, evaluations);
    spent = evaluations - before + CAP_LOOKS + 1u;
    double erode = shapeA.erode + shapeB.erode;
    precise double h = p.h - erode;
    turns++;
    if (put == SURROUND_VERTICES || !finite3(p.w) || !(p.slope <= 0.5lf * deepEnough) || !(h > 16.0lf * roundoff + deepEnough)) return !needed;
    if (h < minimal) {
        precise double low = h - PROOF_SHARE * deepEnough;
        if (proved < FAR) shrunk = low / proved;
        minimal = h;
        minimum = p;
        proved = low;
        anew = true;
        if (turns > 1u) spent += 1u + (put * put / 2u + 16u * put) / stepCost(); // passes, as steps have them
    }
    double t = capSize(p, h, proved);
    precise dvec3 apex = proved / shrunk * root(1.0lf + APEX_SHARE * t * t) * p.x, w = p.w - erode * p.x, a = p.a - shapeA.erode * p.x;
    // Just outside of the cap is where the polytope has most to prove; without one, faces may be flat for the gap.
    tilt = max(max(NARROWEST_CAP, t), min(0.5lf, root(deepEnough / h)));
    if (t >= NARROWEST_CAP) putNext(apex, dvec3(APEX));
    else putNext(w, a);
    return true;
}

// above is whether w is above face f.
bool above(uint f, dvec3 w) { return f < faceCount && keyOf(f) < FAR && product(normalOf(f), w) > topOf(f); }

// sights is whether w is above some face.
bool sights(dvec3 w) {
    bool seen = false;
    for (uint f = 0u; f < faceCount && !seen; f += 4u) seen = above(f, w) || above(f + 1u, w) || above(f + 2u, w) || above(f + 3u, w);
    return seen;
}

// mend makes the vertices that were put those of the polytope. It returns false if that fails.
bool mend() {
    if (anew) {
        for (uint v = 0u; v < put; v++) {
            dvec3 made = madeOf(v), w = vertexOf(v);
            putVertex(v, made.x == APEX ? shrunk * w : w, made);
        }
        anew = false;
        if (!tetrahedron(false)) return false;
    }
    while (vertexCount < put) {
        vertexCount++;
        dvec3 w = vertexOf(vertexCount - 1u);
        if (sights(w) && !expand(w)) return false;
    }
    return true;
}

// sought is the direction of the next vertex: three around the minimum, the opposite one, and then that of the
// nearest face.
dvec3 sought() {
    if (started == 4u) return normalOf(nearest);
    if (started == 3u) return -minimum.x;
    const double HALF_ROOT3 = 0.8660254037844386lf;
    dvec2 r = started == 0u ? dvec2(1, 0) : dvec2(-0.5lf, started == 1u ? HALF_ROOT3 : -HALF_ROOT3);
    precise dvec3 d = minimum.x + tilt * (r.x * minimum.e + r.y * minimum.f);
    return unitOf(d);
}

// advanceAround takes vertex w, made by the point a, which is highest along what was sought. It returns false if the
// polytope cannot go on.
bool advanceAround(dvec3 w, dvec3 a) {
    if (started < 4u) {
        putVertex(started++, w, a);
        return true;
    }
    dvec3 n = normalOf(nearest);
    double high = product(n, w);
    if (put == SURROUND_VERTICES || !(square(n) > 0.5lf)) return false;
    needed = high < proved;
    turning = needed || (high < NEARLY * minimal && product(n, minimum.x) < SAME_BASIN && turns < MAX_TURNS);
    if ((needed && turns == MAX_TURNS) || (!needed && !(high > topOf(nearest)))) return false;
    from = unitOf(n);
    putNext(w, a);
    return true;
}

// surrounded reports whether D is proved to be as high everywhere, once the polytope is mended.
bool surrounded(out Core r) {
    r.high = minimal;
    precise double low = min(proved, minimal - minimum.slope);
    r.low = low;
    r.off = minimum.slope;
    r.axis = minimum.x;
    precise dvec3 w = minimum.w - (shapeA.erode + shapeB.erode) * minimum.x, a = minimum.a - shapeA.erode * minimum.x;
    r.near = w;
    r.made = a;
    return least >= proved;
}

#endif
