// Times of the broad phases of coal and of FCL (-DFCL) on the boxes of a file, for lab/notebook/broadphase.md.
//
//   broadphase-coal boxes.bin rounds
//
// The file holds float64 numbers: per box the lower and the upper corner. Objects are boxes without rotation, whose
// bounds are these boxes but for a rounding of the extents. Printed are medians of processor time in milliseconds and
// the number of pairs: of building the manager and finding all pairs, and of finding them again with update() after
// all objects have moved by a millimeter.

#ifdef FCL
#include <fcl/broadphase/broadphase_SaP.h>
#include <fcl/broadphase/broadphase_dynamic_AABB_tree.h>
#include <fcl/broadphase/broadphase_dynamic_AABB_tree_array.h>
#include <fcl/geometry/shape/box.h>
#include <fcl/narrowphase/collision_object.h>
#else
#include <coal/broadphase/broadphase_SaP.h>
#include <coal/broadphase/broadphase_dynamic_AABB_tree.h>
#include <coal/broadphase/broadphase_dynamic_AABB_tree_array.h>
#include <coal/collision_object.h>
#include <coal/shape/geometric_shapes.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

namespace {

// now returns the processor time of the process, in milliseconds.
double now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * double(t.tv_sec) + 1e-6 * double(t.tv_nsec);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

#ifdef FCL
using Object = fcl::CollisionObjectd;
using Tree = fcl::DynamicAABBTreeCollisionManagerd;
using Array = fcl::DynamicAABBTreeCollisionManager_Arrayd;
using Sweep = fcl::SaPCollisionManagerd;

struct Counter {
  size_t pairs = 0;
};

bool count(Object*, Object*, void* data) {
  static_cast<Counter*>(data)->pairs++;
  return false;
}

template <typename Manager>
size_t find(Manager& m) {
  Counter c;
  m.collide(&c, &count);
  return c.pairs;
}

std::unique_ptr<Object> object(const double* b) {
  auto shape = std::make_shared<fcl::Boxd>(b[3] - b[0], b[4] - b[1], b[5] - b[2]);
  auto o = std::make_unique<Object>(shape);
  o->setTranslation(fcl::Vector3d((b[0] + b[3]) / 2, (b[1] + b[4]) / 2, (b[2] + b[5]) / 2));
  o->computeAABB();
  return o;
}
#else
using Object = coal::CollisionObject;
using Tree = coal::DynamicAABBTreeCollisionManager;
using Array = coal::DynamicAABBTreeArrayCollisionManager;
using Sweep = coal::SaPCollisionManager;

struct Counter : coal::CollisionCallBackBase {
  size_t pairs = 0;
  bool collide(Object*, Object*) override {
    pairs++;
    return false;
  }
};

template <typename Manager>
size_t find(Manager& m) {
  Counter c;
  m.collide(&c);
  return c.pairs;
}

std::unique_ptr<Object> object(const double* b) {
  auto shape = std::make_shared<coal::Box>(b[3] - b[0], b[4] - b[1], b[5] - b[2]);
  auto o = std::make_unique<Object>(shape);
  o->setTranslation(coal::Vec3s((b[0] + b[3]) / 2, (b[1] + b[4]) / 2, (b[2] + b[5]) / 2));
  o->computeAABB();
  return o;
}
#endif

// move moves an object by the given length along an axis, and computes its bounds.
void move(Object& o, double by, size_t axis) {
  auto t = o.getTranslation().eval();
  t[axis % 3] += by;
  o.setTranslation(t);
  o.computeAABB();
}

template <typename Manager>
void measure(const char* name, std::vector<Object*>& objects, int rounds) {
  std::vector<double> build, again;
  size_t pairs = 0;
  for (int r = 0; r < rounds; r++) {
    const double start = now();
    Manager m;
    m.registerObjects(objects);
    m.setup();
    pairs = find(m);
    build.push_back(now() - start);
    for (size_t i = 0; i < objects.size(); i++) {
      move(*objects[i], r % 2 ? -0.001 : 0.001, i);
    }
    const double second = now();
    m.update();
    find(m);
    again.push_back(now() - second);
  }
  std::printf("%s: %zu objects, %zu pairs, built and found in %.3f ms, updated and found in %.3f ms\n", name,
              objects.size(), pairs, median(build), median(again));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::FILE* f = std::fopen(argv[1], "rb");
  if (!f) return 2;
  std::vector<std::unique_ptr<Object>> owned;
  std::vector<Object*> objects;
  double b[6];
  while (std::fread(b, sizeof(double), 6, f) == 6) {
    owned.push_back(object(b));
    objects.push_back(owned.back().get());
  }
  std::fclose(f);
  const int rounds = std::atoi(argv[2]);
  measure<Tree>("dynamic AABB tree", objects, rounds);
  measure<Array>("dynamic AABB tree, arrays", objects, rounds);
  if (argc > 3) measure<Sweep>("sort and sweep", objects, rounds);
}
