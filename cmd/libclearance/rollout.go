package main

// #include "clearance.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/rollout"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// held is what a rollout has for its steps, until it is released.
type held[T io.Closer] struct{ of atomic.Pointer[T] }

// open returns it, or an error after it has been released.
func (h *held[T]) open() (of T, err error) {
	p := h.of.Load()
	if p == nil {
		return of, failure{codeClosed, errors.New("the rollout has been released: only products of answers are left")}
	}
	return *p, nil
}

// Close frees it after its job, if it has one, has ended.
func (h *held[T]) Close() error {
	if p := h.of.Swap(nil); p != nil {
		return (*p).Close()
	}
	return nil
}

// rolloutHandle is a batch of worlds of shapes.
type rolloutHandle struct {
	held[*dispatch.Batch]
	engine  *engineHandle
	library *batch.Library
	worlds  batch.Worlds // without poses
	numbers int          // of the poses
	options batch.Options
}

// rollouts are those of shapes (*rolloutHandle) and of scenes (*sceneHandle).
var rollouts = handles[io.Closer]{what: "rollout"}

// rows are those of bodies that are a shape each.
func (r *rolloutHandle) rows() *rolloutRows {
	w := &r.worlds
	return &rolloutRows{engine: r.engine, shapes: true, bodies: batch.BodiesOfShapes(r.library), numbers: r.numbers,
		worlds:  batch.Worlds{M: len(w.Shapes), Bodies: w.Shapes, TemplateA: w.TemplateA, TemplateB: w.TemplateB},
		options: rollout.Options{Options: r.options}}
}

// rolloutOf returns an open rollout of a type.
func rolloutOf[T io.Closer](handle C.clearance_rollout) (T, error) {
	var none T
	r, err := rollouts.get(uint64(handle))
	if err != nil {
		return none, err
	}
	of, ok := r.(T)
	if !ok {
		return none, argument("the rollout is one of shapes where one of a scene is wanted, or the other way round")
	}
	return of, nil
}

//export clearance_rollout_open
func clearance_rollout_open(handle C.clearance_engine, query *C.clearance_query, worlds *C.clearance_worlds,
	out *C.clearance_rollout, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, lib, o, err := questionOf(handle, query)
		if err != nil {
			return err
		}
		if worlds == nil || worlds.worlds < 0 || worlds.bodies < 0 || worlds.templates < 0 || out == nil {
			return argument("no worlds, or no place for the handle")
		}
		w, m, p := int(worlds.worlds), int(worlds.bodies), int(worlds.templates)
		if err := checkWorlds(w, m, p, float64(p)*rowBytes(&o)); err != nil {
			return err
		}
		r := &rolloutHandle{engine: h, library: lib, options: o, numbers: 7 * w * m}
		in := &batch.Worlds{
			Shapes:    slices.Clone(array[int32](worlds.shapes, m)),
			TemplateA: slices.Clone(array[int32](worlds.template_a, p)),
			TemplateB: slices.Clone(array[int32](worlds.template_b, p)),
			Poses:     slices.Clone(array[float64](worlds.poses, r.numbers)),
		}
		if worlds.poses == nil { // those of no step: memory that is not written takes none
			in.Poses = make([]float64, r.numbers)
		}
		if len(in.Poses) != r.numbers || len(in.Shapes) != m || len(in.TemplateA) != p {
			return argument("an array of the worlds is missing")
		}
		r.worlds = *in
		r.worlds.Poses = nil
		of, err := h.Dispatcher().Hold(h.ctx, lib, in, o, h.run)
		if err != nil {
			return err
		}
		r.of.Store(&of)
		*out = C.clearance_rollout(rollouts.put(r))
		return nil
	}())
}

// checkWorlds returns an error if w worlds of m bodies and p pairs are too many: lists of bodies and pairs, poses, and
// the results of a step, which the caller has, with so many bytes for each world.
func checkWorlds(w, m, p int, results float64) error {
	if m > math.MaxInt32 || p > math.MaxInt32 {
		return argument("%d bodies and %d pairs, want at most %d of each", m, p, math.MaxInt32)
	}
	bytes := 4*(float64(m)+2*float64(p)) + float64(w)*(8*7*float64(m)+results)
	if w > maxRows && bytes == 0 {
		return argument("%d worlds, want at most %d", w, int64(maxRows))
	}
	return checkMemory(fmt.Sprintf("%d worlds of %d bodies and %d pairs", w, m, p), bytes)
}

//export clearance_rollout_submit
func clearance_rollout_submit(handle C.clearance_rollout, poses *C.clearance_reals, results *C.clearance_results,
	waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		r, err := rolloutOf[*rolloutHandle](handle)
		if err != nil {
			return nil, err
		}
		of, err := r.open()
		if err != nil {
			return nil, err
		}
		to, err := resultsOf(results, &r.options)
		if err != nil {
			return nil, err
		}
		in := r.worlds
		if in.Poses = array[float64](poses, r.numbers); len(in.Poses) != r.numbers {
			return nil, argument("no poses")
		}
		var memory [16]span
		if err := checkOverlap(spansOf(append(memory[:0], spanOf("poses", in.Poses, false)), to)); err != nil {
			return nil, err
		}
		return start(r.engine, work(r.library, to.N), func(ctx context.Context, _ *job) (dispatch.Report, error) {
			return of.Step(ctx, &in, to)
		})
	}()
	return settle(j, err, waitMs, out, report, e)
}

