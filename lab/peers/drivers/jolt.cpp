// Driver of Jolt, in single precision: its GJK and EPA over its shapes, called as
// ConvexShape::sCollideConvexVsConvex calls them, without its early test of boxes,
// which a distance cannot use. Jolt has no ellipsoid and no cone; their support functions
// are ours, derived from Jolt's own class.

#include <Jolt/Jolt.h>
#include <Jolt/Geometry/ConvexSupport.h>
#include <Jolt/Geometry/EPAPenetrationDepth.h>
#include <Jolt/Geometry/GJKClosestPoint.h>
#include <Jolt/Physics/Collision/Shape/BoxShape.h>
#include <Jolt/Physics/Collision/Shape/CapsuleShape.h>
#include <Jolt/Physics/Collision/Shape/ConvexHullShape.h>
#include <Jolt/Physics/Collision/Shape/CylinderShape.h>

#include <boost/json/src.hpp>
#include <memory>

#include "driver.hpp"

namespace {

using JPH::Mat44;
using JPH::Quat;
using JPH::Vec3;
using Support = JPH::ConvexShape::Support;

class EllipsoidSupport final : public Support {
 public:
  explicit EllipsoidSupport(Vec3 axes) : axes_(axes) {}
  Vec3 GetSupport(JPH::Vec3Arg d) const override {
    const Vec3 s = axes_ * d;
    const float length = s.Length();
    return length > 0 ? axes_ * s / length : Vec3(axes_.GetX(), 0, 0);
  }
  float GetConvexRadius() const override { return 0; }

 private:
  Vec3 axes_;
};

// The apex is at +z.
class ConeSupport final : public Support {
 public:
  ConeSupport(float radius, float half) : radius_(radius), half_(half) {}
  Vec3 GetSupport(JPH::Vec3Arg d) const override {
    const float across = std::sqrt(d.GetX() * d.GetX() + d.GetY() * d.GetY());
    if (2 * half_ * d.GetZ() > radius_ * across) return Vec3(0, 0, half_);
    if (!(across > 0)) return Vec3(0, 0, -half_);
    return Vec3(radius_ * d.GetX() / across, radius_ * d.GetY() / across, -half_);
  }
  float GetConvexRadius() const override { return 0; }

 private:
  float radius_, half_;
};

// Body is a shape of Jolt's or a support function of ours.
struct Body {
  JPH::RefConst<JPH::ConvexShape> shape;
  std::shared_ptr<Support> support;
  Quat turn = Quat::sIdentity();  // from the axis of Jolt's shape, y, to z
  Vec3 centre = Vec3::sZero();    // Jolt puts the centre of mass at the origin

  const Support* get(JPH::ConvexShape::ESupportMode mode, JPH::ConvexShape::SupportBuffer& buffer) const {
    return shape ? shape->GetSupportFunction(mode, buffer, Vec3::sReplicate(1)) : support.get();
  }
};

constexpr float kTolerance = 1e-6f;       // of GJK, metres
constexpr float kEPATolerance = 1e-6f;    // of EPA, relative to the square of the depth
constexpr float kMaxSeparation = 4;       // metres; no pair of the sets is farther apart

class Jolt : public peers::Peer {
 public:
  const char* name() const override { return "Jolt, float32"; }
  std::string version() const override {
    return std::to_string(JPH_VERSION_MAJOR) + "." + std::to_string(JPH_VERSION_MINOR) + "." +
           std::to_string(JPH_VERSION_PATCH);
  }

  void shapes(const std::vector<peers::Shape>& list) override {
    bodies_.clear();
    const Quat toZ = Quat::sRotation(Vec3::sAxisX(), 0.5f * JPH::JPH_PI);
    for (const auto& s : list) {
      Body b;
      if (s.kind == "box") {
        b.shape = new JPH::BoxShape(Vec3(float(s.x), float(s.y), float(s.z)), 0.0f);
      } else if (s.kind == "ellipsoid") {
        b.support = std::make_shared<EllipsoidSupport>(Vec3(float(s.x), float(s.y), float(s.z)));
      } else if (s.kind == "capsule") {
        b.shape = new JPH::CapsuleShape(float(s.half), float(s.radius));
        b.turn = toZ;
      } else if (s.kind == "cylinder") {
        b.shape = new JPH::CylinderShape(float(s.half), float(s.radius), 0.0f);
        b.turn = toZ;
      } else if (s.kind == "cone") {
        b.support = std::make_shared<ConeSupport>(float(s.radius), float(s.half));
      } else if (s.kind == "convex") {
        hull(s, b);
      } else {
        throw std::runtime_error("no shape of kind " + s.kind);
      }
      bodies_.push_back(b);
    }
  }

  void pairs(const peers::Pairs& p) override {
    rows_.clear();
    for (size_t i = 0; i < p.size(); i++) {
      const Body &a = bodies_[size_t(p.a[i])], &b = bodies_[size_t(p.b[i])];
      rows_.push_back({pose(p.poseA[i], a), pose(p.poseB[i], b), &a, &b});
    }
  }

  std::vector<std::string> configurations(peers::Question q) const override {
    if (q == peers::Question::kNear) return {};
    return {"tolerances 1e-6"};
  }
  void prepare(peers::Question, const std::string&) override {}

