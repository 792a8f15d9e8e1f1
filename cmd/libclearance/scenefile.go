package main

// #include "clearance.h"
import "C"

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"clearance/batch"
	"clearance/dataset"
)

// bodyTable is a table of bodies and, of one that was read, the pairs of the file.
type bodyTable struct {
	*batch.Bodies
	listed bool // whether the file lists bodies; otherwise they are its shapes
	pairs  dataset.BodyPairs

	physics  atomic.Pointer[[]batch.Physics] // of each body, or nil
	surfaces atomic.Pointer[[]batch.PairPhysics]
}

// newTable is the table of a file.
func newTable(s dataset.Scene) *bodyTable {
	t := &bodyTable{Bodies: s.Bodies, listed: s.Listed, pairs: s.Pairs}
	if s.Physics != nil {
		t.physics.Store(&s.Physics)
	}
	if s.Surfaces != nil {
		t.surfaces.Store(&s.Surfaces)
	}
	return t
}

// stated returns the physics and the surfaces of a table, nil without them. Other threads may state others meanwhile.
func (t *bodyTable) stated() (physics []batch.Physics, surfaces []batch.PairPhysics) {
	if p := t.physics.Load(); p != nil {
		physics = *p
	}
	if s := t.surfaces.Load(); s != nil {
		surfaces = *s
	}
	return physics, surfaces
}

var bodyTables = handles[*bodyTable]{what: "table of bodies"}

//export clearance_scene_read
func clearance_scene_read(path *C.clearance_text, library *C.clearance_library, bodies *C.clearance_bodies,
	e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if library == nil || bodies == nil {
			return argument("no place for the handles")
		}
		s, err := dataset.ReadScene(text(path))
		if err != nil {
			return failure{codeFile, err}
		}
		*library = C.clearance_library(libraries.put(s.Bodies.Library()))
		*bodies = C.clearance_bodies(bodyTables.put(newTable(s)))
		return nil
	}())
}

//export clearance_scene_write
func clearance_scene_write(bodies C.clearance_bodies, first, second *C.clearance_indices, count C.int64_t,
	path *C.clearance_text, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		table, err := bodyTables.get(uint64(bodies))
		if err != nil {
			return err
		}
		pairs := dataset.BodyPairs{Stated: count >= 0}
		if n := int(max(count, 0)); n > 0 {
			pairs.A, pairs.B = slices.Clone(array[int32](first, n)), slices.Clone(array[int32](second, n))
			if len(pairs.A) != n || len(pairs.B) != n {
				return argument("%d pairs, but no list of them", n)
			}
		}
		for i := range pairs.A {
			a, b := int(pairs.A[i]), int(pairs.B[i])
			if a == b || min(a, b) < 0 || max(a, b) >= table.Len() {
				return argument("pair %d: bodies %d and %d of %d", i, a, b, table.Len())
			}
		}
		if physics, surfaces := table.stated(); physics != nil || surfaces != nil {
			err = dataset.WritePhysics(text(path), table.Bodies, pairs, physics, surfaces)
		} else {
			err = dataset.WriteScene(text(path), table.Bodies, pairs)
		}
		if err != nil {
			return failure{codeFile, err}
		}
		return nil
	}())
}

//export clearance_bodies_physics
func clearance_bodies_physics(bodies C.clearance_bodies, physics *C.clearance_text, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		table, err := bodyTables.get(uint64(bodies))
		if err != nil {
			return err
		}
		d := json.NewDecoder(strings.NewReader(text(physics)))
		d.DisallowUnknownFields()
		var list []batch.Physics
		if err := d.Decode(&list); err != nil {
			return argument("physics: %v", err)
		}
		if len(list) != table.Len() {
			return argument("physics of %d bodies, want %d", len(list), table.Len())
		}
		for i := range list {
			if n := len(list[i].Inertia); n != 0 && n != 6 {
				return argument("body %d: inertia: %d numbers, want 6", i, n)
			}
			if n := len(list[i].Center); n != 0 && n != 3 {
				return argument("body %d: center_of_mass: %d numbers, want 3", i, n)
			}
			if n := len(list[i].Parts); n != 0 && n != len(table.Parts(int32(i))) {
				return argument("body %d: physics of %d parts, want %d", i, n, len(table.Parts(int32(i))))
			}
		}
		table.physics.Store(&list)
		return nil
	}())
}

//export clearance_bodies_surfaces
func clearance_bodies_surfaces(bodies C.clearance_bodies, surfaces *C.clearance_text, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		table, err := bodyTables.get(uint64(bodies))
		if err != nil {
			return err
		}
		d := json.NewDecoder(strings.NewReader(text(surfaces)))
		d.DisallowUnknownFields()
		var list []batch.PairPhysics
		if err := d.Decode(&list); err != nil {
			return argument("surfaces: %v", err)
		}
		for i, s := range list {
			for _, side := range [2][2]int32{{s.A, s.PartA}, {s.B, s.PartB}} {
				if b, part := side[0], side[1]; b < 0 || int(b) >= table.Len() || part < -1 ||
					int(part) >= len(table.Parts(b)) {
					return argument("surface %d: body %d has no part %d in a table of %d bodies", i, b, part,
						table.Len())
				}
			}
		}
		table.surfaces.Store(&list)
		return nil
	}())
}

// tableDescription is what clearance_bodies_describe writes.
type tableDescription struct {
	Listed bool              `json:"listed"`
	Bodies []bodyDescription `json:"bodies"`
	Pairs  [][2]int32        `json:"pairs"` // null if the file states none

	Surfaces []batch.PairPhysics `json:"surfaces,omitempty"`
}

type bodyDescription struct {
	Name  string       `json:"name"`
	Parts [][8]float64 `json:"parts"` // shape, x, y, z, and the quaternion

	Physics *batch.Physics `json:"physics,omitempty"`
}

//export clearance_bodies_describe
func clearance_bodies_describe(bodies C.clearance_bodies, out *C.char, size C.int64_t) C.int64_t {
	return writeJSON(out, size, func() (any, error) { return describeBodies(uint64(bodies)) })
}

func describeBodies(handle uint64) (*tableDescription, error) {
	table, err := bodyTables.get(handle)
	if err != nil {
		return nil, err
	}
	physics, surfaces := table.stated()
	d := tableDescription{Listed: table.listed, Bodies: make([]bodyDescription, table.Len())}
	for i := range int32(table.Len()) {
		b := &d.Bodies[i]
		b.Name = table.Name(i)
		if physics != nil && physics[i].Stated() {
			b.Physics = &physics[i]
		}
		for _, p := range table.Parts(i) {
			v, q := p.Pose.Position, p.Pose.Rotation
			b.Parts = append(b.Parts, [8]float64{float64(p.Shape), v.X, v.Y, v.Z, q.Real, q.Imag, q.Jmag, q.Kmag})
		}
	}
	if table.pairs.Stated {
		d.Pairs = make([][2]int32, len(table.pairs.A))
		for i := range d.Pairs {
			d.Pairs[i] = [2]int32{table.pairs.A[i], table.pairs.B[i]}
		}
	}
	d.Surfaces = surfaces
	return &d, nil
}
