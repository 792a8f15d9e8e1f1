// What the drivers have in common. A driver wraps one library and answers the
// commands of batchbench, one a line, fields separated by tabs, each with one line
// of JSON:
//
//   hello                      name, version and flags of the library
//   shapes PATH                read the shapes, build the library's own
//   pairs PATH                 read pairs, convert the poses
//   configurations QUESTION    ways in which the library can answer it
//   run QUESTION CONFIGURATION answer all pairs once, and the time of the loop
//   answers PATH               write the answers of the last run
//   quit
//
// Questions: "boolean", do they overlap; "gjk", distance and witnesses where they
// are apart and else only that they overlap; "near", the same, but of pairs further
// apart than kNear only that they are; "signed", as "gjk" with depth and witnesses
// where they overlap; "differences", as "gjk", of rows in runs of nearly equal poses,
// for which a library may start from its last answer.
//
// The clock is the CPU time of the thread (CLOCK_THREAD_CPUTIME_ID) around the loop
// over the pairs: from poses in the library's own type to distance and witnesses in
// the world, no file, no allocation of ours. Shapes, poses and solvers are ready.
//
// Answers are float64 [N,8], little endian: distance, witness on A, witness on B,
// status (0 apart, 1 overlapping, 2 the library reports a failure). What the
// question does not ask for, or the library does not know, is NaN.
#pragma once

#include <time.h>

#include <boost/json.hpp>
#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "npz.hpp"

namespace peers {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Shape is an entry of the file of shapes. Lengths are metres, axes local z.
struct Shape {
  std::string kind;              // box, ellipsoid, capsule, cylinder, cone or convex
  double x = 0, y = 0, z = 0;    // half extents or semi-axes
  double radius = 0, half = 0;   // of round shapes
  std::vector<double> vertices;  // [V,3] of convex
  std::vector<int> triangles;    // [F,3], counter-clockwise seen from outside
};

// Pose is a position and a unit quaternion (w, x, y, z).
struct Pose {
  double p[3], q[4];

  // matrix writes the rotation, row by row.
  void matrix(double r[9]) const {
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)};
    std::copy(m, m + 9, r);
  }
};

struct Pairs {
  std::vector<int32_t> a, b;
  std::vector<Pose> poseA, poseB;
  size_t size() const { return a.size(); }
};

enum Status { kSeparated = 0, kPenetrating = 1, kFailed = 2 };

struct Answer {
  double distance, a[3], b[3], status;

  void set(double d, const double* wa, const double* wb, Status s) {
    distance = d;
    status = s;
    for (int i = 0; i < 3; i++) a[i] = wa ? wa[i] : kNaN, b[i] = wb ? wb[i] : kNaN;
  }
};
static_assert(sizeof(Answer) == 8 * sizeof(double), "answers are written as they lie in memory");

enum class Question { kBoolean, kGJK, kNear, kSigned, kDifferences };

constexpr double kNear = 0.1;  // metres

// Peer is one library.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual const char* name() const = 0;
  virtual std::string version() const = 0;
  // shapes builds the library's shapes; it throws what it cannot represent.
  virtual void shapes(const std::vector<Shape>& shapes) = 0;
  // pairs converts the poses.
  virtual void pairs(const Pairs& pairs) = 0;
  virtual std::vector<std::string> configurations(Question q) const = 0;
  // prepare sets the solver up, outside the clock.
  virtual void prepare(Question q, const std::string& configuration) = 0;
  // run answers every pair; it is what the clock sees.
  virtual void run(Question q, std::vector<Answer>& out) = 0;
};

inline double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

inline std::vector<Shape> readShapes(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path);
  std::stringstream text;
  text << in.rdbuf();
  std::vector<Shape> shapes;
  const auto file = boost::json::parse(text.str());
  for (const auto& value : file.at("shapes").as_array()) {
    const auto& o = value.as_object();
    Shape s;
    s.kind = boost::json::value_to<std::string>(o.at("kind"));
    auto lengths = [&](const char* key) {
      s.x = o.at(key).at(0).to_number<double>();
      s.y = o.at(key).at(1).to_number<double>();
      s.z = o.at(key).at(2).to_number<double>();
    };
    if (s.kind == "box") {
      lengths("half_extents");
    } else if (s.kind == "ellipsoid") {
      lengths("semi_axes");
    } else if (s.kind == "convex") {
      for (const auto& v : o.at("vertices").as_array())
        for (int k = 0; k < 3; k++) s.vertices.push_back(v.at(k).to_number<double>());
      for (const auto& t : o.at("triangles").as_array())
        for (int k = 0; k < 3; k++) s.triangles.push_back(t.at(k).to_number<int>());
    } else {
      s.radius = o.at("radius").to_number<double>();
      s.half = o.at("half_length").to_number<double>();
    }
    shapes.push_back(std::move(s));
  }
  return shapes;
}

