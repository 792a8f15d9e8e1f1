// Stages: a canvas each, with camera, lights and the objects that are drawn again for every row, step or time.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";

THREE.Object3D.DEFAULT_UP.set(0, 0, 1);
export const COLORS = {
    a: 0x3b78c2, b: 0xe0812f, other: 0xb8b8b8, plane: 0x777777, normal: 0xc0392b, witness: 0x111111, contact: 0xe00000,
    gap: 0x8e44ad, step: 0x1e8449, simplex: 0x117a65, difference: 0x7d9ab5, undecided: 0xf2c200,
};

const vec = (v) => new THREE.Vector3(...v);
const sphere = new THREE.SphereGeometry(1, 20, 14);
const square = new THREE.PlaneGeometry(1, 1);

// hull is the geometry of the convex hull of points, [P,3] in one list; of points that have none, the points.
export function hull(points) {
    const list = [];
    for (let i = 0; i < points.length; i += 3) list.push(new THREE.Vector3(points[i], points[i + 1], points[i + 2]));
    try {
        if (list.length > 3) return new ConvexGeometry(list);
    } catch {
        // A flat hull has no volume: its points are drawn.
    }
    return new THREE.BufferGeometry().setFromPoints(list);
}

export class Stage {
    constructor(view) {
        this.view = view;
        this.renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
        view.append(this.renderer.domElement);
        this.scene = new THREE.Scene();
        this.scene.background = new THREE.Color(0xffffff);
        this.scene.add(new THREE.HemisphereLight(0xffffff, 0x888888, 2.2));
        this.sun = new THREE.DirectionalLight(0xffffff, 1.2);
        this.scene.add(this.sun);
        this.camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
        this.controls = new OrbitControls(this.camera, this.renderer.domElement);
        this.controls.addEventListener("change", () => this.render());
        this.shown = new THREE.Group();
        this.scene.add(this.shown);
        this.own = []; // geometries and materials of what is shown, which are given back
    }

    clear() {
        this.shown.clear();
        for (const x of this.own) x.dispose();
        this.own = [];
    }

    add(form, material, kind = THREE.Mesh) {
        const made = new kind(form, material);
        this.own.push(material);
        this.shown.add(made);
        return made;
    }

    // solid draws a geometry at a pose, points of a geometry without faces.
    solid(form, pose, color, opacity = 0.72) {
        const flat = !form.index && !form.getAttribute("normal");
        const mesh = flat
            ? this.add(form, new THREE.PointsMaterial({ color, size: 6, sizeAttenuation: false }), THREE.Points)
            : this.add(form, new THREE.MeshStandardMaterial({
                  color, flatShading: true, transparent: true, opacity, side: THREE.DoubleSide,
                  depthWrite: opacity > 0.5,
              }));
        mesh.position.set(pose[0], pose[1], pose[2]);
        mesh.quaternion.set(pose[4], pose[5], pose[6], pose[3]);
        return mesh;
    }

    // grown is a solid scaled by a factor about a point of the world.
    grown(form, pose, color, factor, center) {
        const mesh = this.solid(form, pose, color, 0.18);
        mesh.scale.setScalar(factor);
        mesh.position.sub(vec(center)).multiplyScalar(factor).add(vec(center));
    }

    halfspace(pose, color, size) {
        const mesh = this.solid(square, pose, color, 0.35);
        mesh.scale.setScalar(size);
    }

