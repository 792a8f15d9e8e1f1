//! parry3d: shapes, poses and the loop that is timed.

use crate::files;
use parry3d_f64::math::{Pose, Real, Rotation, Vector};
use parry3d_f64::query::{self, details, ClosestPoints};
use parry3d_f64::shape::{Capsule, Cone, ConvexPolyhedron, Cuboid, Cylinder, Shape, SupportMap};

/// What is asked; driver.hpp says what each is.
#[derive(Clone, Copy, PartialEq)]
pub enum Question {
    Boolean,
    Gjk,
    Signed,
}

impl Question {
    pub fn parse(s: &str) -> Result<Question, String> {
        match s {
            "boolean" => Ok(Question::Boolean),
            "gjk" => Ok(Question::Gjk),
            "signed" => Ok(Question::Signed),
            _ => Err(format!("unknown question {s}")),
        }
    }
}

/// Configuration: parry's functions for shapes, which choose a method by type.
pub const DISPATCHED: &str = "query functions";
/// Configuration: GJK and EPA on support maps, for every pair.
pub const SUPPORT_MAPS: &str = "GJK on support maps";

/// parry has no ellipsoid; its GJK takes any support map.
struct Ellipsoid(Vector);

impl SupportMap for Ellipsoid {
    fn local_support_point(&self, dir: Vector) -> Vector {
        let scaled = self.0 * dir;
        let length = scaled.length();
        if length > 0.0 {
            self.0 * scaled / length
        } else {
            Vector::new(self.0.x, 0.0, 0.0)
        }
    }
}

enum Body {
    Known(Box<dyn Shape>),
    Ellipsoid(Ellipsoid),
}

impl Body {
    fn support_map(&self) -> &dyn SupportMap {
        match self {
            Body::Known(s) => s.as_support_map().expect("all shapes of the sets have one"),
            Body::Ellipsoid(e) => e,
        }
    }
}

struct Row {
    a: usize,
    b: usize,
    pose_a: Pose,
    pose_b: Pose,
}

#[derive(Default)]
pub struct Peer {
    bodies: Vec<(Body, bool)>, // and whether the axis is y instead of z
    rows: Vec<Row>,
    pub out: Vec<[f64; 8]>,
}

const APART: f64 = 0.0;
const OVERLAP: f64 = 1.0;
const FAILED: f64 = 2.0;

fn only(status: f64) -> [f64; 8] {
    let mut a = [f64::NAN; 8];
    a[7] = status;
    a
}

fn full(distance: f64, a: Vector, b: Vector) -> [f64; 8] {
    [distance, a.x, a.y, a.z, b.x, b.y, b.z, if distance > 0.0 { APART } else { OVERLAP }]
}

impl Peer {
    pub fn shapes(&mut self, list: &[files::Shape]) -> Result<usize, String> {
        self.bodies.clear();
        for s in list {
            let vector = |v: &[f64]| Vector::new(v[0], v[1], v[2]);
            let (body, axis_y): (Body, bool) = match s.kind.as_str() {
                "box" => (Body::Known(Box::new(Cuboid::new(vector(&s.half_extents)))), false),
                "ellipsoid" => (Body::Ellipsoid(Ellipsoid(vector(&s.semi_axes))), false),
                "capsule" => (Body::Known(Box::new(Capsule::new_z(s.half_length, s.radius))), false),
                "cylinder" => (Body::Known(Box::new(Cylinder::new(s.half_length, s.radius))), true),
                "cone" => (Body::Known(Box::new(Cone::new(s.half_length, s.radius))), true),
                "convex" => {
                    let points = s.vertices.iter().map(|v| vector(v)).collect();
                    let hull = ConvexPolyhedron::from_convex_mesh(points, &s.triangles).ok_or("parry refuses a hull")?;
                    (Body::Known(Box::new(hull)), false)
                }
                other => return Err(format!("parry has no {other}")),
            };
            self.bodies.push((body, axis_y));
        }
        Ok(self.bodies.len())
    }

