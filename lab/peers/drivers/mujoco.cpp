// Driver of MuJoCo: mj_geomDistance, the public entry to its native convex solver.
// Nothing is simulated; poses go straight to the geoms.

#include <mujoco/mujoco.h>

#include <algorithm>
#include <boost/json/src.hpp>
#include <cstdio>

#include "driver.hpp"

namespace {

class MuJoCo : public peers::Peer {
 public:
  ~MuJoCo() override { drop(); }

  const char* name() const override { return "MuJoCo"; }
  std::string version() const override { return mj_versionString(); }

  void shapes(const std::vector<peers::Shape>& list) override {
    drop();
    // Two geoms of each shape, for pairs of a shape with itself.
    std::string assets, geoms;
    for (size_t i = 0; i < list.size(); i++) {
      const auto& s = list[i];
      std::string attributes = "type=\"" + s.kind + "\" size=\"";
      if (s.kind == "box" || s.kind == "ellipsoid") {
        attributes += number(s.x) + number(s.y) + number(s.z) + "\"";
      } else if (s.kind == "capsule" || s.kind == "cylinder") {
        attributes += number(s.radius) + number(s.half) + "\"";
      } else if (s.kind == "convex") {
        const std::string mesh = "m" + std::to_string(i);
        assets += "<mesh name=\"" + mesh + "\" inertia=\"convex\" vertex=\"";
        for (double v : s.vertices) assets += number(v);
        assets += "\"/>";
        attributes = "type=\"mesh\" mesh=\"" + mesh + "\"";
      } else {
        throw std::runtime_error("MuJoCo has no " + s.kind);
      }
      for (int k = 0; k < 2; k++) geoms += "<geom " + attributes + "/>";
    }
    const std::string xml =
        "<mujoco><compiler boundmass=\"1e-9\" boundinertia=\"1e-12\"/><option ccd_tolerance=\"1e-6\" "
        "ccd_iterations=\"200\"/><asset>" +
        assets + "</asset><worldbody>" + geoms + "</worldbody></mujoco>";
    char error[500] = "";
    mjSpec* spec = mj_parseXMLString(xml.c_str(), nullptr, error, sizeof error);
    if (!spec) throw std::runtime_error(error);
    model_ = mj_compile(spec, nullptr);
    const std::string why = model_ ? "" : mjs_getError(spec);
    mj_deleteSpec(spec);
    if (!model_) throw std::runtime_error(why);
    if (size_t(model_->ngeom) != 2 * list.size()) throw std::runtime_error("MuJoCo made another number of geoms");
    data_ = mj_makeData(model_);
  }

  void pairs(const peers::Pairs& p) override {
    rows_.clear();
    for (size_t i = 0; i < p.size(); i++) {
      Row r;
      r.a = 2 * p.a[i];
      r.b = 2 * p.b[i] + 1;
      place(p.poseA[i], r.a, r.positionA, r.matrixA);
      place(p.poseB[i], r.b, r.positionB, r.matrixB);
      rows_.push_back(r);
    }
  }

  std::vector<std::string> configurations(peers::Question q) const override {
    if (q == peers::Question::kBoolean) return {"mj_geomDistance, cut off at 0"};
    if (q == peers::Question::kNear) return {"mj_geomDistance, cut off at 0.1 m"};
    return {"mj_geomDistance"};
  }

  void prepare(peers::Question, const std::string&) override {}

  void run(peers::Question q, std::vector<peers::Answer>& out) override {
    const bool boolean = q == peers::Question::kBoolean;
    const double limit = q == peers::Question::kNear ? peers::kNear : 1e6;
    for (size_t i = 0; i < rows_.size(); i++) {
      const Row& r = rows_[i];
      std::copy_n(r.positionA, 3, data_->geom_xpos + 3 * r.a);
      std::copy_n(r.positionB, 3, data_->geom_xpos + 3 * r.b);
      std::copy_n(r.matrixA, 9, data_->geom_xmat + 9 * r.a);
      std::copy_n(r.matrixB, 9, data_->geom_xmat + 9 * r.b);
      if (boolean) {
        const double d = mj_geomDistance(model_, data_, r.a, r.b, 0, nullptr);
        out[i].set(peers::kNaN, nullptr, nullptr, d < 0 ? peers::kPenetrating : peers::kSeparated);
        continue;
      }
      double ends[6];
      const double d = mj_geomDistance(model_, data_, r.a, r.b, limit, ends);
      if (d > 0 || q == peers::Question::kSigned)
        out[i].set(d, ends, ends + 3, d > 0 ? peers::kSeparated : peers::kPenetrating);
      else out[i].set(peers::kNaN, nullptr, nullptr, peers::kPenetrating);
    }
  }

 private:
  struct Row {
    int a, b;
    double positionA[3], positionB[3], matrixA[9], matrixB[9];
  };

  static std::string number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g ", v);
    return text;
  }

  // place forms the frame of a geom: MuJoCo moves meshes into frames of their own.
  void place(const peers::Pose& pose, int geom, double position[3], double matrix[9]) const {
    double q[4];
    mju_mulQuat(q, pose.q, model_->geom_quat + 4 * geom);
    mju_normalize4(q);
    mju_quat2Mat(matrix, q);
    mju_rotVecQuat(position, model_->geom_pos + 3 * geom, pose.q);
    mju_addTo3(position, pose.p);
  }

  void drop() {
    if (data_) mj_deleteData(data_);
    if (model_) mj_deleteModel(model_);
    data_ = nullptr;
    model_ = nullptr;
  }

  mjModel* model_ = nullptr;
  mjData* data_ = nullptr;
  std::vector<Row> rows_;
};

}  // namespace

int main() {
  MuJoCo peer;
  return peers::serve(peer, PEER_FLAGS);
}
