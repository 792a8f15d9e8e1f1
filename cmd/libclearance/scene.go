package main

// #include "clearance.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/rollout"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Memory of a body and of a part in a table: twice, since the table has copies, and lists grow by doubling.
const (
	bodyBytes = float64(2 * (unsafe.Sizeof(batch.Body{}) + 16))
	partBytes = float64(4 * unsafe.Sizeof(batch.Part{}))
)

//export clearance_bodies_new
func clearance_bodies_new(library C.clearance_library, parts *C.clearance_part, first *C.clearance_indices,
	count C.int64_t, names **C.clearance_text, out *C.clearance_bodies, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		lib, err := libraries.get(uint64(library))
		switch {
		case err != nil:
			return err
		case count < 0 || count > math.MaxInt32 || first == nil || out == nil:
			return argument("%d bodies, or no list of their parts", count)
		}
		if err := checkMemory(fmt.Sprintf("%d bodies", count), float64(count)*bodyBytes); err != nil {
			return err
		}
		starts := array[int32](first, int(count)+1)
		total := int(starts[count])
		if starts[0] != 0 || !slices.IsSorted(starts) || (total > 0 && parts == nil) {
			return argument("the lists of parts do not follow one another")
		}
		if err := checkMemory(fmt.Sprintf("%d parts", total), float64(total)*partBytes); err != nil {
			return err
		}
		all := unsafe.Slice(parts, total)
		list := make([]batch.Body, count)
		for i := range list {
			if names != nil {
				list[i].Name = text(unsafe.Slice(names, int(count))[i])
			}
			for _, p := range all[starts[i]:starts[i+1]] {
				list[i].Parts = append(list[i].Parts, batch.Part{Shape: int32(p.shape), Pose: poseOf(&p.pose)})
			}
		}
		table, err := batch.NewBodies(lib, list)
		if err != nil {
			return failure{codeArgument, err}
		}
		*out = C.clearance_bodies(bodyTables.put(&bodyTable{Bodies: table}))
		return nil
	}())
}

func poseOf(p *[7]C.double) geom.Pose {
	return geom.Pose{
		Position: r3.Vec{X: float64(p[0]), Y: float64(p[1]), Z: float64(p[2])},
		Rotation: quat.Number{Real: float64(p[3]), Imag: float64(p[4]), Jmag: float64(p[5]), Kmag: float64(p[6])},
	}
}

//export clearance_bodies_free
func clearance_bodies_free(bodies C.clearance_bodies, e *C.clearance_error) C.int32_t {
	_, err := bodyTables.take(uint64(bodies))
	return fail(e, err)
}

// sceneHandle is a rollout of bodies that is held.
type sceneHandle struct {
	engine  *engineHandle
	batch   *rollout.Batch
	worlds  batch.Worlds // without poses
	numbers int          // of the poses
	rows    int          // that a step may take as long as
	options rollout.Options
}

// Close ends the use of the scene.
func (s *sceneHandle) Close() error { return s.batch.Close() }

//export clearance_scene_open
func clearance_scene_open(handle C.clearance_engine, query *C.clearance_query, scene *C.clearance_scene,
	out *C.clearance_rollout, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, _, o, err := questionOf(handle, query)
		if err != nil {
			return err
		}
		if scene == nil || out == nil || scene.worlds < 0 || scene.places < 0 || scene.templates < 0 {
			return argument("no scene, or no place for the handle")
		}
		table, err := bodyTables.get(uint64(scene.table))
		if err != nil {
			return err
		}
		if err := checkWorkers(scene.workers); err != nil {
			return err
		}
		s, err := newScene(h, table, scene, o)
		if err != nil && codeOf(err) == codeFailed {
			return failure{codeArgument, err}
		}
		if err != nil {
			return err
		}
		*out = C.clearance_rollout(rollouts.put(s))
		return nil
	}())
}

// newScene holds a scene. The poses that it begins with are those of no step.
func newScene(h *engineHandle, table *bodyTable, c *C.clearance_scene, o batch.Options) (*sceneHandle, error) {
	w, m, p := int(c.worlds), int(c.places), int(c.templates)
	row := rowBytes(&o) + 8 // and both parts
	switch rollout.Reduce(c.reduce) {
	case rollout.ReduceWorld:
		row += 21 // and the pair, its places, and the counts
	default:
		row *= float64(p)
	}
	if c.all_pairs != 0 && rollout.Reduce(c.reduce) != rollout.ReduceWorld {
		row = 8 // an offset; the number of rows is not known
	}
	if c.per_world != 0 {
		row += 4 * float64(m)
	}
	if err := checkWorlds(w, m, p, row); err != nil {
		return nil, err
	}
	n := m
	if c.per_world != 0 {
		n = w * m
	}
	s := &sceneHandle{engine: h, numbers: 7 * w * m, options: sceneOptions(c, o)}
	first, second := slices.Clone(array[int32](c.template_a, p)), slices.Clone(array[int32](c.template_b, p))
	s.worlds = batch.Worlds{M: m, Bodies: slices.Clone(array[int32](c.bodies, n)), AllPairs: c.all_pairs != 0}
	if len(s.worlds.Bodies) != n || len(first) != p || len(second) != p {
		return nil, fmt.Errorf("an array of the scene is missing")
	}
	if s.worlds.AllPairs {
		s.worlds.SkipA, s.worlds.SkipB = first, second
	} else {
		s.worlds.TemplateA, s.worlds.TemplateB = first, second
	}
	s.rows = stepRows(&s.worlds, table.Bodies, w)
	in := s.worlds
	in.Poses = make([]float64, s.numbers)
	var err error
	s.batch, err = rollout.Hold(h.Dispatcher(), table.Bodies, &in, s.options, h.run)
	return s, err
}

