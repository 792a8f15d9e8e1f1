// Around a local minimum of the support function h of D = A - B, along the unit direction n,
// second derivatives bound h from below in a cap of directions. For y in the tangent plane,
// |y| ≤ t, every core has
//
//     f(n + y) ≥ f(n) + <s, y> + ½ yᵀKy,
//
// s its support point and K its curvature, below. With the sum of both K, less the ball that
// was taken out of the cores, and g what is left of the gradient of h,
//
//     h(n + y) ≥ L + ½ yᵀKy,  L = h(n) - |g|t,
//
// and where K ≥ L·I that is L(1 + ½y²) ≥ L·|n + y| at least: D is no lower than L along any
// direction within atan(t) of n.
//
// Norms and sums of powers are followed in their own gauge: f(x + τy) is divided by its linear
// growth 1 + τr', |r'| ≤ r ≤ ½, which leaves a point of the plane <s, x> = f. There the second
// derivative has bounds, and since it is homogeneous of degree -1 and sees only what is
// across x, ∫(1-τ)/(1+τr')³dτ = 1/(2(1+r')) makes of them the bound at τ = 1.
//
// A bound may be dropped or cut off. None of the squares that are added is let grow beyond
// MOST_BEND times the height, and what is computed is made less by more than its rounding. Included
// by surround.glsl.

#ifndef CLEARANCE_CAPS_GLSL
#define CLEARANCE_CAPS_GLSL

#include "trust.glsl"

const double MOST_BEND = 1e3lf; // so rounding of K is far below SPARE_BEND of the height
const double SPARE_BEND = 1e-6lf;
const double SHARPEST = 1e5lf; // of β·|q|/f, so that rounding of <q, d> moves a point by 1e-10 of the size at most
const double SURE = 1.0lf - 1e-9lf; // a factor that makes powers surely too small

// Caps are of 16 sizes, each CAP_RATIO of the one before; CAP_LOOKS of them are tried.
const double WIDEST_CAP = 2.0lf;
const double FARTHEST_CAP = 2.5lf;
const double CAP_RATIO = 0.7lf;
const double WIDE_RATIO = 0.05764801lf; // its power 8, of which roots are taken
const uint CAP_LOOKS = 5u;

// Of the size: rounding moves points along the surface, as it turns the direction by less than 1e-14, by
// that of the sharpest bend, four terms of MOST_BEND·bendUnit; and see SHARPEST.
const double ASTRAY = 2e-10lf;

// What is known of both cores along n, in their own frames: support points, those of smooth
// hulls from their centres and those of revolutions on the profile.
dvec3 touching[2];
double bendUnit; // of MOST_BEND
double leastBend; // of the last cap that held: the lowest eigenvalue of the K of both cores

// powerOf is x^a for x > 0; beyond e^600 it is FAR, and below e^-600 zero.
double powerOf(double x, double a) {
    double l = a * logOf(max(x, 1e-300lf));
    if (!(abs(l) < 600.0lf)) return l > 0.0lf ? FAR : 0.0lf;
    return l > 0.0lf ? 1.0lf / expOf(-l) : expOf(l);
}

// bounded is a positive semidefinite form, made so much smaller that its trace is no larger than
// it may be.
dvec3 bounded(dvec3 form) {
    double trace = form.x + form.z, most = MOST_BEND * bendUnit;
    return trace > most ? form * (most / trace) : form;
}

// narrowed is what is left in a cap of the second derivatives of F(x) = |Ex|: with the change of
// F's square split into a = <g, y>, along, and q = F·yᵀHy, F(n+y) = √((F+a)² + q), and
// √(A² + q) - A ≥ q/(2√(A² + q)).
double narrowed(double f, double slope, dvec3 form, double t) {
    return SURE * f / (f + t * slope + 0.5lf * t * t * (form.x + form.z));
}

