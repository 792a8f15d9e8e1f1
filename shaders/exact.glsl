// Products without rounding errors that matter, in double precision. Vulkan does not
// promise that fma() rounds once, so the error of a product is found by splitting
// (Dekker 1971). Lengths are below 1e9 m, so nothing overflows.

#ifndef CLEARANCE_EXACT_GLSL
#define CLEARANCE_EXACT_GLSL

// productError is a·b - p for p = a·b rounded.
double productError(double a, double b, double p) {
    const double SPLIT = 134217729.0lf; // 2^27 + 1
    precise double ta = SPLIT * a;
    precise double ah = ta - (ta - a);
    precise double al = a - ah;
    precise double tb = SPLIT * b;
    precise double bh = tb - (tb - b);
    precise double bl = b - bh;
    precise double e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return e;
}

// differenceOfProducts is a·b - c·d, right to its own last digits where the naive form
// may lose every digit.
double differenceOfProducts(double a, double b, double c, double d) {
    precise double p = a * b;
    precise double q = c * d;
    precise double r = (p - q) + (productError(a, b, p) - productError(c, d, q));
    return r;
}

// exactCross is u × v with every component right to its own last digits. It is what
// makes the normals of sliver triangles trustworthy.
dvec3 exactCross(dvec3 u, dvec3 v) {
    return dvec3(differenceOfProducts(u.y, v.z, u.z, v.y),
                 differenceOfProducts(u.z, v.x, u.x, v.z),
                 differenceOfProducts(u.x, v.y, u.y, v.x));
}

#endif