//export clearance_rollout_release
func clearance_rollout_release(handle C.clearance_rollout, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		r, err := rollouts.get(uint64(handle))
		if err != nil {
			return err
		}
		return r.Close()
	}())
}

//export clearance_rollout_close
func clearance_rollout_close(handle C.clearance_rollout, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		r, err := rollouts.take(uint64(handle))
		if err != nil {
			return err
		}
		return r.Close()
	}())
}

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

// sceneHandle is a rollout of bodies.
type sceneHandle struct {
	held[*rollout.Batch]
	rolloutRows
	stepRows int // rows that a step may take as long as
}

func (s *sceneHandle) rows() *rolloutRows { return &s.rolloutRows }

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
		row += 8 * float64(m)
	}
	if err := checkWorlds(w, m, p, row); err != nil {
		return nil, err
	}
	n := m
	if c.per_world != 0 {
		n = w * m
	}
	s := &sceneHandle{rolloutRows: rolloutRows{engine: h, bodies: table.Bodies, numbers: 7 * w * m,
		options: sceneOptions(c, o)}}
	first, second := slices.Clone(array[int32](c.template_a, p)), slices.Clone(array[int32](c.template_b, p))
	s.worlds = batch.Worlds{M: m, Bodies: slices.Clone(array[int32](c.bodies, n)), AllPairs: c.all_pairs != 0}
	s.worlds.Carriers = slices.Clone(array[int32](c.carriers, n))
	if len(s.worlds.Bodies) != n || len(first) != p || len(second) != p {
		return nil, fmt.Errorf("an array of the scene is missing")
	}
	if s.worlds.AllPairs {
		s.worlds.SkipA, s.worlds.SkipB = first, second
	} else {
		s.worlds.TemplateA, s.worlds.TemplateB = first, second
	}
	s.stepRows = stepRows(&s.worlds, table.Bodies, w)
	in := s.worlds
	in.Poses = make([]float64, s.numbers)
	of, err := rollout.Hold(h.Dispatcher(), table.Bodies, &in, s.options, h.run)
	if err != nil {
		return nil, err
	}
	s.of.Store(&of)
	return s, nil
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
		of, err := s.open()
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
		return start(s.engine, s.stepRows, func(ctx context.Context, j *job) (dispatch.Report, error) {
			rep, err := of.Step(ctx, in, to)
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

// foundHandle is the answers of a step of all pairs by rows, whose number is not known before.
type foundHandle struct {
	scene   *sceneHandle
	results atomic.Pointer[rollout.Results] // nil until the job has ended without an error
}

var found = handles[*foundHandle]{what: "list of rows found"}

//export clearance_scene_find
func clearance_scene_find(handle C.clearance_rollout, poses *C.clearance_reals, place *C.clearance_found,
	waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		s, err := rolloutOf[*sceneHandle](handle)
		if err != nil {
			return nil, err
		}
		if !s.worlds.AllPairs || s.options.Reduce == rollout.ReduceWorld || place == nil {
			return nil, argument("the rows of this scene are not found but given, or no place for the answers")
		}
		in, err := s.at(poses)
		if err != nil {
			return nil, err
		}
		of, err := s.open()
		if err != nil {
			return nil, err
		}
		f := &foundHandle{scene: s}
		j, err = start(s.engine, s.stepRows, func(ctx context.Context, j *job) (dispatch.Report, error) {
			results, rep, err := of.Find(ctx, in)
			if err == nil {
				f.results.Store(results)
			}
			return j.of(&rep), err
		})
		if err == nil {
			*place = C.clearance_found(found.put(f))
		}
		return j, err
	}()
	code := settle(j, err, waitMs, out, report, e)
	if err == nil && code != C.int32_t(codeOK) && code != C.int32_t(codeRunning) {
		found.take(uint64(*place))
	}
	return code
}

//export clearance_found_read
func clearance_found_read(handle C.clearance_found, results *C.clearance_results, more *C.clearance_more,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		f, err := found.get(uint64(handle))
		if err != nil {
			return err
		}
		from := f.results.Load()
		if from == nil {
			return argument("the job has not ended, or ended with an error")
		}
		to, err := resultsOf(results, &f.scene.options.Options)
		if err != nil {
			return err
		}
		var list []int64
		if more != nil {
			list = array[int64](more.offsets, len(from.Offsets))
		}
		if to.N != from.N || list == nil {
			return argument("results of %d rows, want %d, with the offsets of the worlds and the bodies", to.N, from.N)
		}
		written := &rollout.Results{Results: to, PartA: array[int32](more.part_a, to.N),
			PartB: array[int32](more.part_b, to.N), BodyA: array[int32](more.body_a, to.N),
			BodyB: array[int32](more.body_b, to.N)}
		if err := checkOverlap(append(spansOf([]span{spanOf("offsets", list, true)}, to),
			spansOfMore(written)...)); err != nil {
			return err
		}
		copy(list, from.Offsets)
		to.CopyRows(0, from.Results, 0, to.N, to.Columns)
		copy(to.Bits(), from.Bits())
		copy(written.PartA, from.PartA)
		copy(written.PartB, from.PartB)
		copy(written.BodyA, from.BodyA)
		copy(written.BodyB, from.BodyB)
		return nil
	}())
}

//export clearance_found_free
func clearance_found_free(handle C.clearance_found, e *C.clearance_error) C.int32_t {
	_, err := found.take(uint64(handle))
	return fail(e, err)
}
