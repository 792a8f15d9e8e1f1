// Driver of FCL: its solver by libccd, or with INDEP defined its own GJK and EPA.

#include <fcl/config.h>
#include <fcl/geometry/shape/box.h>
#include <fcl/geometry/shape/capsule.h>
#include <fcl/geometry/shape/cone.h>
#include <fcl/geometry/shape/convex.h>
#include <fcl/geometry/shape/cylinder.h>
#include <fcl/geometry/shape/ellipsoid.h>
#include <fcl/narrowphase/detail/gjk_solver_indep.h>
#include <fcl/narrowphase/detail/gjk_solver_libccd.h>

#include <boost/json/src.hpp>
#include <memory>

#include "driver.hpp"

namespace {

using Transform = fcl::Transform3d;
using Vector = fcl::Vector3d;
using Geometry = fcl::CollisionGeometryd;
#ifdef INDEP
using Solver = fcl::detail::GJKSolver_indepd;
#else
using Solver = fcl::detail::GJKSolver_libccdd;
#endif

// Functions of the library for a pair of types.
struct Functions {
  bool (*intersect)(const Solver&, const Geometry*, const Transform&, const Geometry*, const Transform&,
                    std::vector<fcl::ContactPointd>*);
  bool (*distance)(const Solver&, const Geometry*, const Transform&, const Geometry*, const Transform&, double*,
                   Vector*, Vector*);
  bool (*signedDistance)(const Solver&, const Geometry*, const Transform&, const Geometry*, const Transform&, double*,
                         Vector*, Vector*);
};

template <typename A, typename B>
Functions functions() {
  return {
      [](const Solver& s, const Geometry* a, const Transform& ta, const Geometry* b, const Transform& tb,
         std::vector<fcl::ContactPointd>* c) {
        return s.shapeIntersect(*static_cast<const A*>(a), ta, *static_cast<const B*>(b), tb, c);
      },
      [](const Solver& s, const Geometry* a, const Transform& ta, const Geometry* b, const Transform& tb, double* d,
         Vector* pa, Vector* pb) {
        return s.shapeDistance(*static_cast<const A*>(a), ta, *static_cast<const B*>(b), tb, d, pa, pb);
      },
      [](const Solver& s, const Geometry* a, const Transform& ta, const Geometry* b, const Transform& tb, double* d,
         Vector* pa, Vector* pb) {
        return s.shapeSignedDistance(*static_cast<const A*>(a), ta, *static_cast<const B*>(b), tb, d, pa, pb);
      },
  };
}

enum Kind { kBox, kEllipsoid, kCapsule, kCylinder, kCone, kConvex, kKinds };

template <typename A>
void fill(Functions* row) {
  row[kBox] = functions<A, fcl::Boxd>();
  row[kEllipsoid] = functions<A, fcl::Ellipsoidd>();
  row[kCapsule] = functions<A, fcl::Capsuled>();
  row[kCylinder] = functions<A, fcl::Cylinderd>();
  row[kCone] = functions<A, fcl::Coned>();
  row[kConvex] = functions<A, fcl::Convexd>();
}

class FCL : public peers::Peer {
 public:
  FCL() {
    fill<fcl::Boxd>(table_[kBox]);
    fill<fcl::Ellipsoidd>(table_[kEllipsoid]);
    fill<fcl::Capsuled>(table_[kCapsule]);
    fill<fcl::Cylinderd>(table_[kCylinder]);
    fill<fcl::Coned>(table_[kCone]);
    fill<fcl::Convexd>(table_[kConvex]);
#ifdef INDEP
    solver_.gjk_tolerance = solver_.epa_tolerance = 1e-6;
    solver_.gjk_max_iterations = 1000;
#else
    solver_.distance_tolerance = solver_.collision_tolerance = 1e-6;
    solver_.max_distance_iterations = solver_.max_collision_iterations = 1000;
#endif
  }

#ifdef INDEP
  const char* name() const override { return "FCL, own GJK"; }
#else
  const char* name() const override { return "FCL, libccd"; }
#endif
  std::string version() const override { return FCL_VERSION; }

  void shapes(const std::vector<peers::Shape>& list) override {
    shapes_.clear();
    for (const auto& s : list) {
      if (s.kind == "box") shapes_.push_back({kBox, std::make_shared<fcl::Boxd>(2 * s.x, 2 * s.y, 2 * s.z)});
      else if (s.kind == "ellipsoid") shapes_.push_back({kEllipsoid, std::make_shared<fcl::Ellipsoidd>(s.x, s.y, s.z)});
      else if (s.kind == "capsule")
        shapes_.push_back({kCapsule, std::make_shared<fcl::Capsuled>(s.radius, 2 * s.half)});
      else if (s.kind == "cylinder")
        shapes_.push_back({kCylinder, std::make_shared<fcl::Cylinderd>(s.radius, 2 * s.half)});
      else if (s.kind == "cone") shapes_.push_back({kCone, std::make_shared<fcl::Coned>(s.radius, 2 * s.half)});
      else if (s.kind == "convex") shapes_.push_back({kConvex, hull(s)});
      else throw std::runtime_error("no shape of kind " + s.kind);
      shapes_.back().geometry->computeLocalAABB();
    }
  }