    pub fn pairs(&mut self, p: &files::Pairs) -> Result<usize, String> {
        self.rows.clear();
        for i in 0..p.shape[0].len() {
            let (a, b) = (p.shape[0][i] as usize, p.shape[1][i] as usize);
            if a >= self.bodies.len() || b >= self.bodies.len() {
                return Err("no such shape".into());
            }
            self.rows.push(Row { a, b, pose_a: self.pose(p, 0, i, a), pose_b: self.pose(p, 1, i, b) });
        }
        self.out = vec![only(FAILED); self.rows.len()];
        Ok(self.rows.len())
    }

    fn pose(&self, p: &files::Pairs, side: usize, i: usize, body: usize) -> Pose {
        let (x, q) = (&p.position[side][3 * i..3 * i + 3], &p.rotation[side][4 * i..4 * i + 4]);
        let mut rotation = Rotation::from_xyzw(q[1], q[2], q[3], q[0]).normalize();
        if self.bodies[body].1 {
            // A quarter turn about x takes the axis y to the axis z.
            let h = std::f64::consts::FRAC_1_SQRT_2;
            rotation *= Rotation::from_xyzw(h, 0.0, 0.0, h);
        }
        Pose::from_parts(Vector::new(x[0], x[1], x[2]), rotation)
    }

    pub fn configurations(&self, _: Question) -> Vec<&'static str> {
        if self.bodies.iter().any(|(b, _)| matches!(b, Body::Ellipsoid(_))) {
            vec![SUPPORT_MAPS]
        } else {
            vec![DISPATCHED, SUPPORT_MAPS]
        }
    }

    pub fn run(&mut self, question: Question, dispatched: bool) {
        for (row, out) in self.rows.iter().zip(self.out.iter_mut()) {
            let (a, b) = (&self.bodies[row.a].0, &self.bodies[row.b].0);
            *out = match (dispatched, a, b) {
                (true, Body::Known(a), Body::Known(b)) => answer(question, row, a.as_ref(), b.as_ref()),
                _ => answer_by_support(question, row, a.support_map(), b.support_map()),
            };
        }
    }
}

fn answer(question: Question, r: &Row, a: &dyn Shape, b: &dyn Shape) -> [f64; 8] {
    match question {
        Question::Boolean => match query::intersection_test(&r.pose_a, a, &r.pose_b, b) {
            Ok(hit) => only(if hit.intersecting { OVERLAP } else { APART }),
            Err(_) => only(FAILED),
        },
        Question::Gjk => match query::closest_points(&r.pose_a, a, &r.pose_b, b, Real::MAX) {
            Ok(ClosestPoints::WithinMargin(p, q)) => full((q - p).length(), p, q),
            Ok(ClosestPoints::Intersecting) => only(OVERLAP),
            _ => only(FAILED),
        },
        Question::Signed => match query::contact(&r.pose_a, a, &r.pose_b, b, Real::MAX) {
            Ok(Some(c)) => full(c.dist, c.point1, c.point2),
            _ => only(FAILED),
        },
    }
}

fn answer_by_support(question: Question, r: &Row, a: &dyn SupportMap, b: &dyn SupportMap) -> [f64; 8] {
    let relative = r.pose_a.inv_mul(&r.pose_b);
    match question {
        Question::Boolean => {
            let overlap = details::intersection_test_support_map_support_map(&relative, a, b);
            only(if overlap { OVERLAP } else { APART })
        }
        Question::Gjk => match details::closest_points_support_map_support_map(&relative, a, b, Real::MAX) {
            ClosestPoints::WithinMargin(p, q) => {
                let (p, q) = (r.pose_a * p, r.pose_b * q);
                full((q - p).length(), p, q)
            }
            ClosestPoints::Intersecting => only(OVERLAP),
            ClosestPoints::Disjoint => only(FAILED),
        },
        Question::Signed => match details::contact_support_map_support_map(&relative, a, b, Real::MAX) {
            Some(c) => full(c.dist, r.pose_a * c.point1, r.pose_b * c.point2),
            None => only(FAILED),
        },
    }
}
