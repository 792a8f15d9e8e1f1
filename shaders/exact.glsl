// Products and cross products in double precision, accurate to their own last digits. Vulkan does not promise that
// fma() rounds once, so the rounding error of a product is computed by splitting both factors [Dekker1971]. Lengths
// are below 1e9 m, so nothing overflows.

#ifndef CLEARANCE_EXACT_GLSL
#define CLEARANCE_EXACT_GLSL

// productError returns a·b - p, where p is a·b rounded.
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

// differenceOfProducts returns a·b - c·d to its own last digits, also where the plain formula cancels.
double differenceOfProducts(double a, double b, double c, double d) {
    precise double p = a * b;
    precise double q = c * d;
    precise double r = (p - q) + (productError(a, b, p) - productError(c, d, q));
    return r;
}

// exactCross returns u × v with every component accurate to its own last digits, as the normals of thin triangles
// require.
dvec3 exactCross(dvec3 u, dvec3 v) {
    // clang-format off
    return dvec3(differenceOfProducts(u.y, v.z, u.z, v.y),
                 differenceOfProducts(u.z, v.x, u.x, v.z),
                 differenceOfProducts(u.x, v.y, u.y, v.x));
    // clang-format on
}

#endif
