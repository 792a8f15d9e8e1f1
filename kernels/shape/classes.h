// Classes of cores and their properties. All cores of a class have the same support function, up to
// parameters. A new class needs a line here and a case in every switch over classes.

#ifndef CLR_CLASSES_H
#define CLR_CLASSES_H

// Rows with smooth hulls or revolutions of more points are declined.
#define CLR_SMOOTH_VERTICES 256

// Hulls of up to so many vertices are copied to the lanes, which scan them in parallel.
// A larger hull is scanned by all lanes together, one pair after the other.
#define CLR_SMALL_VERTICES 16

// CLR_CLASS_TABLE has a line for each class: its name and whether
//
//	hull        it is the convex hull of vertices, whose support points have numbers,
//	curved      it is no polytope,
//	hessian     the Hessian of its support function is computed (hessian.h),
//	powers      its support function takes logarithms and exponentials,
//	vertices    its shapes have vertices in the table,
//	off_center  its center may lie off its origin,
//	in_lanes    it has more than four parameters, and lanes keep the others (cores.h).
//
// clr_shape.p of its shapes holds
//
//	BOX                half extents; a point and a segment are flat boxes
//	ELLIPSOID          semi-axes
//	FRUSTUM            radius at −z, radius at +z, half length: cylinder, cone, frustum
//	SUPERQUADRIC       semi-axes; in extent the halves of α2 and α1
//	SMOOTH_REVOLUTION  nothing; in extent β, 1/β, γ; vertices are (r, z, 0)
//	SMOOTH_HULL        the center; in extent β, 1/β; vertices are relative to the center
//	SMALL              half extents about the center; at most CLR_SMALL_VERTICES vertices
//	HULL               half extents about the center
//
// clang-format off
#define CLR_CLASS_TABLE(X) \
    /*                 hull curved hessian powers vertices off_center in_lanes */ \
    X(BOX,               0, 0,     0,      0,     0,       0,         0) \
    X(ELLIPSOID,         0, 1,     1,      0,     0,       0,         0) \
    X(FRUSTUM,           0, 1,     0,      0,     0,       0,         0) \
    X(SUPERQUADRIC,      0, 1,     1,      1,     0,       0,         1) \
    X(SMOOTH_REVOLUTION, 0, 1,     1,      1,     1,       0,         1) \
    X(SMOOTH_HULL,       0, 1,     1,      1,     1,       1,         1) \
    X(SMALL,             1, 0,     0,      0,     1,       1,         1) \
    X(HULL,              1, 0,     0,      0,     1,       1,         1)

enum {
#define X(name, ...) CLR_##name,
    CLR_CLASS_TABLE(X)
#undef X
    CLR_CLASSES,
    CLR_NO_CLASS = 255 // rows with such shapes are declined
};
// clang-format on

// Forms of cores, finer than their classes: those that closed forms apply to.
enum { CLR_OTHER_FORM, CLR_POINT, CLR_SEGMENT, CLR_CUBOID, CLR_HALF };

// The code of a core is its form where it has one, else its class: CLR_HULL of hulls of any size, CLR_NO_CLASS of
// shapes without a kernel. Derivatives and contact points go by it.
enum {
    CLR_POINT_CORE = CLR_CLASSES + CLR_POINT,
    CLR_SEGMENT_CORE = CLR_CLASSES + CLR_SEGMENT,
    CLR_CUBOID_CORE = CLR_CLASSES + CLR_CUBOID,
    CLR_HALF_CORE = CLR_CLASSES + CLR_HALF,
    CLR_CORES
};

// The classes that have a property, one bit per class.
enum {
#define X(name, hull, ...) | (hull) << CLR_##name
    CLR_ARE_HULLS = 0 CLR_CLASS_TABLE(X),
#undef X
#define X(name, hull, curved, ...) | (curved) << CLR_##name
    CLR_ARE_CURVED = 0 CLR_CLASS_TABLE(X),
#undef X
#define X(name, hull, curved, hessian, ...) | (hessian) << CLR_##name
    CLR_HAVE_HESSIAN = 0 CLR_CLASS_TABLE(X),
#undef X
#define X(name, hull, curved, hessian, powers, ...) | (powers) << CLR_##name
    CLR_TAKE_POWERS = 0 CLR_CLASS_TABLE(X),
#undef X
#define X(name, hull, curved, hessian, powers, vertices, ...) | (vertices) << CLR_##name
    CLR_HAVE_VERTICES = 0 CLR_CLASS_TABLE(X),
#undef X
#define X(name, hull, curved, hessian, powers, vertices, off_center, in_lanes) | (off_center) << CLR_##name
    CLR_OFF_CENTER = 0 CLR_CLASS_TABLE(X),
#undef X
#define X(name, hull, curved, hessian, powers, vertices, off_center, in_lanes) | (in_lanes) << CLR_##name
    CLR_IN_LANES = 0 CLR_CLASS_TABLE(X),
#undef X
};

#define CLR_IS(property, k) ((property) >> (k) & 1)
#define IS_HULL(k) CLR_IS(CLR_ARE_HULLS, k)
#define IS_CURVED(k) CLR_IS(CLR_ARE_CURVED, k)
#define HAS_HESSIAN(k) CLR_IS(CLR_HAVE_HESSIAN, k)
#define HAS_POWERS(k) CLR_IS(CLR_TAKE_POWERS, k)
#define HAS_VERTICES(k) CLR_IS(CLR_HAVE_VERTICES, k)
#define OFF_CENTER(k) CLR_IS(CLR_OFF_CENTER, k)
#define IN_LANES(k) CLR_IS(CLR_IN_LANES, k)

#endif