// planeBend bounds the second derivatives of the norm (|u|^p + |v|^p)^(1/p), p = 2/(2-α), along
// (e.x, e.y) and (f.x, f.y), as planeForm has them, all of these divided by the norm. growth is
// r. slope bounds the derivative with respect to u.
//
// D² = (p-1)(uv)^(p-2)·norm^(1-2p)·ω², ω = v·δu - u·δv, and in the gauge the line is
// (u + σ·gv, v - σ·gu), |σ| ≤ m.
dvec3 planeBend(double norm_, double u, double v, double alpha, dvec2 g, dvec2 e, dvec2 f, double t, double growth, out double slope) {
    slope = 0.0lf;
    precise double a = v * e.x - u * e.y, b = v * f.x - u * f.y;
    double p = 2.0lf / (2.0lf - alpha);
    double m = t * root(a * a + b * b) / (1.0lf - growth) * (1.0lf + 1e-12lf) + 1e-14lf;
    dvec2 ignored;
    double most = max(split(u + m * g.y, abs(v - m * g.x), alpha, ignored), split(abs(u - m * g.y), v + m * g.x, alpha, ignored));
    most = max(most * (1.0lf + 1e-12lf), 1.0lf);
    double low = u * (1.0lf - 1e-14lf) - m * g.y, other = v * (1.0lf - 1e-14lf) - m * g.x;
    if (low > 0.0lf) slope = SURE * powerOf(low / most, p - 1.0lf);
    double uv = (u + m * g.y) * (v + m * g.x); // the most, for p < 2
    if (p > 2.0lf) {
        if (!(low > 0.0lf && other > 0.0lf)) return dvec3(0);
        uv = min(low * (v + m * g.x), (u + m * g.y) * other);
    }
    double k = SURE * norm_ * (p - 1.0lf) * powerOf(uv, p - 2.0lf) * powerOf(most, 1.0lf - 2.0lf * p) / (1.0lf + growth);
    // a and b have the rounding of the vectors: by these the square is cut off.
    double lengths = product2(e, e) + product2(f, f);
    if (!(k * lengths > 0.0lf)) return dvec3(0);
    return min(k, MOST_BEND * bendUnit / lengths) * squares(a, b);
}

// superquadricBend goes by the chain rule through the two norms. In the outer one the inner one enters by
// its linear part, and slope times what the inner one is more.
dvec3 superquadricBend(Shape s, dvec3 d, dvec3 e, dvec3 f, double t) {
    double alpha1 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_0), alpha2 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_1);
    precise dvec3 u = s.params * abs(d);
    dvec3 turned = s.params * dvec3(d.x < 0.0lf ? -1 : 1, d.y < 0.0lf ? -1 : 1, d.z < 0.0lf ? -1 : 1);
    dvec2 around, along;
    double l = split(u.x, u.y, alpha2, around), h = split(l, u.z, alpha1, along);
    if (!(l > 1e-12lf * h)) return dvec3(0);
    precise dvec3 p = turned * e, q = turned * f;
    precise dvec2 grown = dvec2(around.x * p.x + around.y * p.y, around.x * q.x + around.y * q.y);
    precise dvec2 whole_ = dvec2(along.x * grown.x + along.y * p.z, along.x * grown.y + along.y * q.z);
    double inner = t * root(product2(grown, grown)) / l, outer = t * root(product2(whole_, whole_)) / h, slope, ignored;
    if (!(outer <= 0.5lf)) return dvec3(0);
    dvec3 form = planeBend(h, l / h, u.z / h, alpha1, along, dvec2(grown.x, p.z) / h, dvec2(grown.y, q.z) / h, t, outer, slope);
    if (inner <= 0.5lf) form += min(slope, 1.0lf) * planeBend(l, u.x / l, u.y / l, alpha2, around, p.xy / l, q.xy / l, t, inner, ignored);
    return form;
}

