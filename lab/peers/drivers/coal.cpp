// Driver of coal: GJK in its three variants, EPA where cores overlap.

#include <coal/config.hh>
#include <coal/internal/shape_shape_func.h>
#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <boost/json/src.hpp>
#include <memory>

#include "driver.hpp"

namespace {

using Hull = coal::Convex<coal::Triangle>;

// Solve is the function of coal for a pair of types: GJK and EPA, or a closed form
// where coal has one.
using Solve = coal::CoalScalar (*)(const coal::CollisionGeometry*, const coal::Transform3s&,
                                   const coal::CollisionGeometry*, const coal::Transform3s&, const coal::GJKSolver*,
                                   bool, coal::Vec3s&, coal::Vec3s&, coal::Vec3s&);

enum Kind { kBox, kEllipsoid, kCapsule, kCylinder, kCone, kConvex, kKinds };

template <typename A>
void fill(Solve* row) {
  row[kBox] = &coal::internal::ShapeShapeDistance<A, coal::Box>;
  row[kEllipsoid] = &coal::internal::ShapeShapeDistance<A, coal::Ellipsoid>;
  row[kCapsule] = &coal::internal::ShapeShapeDistance<A, coal::Capsule>;
  row[kCylinder] = &coal::internal::ShapeShapeDistance<A, coal::Cylinder>;
  row[kCone] = &coal::internal::ShapeShapeDistance<A, coal::Cone>;
  row[kConvex] = &coal::internal::ShapeShapeDistance<A, coal::ConvexBase>;
}

class Coal : public peers::Peer {
 public:
  Coal() {
    fill<coal::Box>(table_[kBox]);
    fill<coal::Ellipsoid>(table_[kEllipsoid]);
    fill<coal::Capsule>(table_[kCapsule]);
    fill<coal::Cylinder>(table_[kCylinder]);
    fill<coal::Cone>(table_[kCone]);
    fill<coal::ConvexBase>(table_[kConvex]);
  }

  const char* name() const override { return "coal"; }
  std::string version() const override { return COAL_VERSION; }

  void shapes(const std::vector<peers::Shape>& list) override {
    shapes_.clear();
    for (const auto& s : list) {
      Entry e;
      if (s.kind == "box") e = {kBox, std::make_shared<coal::Box>(2 * s.x, 2 * s.y, 2 * s.z)};
      else if (s.kind == "ellipsoid") e = {kEllipsoid, std::make_shared<coal::Ellipsoid>(s.x, s.y, s.z)};
      else if (s.kind == "capsule") e = {kCapsule, std::make_shared<coal::Capsule>(s.radius, 2 * s.half)};
      else if (s.kind == "cylinder") e = {kCylinder, std::make_shared<coal::Cylinder>(s.radius, 2 * s.half)};
      else if (s.kind == "cone") e = {kCone, std::make_shared<coal::Cone>(s.radius, 2 * s.half)};
      else if (s.kind == "convex") e = {kConvex, hull(s)};
      else throw std::runtime_error("no shape of kind " + s.kind);
      e.geometry->computeLocalAABB();
      shapes_.push_back(e);
    }
  }

  void pairs(const peers::Pairs& p) override {
    rows_.clear();
    for (size_t i = 0; i < p.size(); i++) {
      const Entry &a = shapes_[size_t(p.a[i])], &b = shapes_[size_t(p.b[i])];
      rows_.push_back({a.geometry.get(), b.geometry.get(), pose(p.poseA[i]), pose(p.poseB[i]), table_[a.kind][b.kind]});
    }
  }

  // The name of a configuration says all about it: the variant, the first guess, and the tolerance if it is not 1e-6.
  std::vector<std::string> configurations(peers::Question q) const override {
    std::vector<std::string> list = {"GJK",    "GJK, box centres",   "Nesterov", "Nesterov, box centres",
                                     "Polyak", "Polyak, box centres"};
    if (q != peers::Question::kDifferences) return list;
    for (const char* variant : {"GJK", "Nesterov", "Polyak"}) list.push_back(variant + std::string(", last answer"));
    for (size_t i = 0, n = list.size(); i < n; i++) list.push_back(list[i] + ", 1e-12");
    return list;
  }