  void pairs(const peers::Pairs& p) override {
    rows_.clear();
    for (size_t i = 0; i < p.size(); i++) {
      const Entry &a = shapes_[size_t(p.a[i])], &b = shapes_[size_t(p.b[i])];
      rows_.push_back(
          {a.geometry.get(), b.geometry.get(), pose(p.poseA[i]), pose(p.poseB[i]), &table_[a.kind][b.kind]});
    }
  }

  std::vector<std::string> configurations(peers::Question q) const override {
    switch (q) {
      case peers::Question::kBoolean: return {"shapeIntersect"};
      case peers::Question::kGJK: return {"shapeDistance"};
      case peers::Question::kNear: return {};  // it has no limit
      default: break;
    }
#ifdef INDEP
    return {"shapeDistance, then shapeIntersect"};
#else
    return {"shapeSignedDistance"};  // shapeIntersect is MPR, whose depth is not the least
#endif
  }

  void prepare(peers::Question, const std::string& c) override { together_ = c == "shapeSignedDistance"; }

  void run(peers::Question q, std::vector<peers::Answer>& out) override {
    for (size_t i = 0; i < rows_.size(); i++) {
      const Row& r = rows_[i];
      if (q == peers::Question::kBoolean) {
        const bool hit = r.f->intersect(solver_, r.a, r.poseA, r.b, r.poseB, nullptr);
        out[i].set(peers::kNaN, nullptr, nullptr, hit ? peers::kPenetrating : peers::kSeparated);
        continue;
      }
      double d = peers::kNaN;
      Vector a, b;
      if (q == peers::Question::kSigned && together_) {
        r.f->signedDistance(solver_, r.a, r.poseA, r.b, r.poseB, &d, &a, &b);
        out[i].set(d, a.data(), b.data(), d > 0 ? peers::kSeparated : peers::kPenetrating);
        continue;
      }
      // Closed forms, as that of two capsules, return true whatever the sign.
      if (r.f->distance(solver_, r.a, r.poseA, r.b, r.poseB, &d, &a, &b) && (d > 0 || q == peers::Question::kSigned)) {
        out[i].set(d, a.data(), b.data(), d > 0 ? peers::kSeparated : peers::kPenetrating);
        continue;
      }
      out[i].set(peers::kNaN, nullptr, nullptr, peers::kPenetrating);
      if (q != peers::Question::kSigned) continue;
      contacts_.clear();
      if (!r.f->intersect(solver_, r.a, r.poseA, r.b, r.poseB, &contacts_) || contacts_.empty()) continue;
      size_t deepest = 0;
      for (size_t k = 1; k < contacts_.size(); k++)
        if (contacts_[k].penetration_depth > contacts_[deepest].penetration_depth) deepest = k;
      const auto& c = contacts_[deepest];
      // FCL's own EPA gives the depth a sign that its closed forms do not.
      const double depth = std::abs(c.penetration_depth);
      a = c.pos + 0.5 * depth * c.normal;
      b = c.pos - 0.5 * depth * c.normal;
      out[i].set(-depth, a.data(), b.data(), peers::kPenetrating);
    }
  }

 private:
  struct Entry {
    Kind kind;
    std::shared_ptr<Geometry> geometry;
  };
  struct Row {
    const Geometry *a, *b;
    Transform poseA, poseB;
    const Functions* f;
  };

  static std::shared_ptr<Geometry> hull(const peers::Shape& s) {
    auto points = std::make_shared<std::vector<Vector>>();
    for (size_t i = 0; i < s.vertices.size(); i += 3)
      points->emplace_back(s.vertices[i], s.vertices[i + 1], s.vertices[i + 2]);
    auto faces = std::make_shared<std::vector<int>>();
    for (size_t i = 0; i < s.triangles.size(); i += 3) {
      faces->push_back(3);
      faces->insert(faces->end(), s.triangles.begin() + long(i), s.triangles.begin() + long(i) + 3);
    }
    return std::make_shared<fcl::Convexd>(points, int(s.triangles.size() / 3), faces, true);
  }

  static Transform pose(const peers::Pose& p) {
    double r[9];
    p.matrix(r);
    Transform t = Transform::Identity();
    t.linear() << r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8];
    t.translation() = Vector(p.p[0], p.p[1], p.p[2]);
    return t;
  }

  Functions table_[kKinds][kKinds];
  std::vector<Entry> shapes_;
  std::vector<Row> rows_;
  std::vector<fcl::ContactPointd> contacts_;
  Solver solver_;
  bool together_ = false;
};

}  // namespace

int main() {
  FCL peer;
  return peers::serve(peer, PEER_FLAGS);
}