// powersBend is of f = (Σ max(<q, d>, 0)^β)^(1/β) over the vertices of s relative to c, with g its
// gradient; wide is how far e and f take d in the cap at most, as a factor of both. slope bounds
// Σ (<q, d>/f)^(β-1)·q.x, the derivative of a profile's f with respect to ρ.
//
// With z = <q, d>/f and V its derivatives in the gauge, |V| = v, z moves by wide·v at most, and the sum of
// the powers, 1, grows to R at most, as its first derivative is 0. The Hessian is (β-1)·f·
// sum^(1/β-2)·½ΣΣ(zj·zk)^(β-2)·w², and w = zj·Vk - zk·Vj stays as it is.
dvec3 powersBend(Shape s, dvec3 c, dvec3 d, dvec3 e, dvec3 f, dvec3 g, double wide, out double slope) {
    double beta = s.params.x, h = product(g, d), most = 1.0lf, w0 = 0.0lf, errors = 0.0lf, longest = 0.0lf;
    dvec2 tangent = dvec2(product(g, e), product(g, f)), w1 = dvec2(0);
    dvec3 w2 = dvec3(0);
    slope = 0.0lf;
    if (!(h > 0.0lf)) return dvec3(0);
    for (uint i = s.first; i < s.first + s.count; i++) {
        precise dvec3 q = vertexAt(i) - c;
        precise double z = product(q, d) / h;
        precise dvec2 v = (dvec2(product(q, e), product(q, f)) - z * tangent) / h;
        double size_ = (abs(q.x) + abs(q.y) + abs(q.z)) / h, step = wide * root(product2(v, v)) + 1e-13lf * size_;
        longest = max(longest, size_);
        if (z + step > 0.0lf) most += 0.5lf * beta * (beta - 1.0lf) * step * step * powerOf(z + step, beta - 2.0lf);
        if (!(z - step > 0.0lf)) continue;
        double w = powerOf(z - step, beta - 2.0lf);
        slope += w * (z - step) * q.x;
        w0 += w * z * z;
        w1 += w * z * v;
        w2 += w * squares(v.x, v.y);
        errors += w * size_ * size_;
    }
    most *= 1.0lf + 1e-9lf;
    if (!(most < 1e200lf && beta * longest < SHARPEST)) return dvec3(0);
    slope *= SURE * powerOf(most, 1.0lf / beta - 1.0lf);
    double rounding = 1e-14lf * errors * (w0 + w2.x + w2.z);
    dvec3 form = w0 * w2 - squares(w1.x, w1.y) - dvec3(rounding, 0, rounding);
    return SURE * (beta - 1.0lf) * h * powerOf(most, 1.0lf / beta - 2.0lf) * form;
}

// smoothBend is of smooth hulls and revolutions, and as smoothSupport goes.
dvec3 smoothBend(Shape s, dvec3 d, dvec3 e, dvec3 f, dvec3 g, double t) {
    bool turned = s.family == FAMILY_REVOLUTION;
    dvec3 c = dvec3(0), along = d, p = e, q = f, disc = dvec3(1, 1, s.params.z), rim = dvec3(0);
    dvec2 slopes = dvec2(product(g, e), product(g, f)), grown = dvec2(0);
    double wide = 1.0lf, slope;
    if (turned) {
        rim = ellipsoidSupport(disc, d);
        along = dvec3(product(rim, d), d.z, 0);
        if (!(along.x > 1e-12lf)) return dvec3(0);
        grown = dvec2(product(rim, e), product(rim, f));
        slopes = g.x * grown + g.y * dvec2(e.z, f.z);
        p = dvec3(-along.y, along.x, 0) / norm(along);
        q = dvec3(0);
    } else {
        c = centreOf(s.record);
    }
    dvec2 j = p.x * grown + p.y * dvec2(e.z, f.z);
    double growth = t * root(product2(slopes, slopes)) / product(g, along);
    if (!(growth <= 0.5lf)) return dvec3(0);
    wide = t * (turned ? root(product2(j, j)) : 1.0lf) / (1.0lf - growth);
    dvec3 form = powersBend(s, c, along, p, q, g, wide, slope) / (1.0lf + growth);
    if (!turned) return bounded(form);
    dvec3 round_ = ellipsoidForm(disc, d, e, f);
    return bounded(max(form.x, 0.0lf) * squares(j.x, j.y)) + bounded(slope * narrowed(along.x, root(product2(grown, grown)), round_, t) * round_);
}

