// Stages: a canvas each, with camera, lights and the objects that are drawn again for every row, step or time.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";
import { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";

THREE.Object3D.DEFAULT_UP.set(0, 0, 1);
export const COLORS = {
    a: 0x3b78c2, b: 0xe0812f, other: 0xc3c8d0, plane: 0x777777, normal: 0xc0392b, witness: 0x111111, contact: 0xe00000,
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
        // Faces that meet at less than 40 degrees are those of a curved surface.
        if (list.length > 3) return toCreasedNormals(new ConvexGeometry(list), (40 * Math.PI) / 180);
    } catch {
        // A flat hull has no volume: its points are drawn.
    }
    return new THREE.BufferGeometry().setFromPoints(list);
}

// drawing is a renderer, null where the browser has no WebGL.
function drawing(shadows) {
    const probe = document.createElement("canvas");
    if (!probe.getContext("webgl2")) return null;
    try {
        const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
        renderer.shadowMap.enabled = shadows;
        renderer.shadowMap.type = THREE.PCFShadowMap;
        renderer.shadowMap.autoUpdate = false; // only draw() changes what casts them
        return renderer;
    } catch {
        return null;
    }
}

const NO_WEBGL = "This browser has no WebGL, so shapes are not drawn. The table and the numbers are complete.";

export class Stage {
    // A stage without shadows is cheaper.
    constructor(view, shadows = true) {
        this.view = view;
        this.why = document.createElement("p"); // why nothing is drawn
        this.why.className = "why";
        this.renderer = drawing(shadows);
        this.canvas = this.renderer?.domElement ?? document.createElement("canvas");
        view.append(this.canvas, this.why);
        this.scene = new THREE.Scene();
        this.scene.background = new THREE.Color(0xf7f8fa);
        this.scene.add(new THREE.HemisphereLight(0xffffff, 0x9a9690, 1.9));
        this.sun = new THREE.DirectionalLight(0xffffff, 1.6);
        this.sun.castShadow = shadows;
        this.sun.shadow.mapSize.set(1024, 1024);
        this.sun.shadow.normalBias = 0.02;
        this.scene.add(this.sun, this.sun.target);
        this.camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
        this.controls = new OrbitControls(this.camera, this.canvas);
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
            : this.add(form, new THREE.MeshLambertMaterial({
                  color, transparent: opacity < 1, opacity, side: THREE.DoubleSide,
                  depthWrite: opacity > 0.5,
              }));
        mesh.castShadow = !flat && opacity > 0.5;
        mesh.receiveShadow = mesh.castShadow;
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
        mesh.receiveShadow = true;
    }

    // ground takes the shadows of what stands above a point, with a grid of about a third of the radius of it all.
    ground([x, y, z], radius) {
        const step = 10 ** Math.floor(Math.log10(radius / 2));
        const cell = step * (5 * step <= radius / 2 ? 5 : 2 * step <= radius / 2 ? 2 : 1);
        const count = 2 * Math.ceil((4 * radius) / cell);
        const grid = new THREE.GridHelper(count * cell, count, 0xd2d6dc, 0xe2e5ea);
        grid.rotation.x = Math.PI / 2;
        grid.position.set(Math.round(x / cell) * cell, Math.round(y / cell) * cell, z);
        this.own.push({ dispose: () => grid.dispose() });
        this.shown.add(grid);
        const floor = this.add(square, new THREE.ShadowMaterial({ opacity: 0.28 }));
        floor.scale.setScalar(count * cell);
        floor.position.set(x, y, z);
        floor.receiveShadow = true;
    }

    // say shows why nothing is drawn, "" where something is.
    say(text) {
        this.why.textContent = this.renderer ? text : NO_WEBGL;
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
        // The sun stands at the left behind the camera; its shadow map covers the ball.
        this.sun.position.copy(center).addScaledVector(new THREE.Vector3(-0.35, -0.75, 1.3).normalize(), 6 * radius);
        this.sun.target.position.copy(center);
        const reach = { left: -1.6, right: 1.6, bottom: -1.6, top: 1.6, near: 1, far: 12 };
        for (const [side, times] of Object.entries(reach)) this.sun.shadow.camera[side] = times * radius;
        this.sun.shadow.normalBias = 0.004 * radius;
        this.sun.shadow.camera.updateProjectionMatrix();
        this.camera.updateProjectionMatrix();
    }

    // screen is where a point of the world is drawn, in pixels of the window.
    screen(point) {
        this.camera.updateMatrixWorld();
        const p = vec(point).project(this.camera);
        const box = this.canvas.getBoundingClientRect();
        return [box.left + ((p.x + 1) / 2) * box.width, box.top + ((1 - p.y) / 2) * box.height];
    }

    resize() {
        const { clientWidth: w, clientHeight: h } = this.view;
        if (!w || !h) return;
        this.renderer?.setSize(w, h);
        this.camera.aspect = w / h;
        this.camera.updateProjectionMatrix();
        this.draw();
    }

    draw() {
        if (this.renderer) this.renderer.shadowMap.needsUpdate = true;
        this.controls.update();
        this.render();
    }

    render() {
        if (this.view.clientWidth) this.renderer?.render(this.scene, this.camera);
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