  void run(peers::Question q, std::vector<peers::Answer>& out) override {
    using Mode = JPH::ConvexShape::ESupportMode;
    for (size_t i = 0; i < rows_.size(); i++) {
      const Row& r = rows_[i];
      const Mat44 relative = r.poseA.InversedRotationTranslation() * r.poseB;
      Vec3 v = relative.GetTranslation();
      if (v.IsNearZero()) v = Vec3::sAxisX();

      JPH::ConvexShape::SupportBuffer bufferA, bufferB;
      if (q == peers::Question::kBoolean) {
        const Support *a = r.a->get(Mode::IncludeConvexRadius, bufferA),
                      *b = r.b->get(Mode::IncludeConvexRadius, bufferB);
        JPH::GJKClosestPoint gjk;
        const bool hit = gjk.Intersects(*a, JPH::TransformedConvexObject<Support>(relative, *b), kTolerance, v);
        out[i].set(peers::kNaN, nullptr, nullptr, hit ? peers::kPenetrating : peers::kSeparated);
        continue;
      }
      Vec3 pa, pb;
      JPH::EPAPenetrationDepth depth;
      JPH::EPAPenetrationDepth::EStatus status;
      {
        const Support *a = r.a->get(Mode::ExcludeConvexRadius, bufferA),
                      *b = r.b->get(Mode::ExcludeConvexRadius, bufferB);
        const float ra = a->GetConvexRadius(), rb = b->GetConvexRadius();
        status = depth.GetPenetrationDepthStepGJK(
            *a, ra + kMaxSeparation, JPH::TransformedConvexObject<Support>(relative, *b), rb, kTolerance, v, pa, pb);
        if (status == JPH::EPAPenetrationDepth::EStatus::Colliding) {
          const float length = v.Length();
          pa -= v * (kMaxSeparation / length);  // back to the surface of A
          put(out[i], q, length - ra - rb, r.poseA * pa, r.poseA * pb);
          continue;
        }
      }
      if (status == JPH::EPAPenetrationDepth::EStatus::NotColliding) continue;  // a failure: nothing is that far apart
      if (q != peers::Question::kSigned) {
        out[i].set(peers::kNaN, nullptr, nullptr, peers::kPenetrating);
        continue;
      }
      const Support *a = r.a->get(Mode::IncludeConvexRadius, bufferA),
                    *b = r.b->get(Mode::IncludeConvexRadius, bufferB);
      if (depth.GetPenetrationDepthStepEPA(*a, JPH::TransformedConvexObject<Support>(relative, *b), kEPATolerance, v,
                                           pa, pb))
        put(out[i], q, -(pb - pa).Length(), r.poseA * pa, r.poseA * pb);
      else
        out[i].set(0, nullptr, nullptr, peers::kSeparated);  // EPA says that they do not collide after all
    }
  }

 private:
  struct Row {
    Mat44 poseA, poseB;
    const Body *a, *b;
  };

  static void put(peers::Answer& out, peers::Question q, float d, Vec3 a, Vec3 b) {
    if (d <= 0 && q != peers::Question::kSigned) {
      out.set(peers::kNaN, nullptr, nullptr, peers::kPenetrating);
      return;
    }
    const double pa[3] = {a.GetX(), a.GetY(), a.GetZ()}, pb[3] = {b.GetX(), b.GetY(), b.GetZ()};
    out.set(d, pa, pb, d > 0 ? peers::kSeparated : peers::kPenetrating);
  }

  static void hull(const peers::Shape& s, Body& b) {
    JPH::Array<Vec3> points;
    for (size_t i = 0; i < s.vertices.size(); i += 3)
      points.push_back(Vec3(float(s.vertices[i]), float(s.vertices[i + 1]), float(s.vertices[i + 2])));
    if (points.size() > size_t(JPH::ConvexHullShape::cMaxPointsInHull))
      throw std::runtime_error("Jolt has no hull of more than " +
                               std::to_string(JPH::ConvexHullShape::cMaxPointsInHull) + " vertices");
    JPH::ConvexHullShapeSettings settings(points, 0.0f);
    settings.mHullTolerance = 1e-6f;  // keep every vertex
    auto result = settings.Create();
    if (result.HasError()) throw std::runtime_error(std::string("Jolt refuses a hull: ") + result.GetError().c_str());
    b.shape = static_cast<const JPH::ConvexShape*>(result.Get().GetPtr());
    b.centre = b.shape->GetCenterOfMass();
  }

  static Mat44 pose(const peers::Pose& p, const Body& b) {
    const Quat q(float(p.q[1]), float(p.q[2]), float(p.q[3]), float(p.q[0]));
    return Mat44::sRotationTranslation((q * b.turn).Normalized(), Vec3(float(p.p[0]), float(p.p[1]), float(p.p[2])))
        .PreTranslated(b.centre);
  }

  std::vector<Body> bodies_;
  std::vector<Row> rows_;
};

}  // namespace

int main() {
  JPH::RegisterDefaultAllocator();
  Jolt peer;
  return peers::serve(peer, PEER_FLAGS);
}