    plane(point, normal, size, color = COLORS.plane) {
        const mesh = this.add(square, new THREE.MeshBasicMaterial({
            color, transparent: true, opacity: 0.22, side: THREE.DoubleSide, depthWrite: false,
        }));
        mesh.scale.setScalar(size);
        mesh.position.set(...point);
        mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), vec(normal));
    }

    // dot is a ball that nothing hides.
    dot(at, radius, color) {
        const mesh = this.add(sphere, new THREE.MeshBasicMaterial({ color, depthTest: false, transparent: true }));
        mesh.scale.setScalar(radius);
        mesh.position.set(...at);
        mesh.renderOrder = 2;
    }

    // dots are the places of the dots of a color, in the order in which they were drawn.
    dots(color) {
        return this.shown.children
            .filter((mesh) => mesh.geometry === sphere && mesh.renderOrder === 2)
            .filter((mesh) => mesh.material.color.getHex() === color)
            .map((mesh) => mesh.position.toArray());
    }

    ball(at, radius, color, wire = false) {
        const mesh = this.add(sphere, new THREE.MeshBasicMaterial({
            color, transparent: true, opacity: wire ? 0.5 : 0.3, wireframe: wire, depthWrite: false, depthTest: false,
        }));
        mesh.scale.setScalar(radius);
        mesh.position.set(...at);
    }

    arrow(from, direction, length, color) {
        const head = 0.22 * length;
        const made = new THREE.ArrowHelper(vec(direction), vec(from), length, color, head, 0.6 * head);
        for (const part of [made.line, made.cone]) {
            part.material.depthTest = false;
            part.material.transparent = true;
            part.renderOrder = 3;
        }
        this.own.push({ dispose: () => made.dispose() });
        this.shown.add(made);
    }

    // simplex draws the edges of up to four points.
    simplex(points, color, radius) {
        const ends = [];
        points.forEach((p, i) => points.slice(0, i).forEach((q) => ends.push(vec(p), vec(q))));
        const form = new THREE.BufferGeometry().setFromPoints(ends);
        this.own.push(form);
        this.add(form, new THREE.LineBasicMaterial({ color, depthTest: false, transparent: true }), THREE.LineSegments);
        for (const p of points) this.dot(p, radius, color);
    }

    // frame puts the camera before a ball.
    frame({ center, radius }) {
        this.controls.target.copy(center);
        const away = new THREE.Vector3(0.9, -1.4, 0.8).normalize();
        this.camera.position.copy(center).addScaledVector(away, (3.1 * radius) / Math.min(this.camera.aspect, 1));
        this.camera.near = 0.01 * radius;
        this.camera.far = 60 * radius;
        this.sun.position.copy(this.camera.position).sub(center);
        this.camera.updateProjectionMatrix();
    }

    // screen is where a point of the world is drawn, in pixels of the window.
    screen(point) {
        this.camera.updateMatrixWorld();
        const p = vec(point).project(this.camera);
        const box = this.renderer.domElement.getBoundingClientRect();
        return [box.left + ((p.x + 1) / 2) * box.width, box.top + ((1 - p.y) / 2) * box.height];
    }

    resize() {
        const { clientWidth: w, clientHeight: h } = this.view;
        if (!w || !h) return;
        this.renderer.setSize(w, h);
        this.camera.aspect = w / h;
        this.camera.updateProjectionMatrix();
        this.draw();
    }

    draw() {
        this.controls.update();
        this.render();
    }

    render() {
        if (this.view.clientWidth) this.renderer.render(this.scene, this.camera);
    }
}

// bounding is a ball around points of the world.
export function bounding(points) {
    const box = new THREE.Box3();
    for (const p of points) box.expandByPoint(vec(p));
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    const ball = box.getBoundingSphere(new THREE.Sphere());
    ball.radius ||= 1;
    return ball;
}

// moved are points [P,3] at a pose, as a list of vectors.
export function moved(points, pose) {
    const q = new THREE.Quaternion(pose[4], pose[5], pose[6], pose[3]);
    const out = [];
    for (let i = 0; i < points.length; i += 3) {
        const v = new THREE.Vector3(points[i], points[i + 1], points[i + 2]).applyQuaternion(q);
        out.push([v.x + pose[0], v.y + pose[1], v.z + pose[2]]);
    }
    return out;
}

// composed is the pose in the world of a part at a pose in a body.
export function composed(body, part) {
    const q = new THREE.Quaternion(body[4], body[5], body[6], body[3]);
    const at = vec(part).applyQuaternion(q);
    q.multiply(new THREE.Quaternion(part[4], part[5], part[6], part[3]));
    return [at.x + body[0], at.y + body[1], at.z + body[2], q.w, q.x, q.y, q.z];
}