inline Pairs readPairs(const std::string& path, size_t shapes) {
  const auto arrays = readNPZ(path);
  Pairs p;
  p.a = arrays.at("shape_a").as<int32_t>("<i4");
  p.b = arrays.at("shape_b").as<int32_t>("<i4");
  auto poses = [&](const char* position, const char* rotation) {
    const auto x = arrays.at(position).as<double>("<f8"), q = arrays.at(rotation).as<double>("<f8");
    if (x.size() != 3 * p.size() || q.size() != 4 * p.size())
      throw std::runtime_error(path + ": columns of different lengths");
    std::vector<Pose> out(p.size());
    for (size_t i = 0; i < p.size(); i++) {
      const double norm = std::sqrt(q[4 * i] * q[4 * i] + q[4 * i + 1] * q[4 * i + 1] + q[4 * i + 2] * q[4 * i + 2] +
                                    q[4 * i + 3] * q[4 * i + 3]);
      for (int k = 0; k < 3; k++) out[i].p[k] = x[3 * i + k];
      for (int k = 0; k < 4; k++) out[i].q[k] = q[4 * i + k] / norm;
    }
    return out;
  };
  if (p.b.size() != p.size()) throw std::runtime_error(path + ": columns of different lengths");
  p.poseA = poses("position_a", "rotation_a");
  p.poseB = poses("position_b", "rotation_b");
  for (size_t i = 0; i < p.size(); i++)
    if (p.a[i] < 0 || p.b[i] < 0 || size_t(p.a[i]) >= shapes || size_t(p.b[i]) >= shapes)
      throw std::runtime_error(path + ": no such shape");
  return p;
}

inline Question parseQuestion(const std::string& s) {
  if (s == "boolean") return Question::kBoolean;
  if (s == "gjk") return Question::kGJK;
  if (s == "near") return Question::kNear;
  if (s == "signed") return Question::kSigned;
  if (s == "differences") return Question::kDifferences;
  throw std::runtime_error("unknown question " + s);
}

// serve answers commands until quit or the end of the input.
inline int serve(Peer& peer, const char* flags) {
  size_t shapes = 0;
  std::vector<Answer> out;
  auto command = [&](const std::vector<std::string>& f) -> boost::json::object {
    const std::string& c = f[0];
    auto field = [&](size_t i) -> const std::string& {
      if (i >= f.size()) throw std::runtime_error("command " + c + " lacks a field");
      return f[i];
    };
    if (c == "hello") return {{"name", peer.name()}, {"version", peer.version()}, {"flags", flags}};
    if (c == "shapes") {
      const auto list = readShapes(field(1));
      peer.shapes(list);
      shapes = list.size();
      return {{"count", shapes}};
    }
    if (c == "pairs") {
      const Pairs p = readPairs(field(1), shapes);
      peer.pairs(p);
      out.assign(p.size(), Answer());
      return {{"count", p.size()}};
    }
    if (c == "configurations") {
      boost::json::array list;
      for (const auto& name : peer.configurations(parseQuestion(field(1)))) list.emplace_back(name);
      return {{"configurations", list}};
    }
    if (c == "run") {
      const Question q = parseQuestion(field(1));
      peer.prepare(q, field(2));
      for (auto& a : out) a.set(kNaN, nullptr, nullptr, kFailed);
      const double start = threadSeconds();
      peer.run(q, out);
      return {{"seconds", threadSeconds() - start}};
    }
    if (c == "answers") {
      std::ofstream file(field(1), std::ios::binary);
      file.write(reinterpret_cast<const char*>(out.data()), std::streamsize(out.size() * sizeof(Answer)));
      file.close();
      if (!file) throw std::runtime_error("cannot write " + field(1));
      return {{"count", out.size()}};
    }
    throw std::runtime_error("unknown command " + c);
  };
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::vector<std::string> fields;
    std::stringstream text(line);
    for (std::string s; std::getline(text, s, '\t');) fields.push_back(s);
    boost::json::object reply;
    try {
      reply = fields.empty() ? throw std::runtime_error("empty command") : command(fields);
    } catch (const std::exception& e) {
      reply = {{"error", e.what()}};
    }
    std::cout << boost::json::serialize(reply) << std::endl;
  }
  return 0;
}

}  // namespace peers