  void prepare(peers::Question q, const std::string& c) override {
    solver_ = coal::GJKSolver();
    const auto says = [&](const char* word) { return c.find(word) != std::string::npos; };
    solver_.gjk_tolerance = solver_.epa_tolerance = says("1e-12") ? 1e-12 : 1e-6;
    solver_.gjk_max_iterations = 1000;
    solver_.epa_max_iterations = 256;
    solver_.gjk_variant = c[0] == 'N'   ? coal::NesterovAcceleration
                          : c[0] == 'P' ? coal::PolyakAcceleration
                                        : coal::DefaultGJK;
    solver_.gjk_initial_guess = says("centres") ? coal::BoundingVolumeGuess
                                : says("last")  ? coal::CachedGuess
                                                : coal::DefaultGuess;
    // A Boolean question ends as soon as the shapes are known to be apart, as coal's
    // own CollisionRequest has it.
    if (q == peers::Question::kBoolean) solver_.distance_upper_bound = 0;
    if (q == peers::Question::kNear) solver_.distance_upper_bound = peers::kNear;
  }

  void run(peers::Question q, std::vector<peers::Answer>& out) override {
    const bool depth = q == peers::Question::kSigned;
    const bool warm = solver_.gjk_initial_guess == coal::CachedGuess;
    coal::Vec3s a, b, normal;
    for (size_t i = 0; i < rows_.size(); i++) {
      const Row& r = rows_[i];
      if (warm && (i == 0 || r.a != rows_[i - 1].a || r.b != rows_[i - 1].b)) {
        solver_.cached_guess = coal::Vec3s(1, 0, 0);
        solver_.support_func_cached_guess.setZero();
      }
      const double d = r.solve(r.a, r.poseA, r.b, r.poseB, &solver_, depth, a, b, normal);
      const bool apart = q == peers::Question::kBoolean ? d > 0 : d > solver_.gjk_tolerance;
      if (q == peers::Question::kBoolean)
        out[i].set(peers::kNaN, nullptr, nullptr, apart ? peers::kSeparated : peers::kPenetrating);
      else if (apart || depth) out[i].set(d, a.data(), b.data(), d > 0 ? peers::kSeparated : peers::kPenetrating);
      else out[i].set(peers::kNaN, nullptr, nullptr, peers::kPenetrating);
    }
  }

 private:
  struct Entry {
    Kind kind;
    std::shared_ptr<coal::CollisionGeometry> geometry;
  };
  struct Row {
    const coal::CollisionGeometry *a, *b;
    coal::Transform3s poseA, poseB;
    Solve solve;
    EIGEN_MAKE_ALIGNED_OPERATOR_NEW
  };

  static std::shared_ptr<coal::CollisionGeometry> hull(const peers::Shape& s) {
    auto points = std::make_shared<std::vector<coal::Vec3s>>();
    for (size_t i = 0; i < s.vertices.size(); i += 3)
      points->emplace_back(s.vertices[i], s.vertices[i + 1], s.vertices[i + 2]);
    auto faces = std::make_shared<std::vector<coal::Triangle>>();
    for (size_t i = 0; i < s.triangles.size(); i += 3)
      faces->emplace_back(s.triangles[i], s.triangles[i + 1], s.triangles[i + 2]);
    return std::make_shared<Hull>(points, unsigned(points->size()), faces, unsigned(faces->size()));
  }

  static coal::Transform3s pose(const peers::Pose& p) {
    double r[9];
    p.matrix(r);
    coal::Matrix3s m;
    m << r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8];
    return coal::Transform3s(m, coal::Vec3s(p.p[0], p.p[1], p.p[2]));
  }

  Solve table_[kKinds][kKinds];
  std::vector<Entry> shapes_;
  std::vector<Row> rows_;
  coal::GJKSolver solver_;
};

}  // namespace

int main() {
  Coal peer;
  return peers::serve(peer, PEER_FLAGS);
}