// sceneOptions are the options of the caller for a scene.
func sceneOptions(c *C.clearance_scene, o batch.Options) rollout.Options {
	options := rollout.Options{Options: o, HasMaxDistance: c.has_max_distance != 0, Reduce: rollout.Reduce(c.reduce),
		NoCulling: c.no_culling != 0, Workers: int(c.workers)}
	if options.HasMaxDistance {
		options.MaxDistance = float64(c.max_distance)
	}
	return options
}

// stepRows returns the rows that a step of w worlds may take as long as: the pairs of parts if all bodies have as many
// as the largest one, or the poses.
func stepRows(worlds *batch.Worlds, table *batch.Bodies, w int) int {
	pairs := len(worlds.TemplateA)
	if worlds.AllPairs {
		pairs = worlds.M * (worlds.M - 1) / 2
	}
	return max(w*worlds.M, pairsOfParts(table, float64(w)*float64(pairs)))
}

// pairsOfParts bounds the work of the pairs of parts of n pairs of bodies, in rows.
func pairsOfParts(table *batch.Bodies, n float64) int {
	most := 1.0
	for i := range table.Len() {
		most = max(most, float64(len(table.Parts(int32(i)))))
	}
	return int(min(n*most*most*float64(cpu.RowWork(table.Library())), math.MaxInt32))
}

// at returns the worlds at poses of the caller.
func (s *sceneHandle) at(poses *C.clearance_reals) (*batch.Worlds, error) {
	in := s.worlds
	if in.Poses = array[float64](poses, s.numbers); len(in.Poses) != s.numbers {
		return nil, argument("no poses")
	}
	return &in, nil
}

//export clearance_scene_submit
func clearance_scene_submit(handle C.clearance_rollout, poses *C.clearance_reals, results *C.clearance_results,
	more *C.clearance_more, waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report,
	e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		s, err := rolloutOf[*sceneHandle](handle)
		if err != nil {
			return nil, err
		}
		base, err := resultsOf(results, &s.options.Options)
		if err != nil {
			return nil, err
		}
		if more == nil {
			return nil, argument("no place for the parts")
		}
		n := base.N
		to := &rollout.Results{Results: base, PartA: array[int32](more.part_a, n), PartB: array[int32](more.part_b, n)}
		if s.options.Reduce == rollout.ReduceWorld {
			to.Pair, to.Contacts = array[int32](more.pair, n), array[int32](more.contacts, n)
			to.Failed, to.Any = array[int32](more.failed, n), array[uint8](more.any, n)
		}
		if s.worlds.AllPairs {
			to.BodyA, to.BodyB = array[int32](more.body_a, n), array[int32](more.body_b, n)
		}
		in, err := s.at(poses)
		if err != nil {
			return nil, err
		}
		var memory [32]span
		if err := checkOverlap(append(spansOf(append(memory[:0], spanOf("poses", in.Poses, false)), base),
			spansOfMore(to)...)); err != nil {
			return nil, err
		}
		more.complete = 1
		if s.options.StatusAlone() && s.options.Reduce == rollout.ReduceWorld { // stops in a world at the first contact
			more.complete = 0
		}
		return start(s.engine, s.rows, func(ctx context.Context, j *job) (dispatch.Report, error) {
			rep, err := s.batch.Step(ctx, in, to)
			return j.of(&rep), err
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

// spansOfMore is the memory of the columns of a scene besides those of every query.
func spansOfMore(r *rollout.Results) []span {
	return []span{spanOf("part_a", r.PartA, true), spanOf("part_b", r.PartB, true), spanOf("pair", r.Pair, true),
		spanOf("contacts", r.Contacts, true), spanOf("failed", r.Failed, true), spanOf("any", r.Any, true),
		spanOf("body_a", r.BodyA, true), spanOf("body_b", r.BodyB, true)}
}

// of keeps what the report of a scene tells beyond that of a pair list, and returns the rest.
func (j *job) of(r *rollout.Report) dispatch.Report {
	j.scene = r
	d := dispatch.Report{Backend: r.Backend, Why: r.Why, Rows: r.Done, Done: r.Done, Counts: r.Counts,
		Iterations: r.Iterations, Kernel: r.Kernel, Wall: r.Wall, WorstGapRow: -1, Failovers: r.Failovers}
	d.Rows = 0
	for _, n := range r.Counts {
		d.Rows += n
	}
	d.RowErrors = rowErrors(r.RowErrors)
	return d
}

// rowErrors is the first of the errors of worlds, as that of a row.
func rowErrors(list []*rollout.RowError) []*batch.RowError {
	if len(list) == 0 {
		return nil
	}
	e := list[0]
	reason := fmt.Sprintf("body %d: %s", e.Body, e.Reason)
	if e.Body < 0 {
		reason = fmt.Sprintf("pair %d: %s", e.Pair, e.Reason)
	}
	return []*batch.RowError{{Row: e.World, Column: e.Column, Reason: reason}}
}
