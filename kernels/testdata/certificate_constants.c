// Tests the constants of certificates, for TestCertificateConstants: the size to which a cap extends (tangent.h), the
// apex of a cap (depth_certificate.h), and the upper bound of Newton's method (smooth_pairs.h). Each must hold, and be
// so close to what can be proved that it fails if it is a tenth too generous. Built with ISA set.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pairs/depth_certificate.h"
#include "../pairs/smooth_pairs.h"
#include "uniform.h"

static double between(double a, double b) { return a + (b - a) * 0.5 * (uniform() + 1); }

// reaches tests that the growth ½κs² up to t, and ½κts beyond, is at least h(√(1 + s²) − 1) up to the reach, and no
// longer so 2 % farther.
static int reaches(void) {
    int tight = 0;
    for (int trial = 0; trial < 20000 / W; trial++) {
        double in[3][W] __attribute__((aligned(64))), out[W] __attribute__((aligned(64)));
        for (int l = 0; l < W; l++)
            in[2][l] = exp(between(-3, 3)), in[0][l] = in[2][l] * exp(between(1e-5, 2)), in[1][l] = exp(between(-5, 0));
        STOREU(out, reach(LOADU(in[0]), LOADU(in[1]), LOADU(in[2])));
        for (int l = 0; l < W; l++) {
            const double k = in[0][l], t = in[1][l], h = in[2][l], far = out[l];
            if (!(far >= t && far <= fmax(t, WIDEST_CAP))) printf("a reach of %g from %g\n", far, t), exit(1);
            for (int i = 0; i <= 50; i++) {
                const double s = i == 50 ? 1.02 * far : far * (i + 1) / 50, grown = 0.5 * k * (s < t ? s * s : t * s),
                             ball = h * s * s / (1 + sqrt(1 + s * s));
                if (i < 50 && !(grown >= ball * (1 - 1e-14)))
                    printf("curvature %g up to %g: less than a ball of %g at %g of %g\n", k, t, h, s, far), exit(1);
                tight += i == 50 && far > t && grown < ball;
                if (i == 50 && far > t && far < WIDEST_CAP && !(grown < ball))
                    printf("curvature %g up to %g: a reach of %g is not the farthest\n", k, t, far), exit(1);
            }
        }
    }
    return tight;
}

// apices tests that a direction in which the stored apex has a support value of at least low is in the cap.
static int apices(void) {
    static clr_scratch s;
    int stored = 0;
    for (int trial = 0; trial < 20000 / W; trial++) {
        depth_rows rows;
        double n[3][W] __attribute__((aligned(64))), size[W] __attribute__((aligned(64))),
            low[W] __attribute__((aligned(64)));
        const int steps[W] = {0};
        memset(&rows, 0, sizeof rows);
        rows.lanes = LANES;
        for (int l = 0; l < W; l++) {
            double length = 0;
            for (int j = 0; j < 3; j++) n[j][l] = uniform(), length += n[j][l] * n[j][l];
            for (int j = 0; j < 3; j++) n[j][l] /= sqrt(length);
            rows.row[l] = l, rows.span[l] = exp(between(-3, 3)), rows.rounding[l] = 1e-15, rows.tol[l] = 1e-6;
            size[l] = exp(between(log(0.01), log(WIDEST_CAP))), low[l] = rows.span[l] * between(1e-3, 0.5);
        }
        const VF support_value = LOADU(low), zero = SET1(0);
        const V3 x = T(ld3)(n[0], W);
        const lane_depths d = {support_value, support_value, zero, x, x, x, LT(zero, support_value)};
        store_minima(&s, &rows, LANES, d, LOADU(size), SET1(1e-6), (const unsigned[2]){0, 0}, steps);
        for (int l = 0; l < W; l++) {
            if (s.minima.state[l] != CLR_MINIMUM_LOCAL) printf("a minimum was not stored\n"), exit(1);
            stored++;
            double along = 0, length = 0, across[3] = {0, 0, 0};
            for (int j = 0; j < 3; j++) along += n[j][l] * s.minima.apex[j][l];
            for (int j = 0; j < 3; j++)
                length += (double)s.minima.apex[j][l] * s.minima.apex[j][l],
                    across[j] = s.minima.apex[j][l] - along * n[j][l];
            const double sine = sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]),
                         tilt = atan2(sine, along), widest = acos(fmin(s.minima.low[l] / sqrt(length), 1)) + tilt;
            if (!(widest <= atan(size[l])))
                printf("an apex over a cap of %g covers directions up to %g\n", size[l], tan(widest)), exit(1);
        }
    }
    return stored;
}

// uppers tests that the upper bound of Newton's method is at least |v| for a support value low and a support point v
// that is off the normal by tilt, with the rounding error added, and at least the distance of the witnesses from it.
static int uppers(void) {
    int tight = 0;
    for (int trial = 0; trial < 40000 / W; trial++) {
        double in[3][W] __attribute__((aligned(64))), out[W] __attribute__((aligned(64)));
        for (int l = 0; l < W; l++)
            in[2][l] = exp(between(-37, -30)), in[0][l] = in[2][l] * exp(between(1e-3, trial % 2 ? 3 : 30)),
            in[1][l] = in[2][l] * exp(between(-3, 6));
        STOREU(out, primal_excess(LOADU(in[0]), LOADU(in[1]), LOADU(in[2])));
        for (int l = 0; l < W; l++) {
            const double low = in[0][l], tilt = in[1][l], rounding = in[2][l],
                         beyond = tilt * tilt / (low + sqrt(low * low + tilt * tilt)), // √(low² + tilt²) − low
                least = fmax(beyond + rounding, tilt);
            if (!(out[l] >= least * (1 - 1e-14)))
                printf("low %g, tilt %g, rounding %g: %.17g of %.17g\n", low, tilt, rounding, out[l], least), exit(1);
            tight += out[l] < 1.1 * least;
        }
    }
    return tight;
}

int main(void) {
    const int caps = reaches(), stored = apices(), bounds = uppers();
    printf("%d caps %d apices %d bounds\n", caps, stored, bounds);
    return 0;
}
