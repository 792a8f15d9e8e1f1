// The Minkowski difference A - B of a row, beside the pair: the shapes intersect where it contains the origin.
import { COLORS, bounding, hull } from "./stage.js";

const DIRECTIONS = 400;
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

// supports are support points of A - B in directions spread over the sphere, of shapes given by points of the world.
function supports(a, b) {
    const out = [];
    for (let k = 0; k < DIRECTIONS; k++) {
        const z = 1 - (2 * k + 1) / DIRECTIONS;
        const angle = Math.PI * (1 + Math.sqrt(5)) * (k + 0.5);
        const d = [Math.sqrt(1 - z * z) * Math.cos(angle), Math.sqrt(1 - z * z) * Math.sin(angle), z];
        out.push(...sub(farthest(a, d, 1), farthest(b, d, -1)));
    }
    return out;
}

function farthest(points, d, sign) {
    let [best, value] = [points[0], -Infinity];
    for (const p of points) {
        const v = sign * dot(p, d);
        if (v > value) [best, value] = [p, v];
    }
    return best;
}

export class Difference {
    constructor(stage) {
        this.stage = stage;
        this.of = null; // what the hull was made of
        this.form = null;
    }

    // draw shows the difference of the points of both shapes, the origin, the two witnesses, and a step of a trace. Of
    // a factor it also shows the ray from the difference of the centers through the origin.
    // why says why there is none, "" if there is one.
    draw(key, a, b, why, { witnesses, centers, trace, step }) {
        const s = this.stage;
        s.clear();
        s.say(why);
        if (why) {
            this.of = null;
            return s.draw();
        }
        if (this.of !== key) {
            this.form?.dispose();
            const points = supports(a, b);
            this.form = hull(points);
            const corners = [[0, 0, 0]];
            for (let i = 0; i < points.length; i += 3) corners.push(points.slice(i, i + 3));
            this.size = bounding(corners);
            this.of = key;
            s.frame(this.size);
        }
        const r = this.size.radius;
        s.solid(this.form, [0, 0, 0, 1, 0, 0, 0], COLORS.difference, 0.35);
        s.dot([0, 0, 0], 0.03 * r, COLORS.normal);
        if (centers) {
            const through = [sub(...centers), [0, 0, 0], ...(step?.iterate ? [step.iterate] : [])];
            s.simplex(through, COLORS.witness, 0.012 * r);
        }
        if (witnesses) s.dot(sub(...witnesses), 0.02 * r, COLORS.witness);
        if (step) {
            if (trace.radius > 0) s.ball([0, 0, 0], trace.radius, COLORS.plane, true);
            const points = (step.simplex ?? []).map((v) => sub(v.a, v.b));
            if (points.length) s.simplex(points, COLORS.simplex, 0.018 * r);
            if (step.iterate) s.dot(step.iterate, 0.022 * r, COLORS.undecided);
            if (step.support) {
                const at = sub(step.support.a, step.support.b);
                s.plane(at, step.direction, 1.2 * r, COLORS.step);
                s.dot(at, 0.024 * r, COLORS.step);
            }
            s.arrow([0, 0, 0], step.direction, 0.4 * r, COLORS.step);
        }
        s.draw();
    }
}