// bend bounds the second derivatives of a core in a cap of size t, as curvedSupport has them at its middle. 0 is a
// bound of any.
dvec3 bend(Shape s, dvec3 d, dvec3 e, dvec3 f, dvec3 g, double t) {
    if (have(KIND_ELLIPSOID) && s.family == FAMILY_ELLIPSOID) {
        dvec3 form = ellipsoidForm(s.params, d, e, f);
        dvec2 slopes = dvec2(product(g, e), product(g, f));
        return bounded(narrowed(product(g, d), root(product2(slopes, slopes)), form, t) * form);
    }
    if (METHOD != METHOD_RTR) return dvec3(0);
    if (have(KIND_SUPERQUADRIC) && s.family == FAMILY_SUPERQUADRIC) return superquadricBend(s, d, e, f, t);
    if (smooth_(s)) return smoothBend(s, d, e, f, g, t);
    return dvec3(0);
}

// capHolds reports whether D is surely `low` high in the cap of size t around p, of height h: with M what
// the cores bend more than the sphere, the least of spare + <g, y> + ½ yᵀMy is spare - ½ gᵀM⁻¹g.
bool capHolds(Stationary p, double h, double low, double t) {
    double need = shapeA.erode + shapeB.erode + low + SPARE_BEND * bendUnit;
    dvec3 m = dvec3(-need, 0, -need);
    for (int k = 0; k < 2; k++) { // in one text, as look has it
        Shape s = shapeA;
        dvec3 d = p.x, e = p.e, f = p.f;
        if (k == 1) {
            s = shapeB;
            d = -intoB(d);
            e = -intoB(e);
            f = -intoB(f);
        }
        m += bend(s, d, e, f, touching[k], t);
    }
    double spare = h - low - ASTRAY * size * t, det = m.x * m.z - m.y * m.y;
    double taken = m.z * p.g.x * p.g.x - 2.0lf * m.y * p.g.x * p.g.y + m.x * p.g.y * p.g.y;
    if (!finite3(m) || !finite(taken) || !(lowest(m) >= 0.0lf)) return false;
    if (!(spare >= p.slope * t || spare * det * SURE >= 0.5lf * taken)) return false;
    leastBend = lowest(m) + need;
    return true;
}

// touch sets what capHolds needs of both cores along p.
void touch(Stationary p) {
    for (int k = 0; k < 2; k++) {
        Shape s = shapeA;
        dvec3 d = p.x, form;
        if (k == 1) {
            s = shapeB;
            d = -intoB(d);
        }
        touching[k] = ellipsoidSupport(s.params, d);
        if (METHOD != METHOD_RTR || !smooth_(s)) continue;
        bool turned = s.family == FAMILY_REVOLUTION;
        dvec3 rim = ellipsoidSupport(dvec3(1, 1, s.params.z), d);
        touching[k] = powered(s, turned ? dvec3(0) : centreOf(s.record), turned ? dvec3(product(rim, d), d.z, 0) : d, dvec3(0), dvec3(0), form);
    }
}

// beyondBend is how far a cap reaches beyond the size t for which it holds. What the heights of D with the balls
// that were taken out grow by beyond their plane is convex along any y: ½κt² at |y| = t, κ the least
// bend, and from there on ½κt|y| at least. That is not below (low + erode)(√(1 + y²) - 1) as far as
// y/(1 + √(1 + y²)) ≤ ½κt/(low + erode): to twice the angle of which that is the tangent.
double beyondBend(Stationary p, double h, double low, double t) {
    double x = 0.5lf * SURE * leastBend * t / (low + shapeA.erode + shapeB.erode), rest = 1.0lf - x * x;
    double far = rest > 0.1lf ? min(2.0lf * x / rest, FARTHEST_CAP) : FARTHEST_CAP;
    return max(t, min(far, (h - low) / (p.slope + ASTRAY * size)));
}

// capSize is the largest size for which the cap around p, of height h, is surely `low` high, 0 if there is none.
double capSize(Stationary p, double h, double low) {
    touch(p);
    bendUnit = h + shapeA.erode + shapeB.erode;
    double t = WIDEST_CAP / CAP_RATIO, ratio = WIDE_RATIO;
    bool holds = false;
    for (uint k = 0u; k < CAP_LOOKS; k++) { // the least that does not hold, by halves
        double less = ratio * t;
        holds = capHolds(p, h, low, less);
        if (!holds) t = less;
        ratio = k + 2u < CAP_LOOKS ? root(ratio) : CAP_RATIO;
    }
    return holds ? beyondBend(p, h, low, CAP_RATIO * t) : 0.0lf;
}

#endif
