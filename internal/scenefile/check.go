package scenefile

import (
	"fmt"
	"math"
)

// Check reports the first field that does not fit the others, by its name and place.
func (d *Document) Check() error {
	switch {
	case d.Format != Format:
		return fmt.Errorf("scene: format %q, want %q", d.Format, Format)
	case d.Version != Version:
		return fmt.Errorf("scene: version %d, want %d", d.Version, Version)
	case d.Value != "distance" && d.Value != "factor":
		return fmt.Errorf("scene: value %q, want distance or factor", d.Value)
	}
	for _, check := range []func() error{d.checkShapes, d.checkBodies, d.checkWorlds, d.checkRows, d.checkTraces} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) checkShapes() error {
	for i, s := range d.Shapes {
		if len(s.Points)%3 != 0 || (len(s.Points) == 0) != (s.Kind == Halfspace) {
			return fmt.Errorf("scene: shape %d: a %s of %d coordinates of points", i, s.Kind, len(s.Points))
		}
		if err := finite(s.Points); err != nil {
			return fmt.Errorf("scene: shape %d: points: %w", i, err)
		}
	}
	return nil
}

func (d *Document) checkBodies() error {
	for i, b := range d.Bodies {
		for j, p := range b.Parts {
			if p.Shape < 0 || p.Shape >= len(d.Shapes) {
				return fmt.Errorf("scene: body %d: part %d: shape %d of %d", i, j, p.Shape, len(d.Shapes))
			}
			if err := finite(p.Pose[:]); err != nil {
				return fmt.Errorf("scene: body %d: part %d: pose: %w", i, j, err)
			}
		}
	}
	return nil
}

func (d *Document) checkWorlds() error {
	for i := range d.Worlds {
		w := &d.Worlds[i]
		places, times := len(w.Bodies), len(w.Times)
		switch {
		case times == 0:
			return fmt.Errorf("scene: world %d has no times", i)
		case len(w.Poses) != 7*places*times:
			return fmt.Errorf("scene: world %d: poses has %d numbers, want %d×%d×7", i, len(w.Poses), times, places)
		}
		for k := range times {
			if !(k == 0 || w.Times[k] > w.Times[k-1]) {
				return fmt.Errorf("scene: world %d: time %d is %g, want one after %g", i, k, w.Times[k], w.Times[k-1])
			}
		}
		if err := finite(w.Times); err != nil {
			return fmt.Errorf("scene: world %d: times: %w", i, err)
		}
		if err := within(w.Bodies, -1, len(d.Bodies)); err != nil {
			return fmt.Errorf("scene: world %d: bodies: %w", i, err)
		}
	}
	return nil
}

func (d *Document) checkRows() error {
	r := &d.Rows
	if r.Count < 0 {
		return fmt.Errorf("scene: rows: count %d", r.Count)
	}
	for _, c := range []struct {
		name          string
		length, width int
		optional      bool
	}{
		{"row", len(r.Row), 1, false}, {"status", len(r.Status), 1, false},
		{"body_a", len(r.BodyA), 1, false}, {"body_b", len(r.BodyB), 1, false},
		{"pose_a", len(r.PoseA), 7, false}, {"pose_b", len(r.PoseB), 7, false},
		{"value", len(r.Value), 1, false}, {"gap", len(r.Gap), 1, false},
		{"normal", len(r.Normal), 3, false}, {"witness_a", len(r.WitnessA), 3, false},
		{"witness_b", len(r.WitnessB), 3, false},
		{"plane_a", len(r.PlaneA), 1, true}, {"plane_b", len(r.PlaneB), 1, true},
		{"center_a", len(r.CenterA), 3, true}, {"center_b", len(r.CenterB), 3, true},
		{"world", len(r.World), 1, true}, {"place_a", len(r.PlaceA), 1, true},
		{"place_b", len(r.PlaceB), 1, true}, {"time", len(r.Time), 1, true},
	} {
		if c.length != c.width*r.Count && (c.length != 0 || !c.optional) {
			return fmt.Errorf("scene: rows: %s has %d numbers, want %d×%d", c.name, c.length, r.Count, c.width)
		}
	}
	for _, c := range []struct {
		name  string
		codes Integers
		least int
		count int
	}{
		{"status", r.Status, 0, len(d.Statuses)}, {"body_a", r.BodyA, -1, len(d.Bodies)},
		{"body_b", r.BodyB, -1, len(d.Bodies)}, {"world", r.World, 0, len(d.Worlds)},
	} {
		if err := within(c.codes, c.least, c.count); err != nil {
			return fmt.Errorf("scene: rows: %s: %w", c.name, err)
		}
	}
	if len(r.World) == 0 && len(r.PlaceA)+len(r.PlaceB)+len(r.Time) > 0 {
		return fmt.Errorf("scene: rows: places or times without the column world")
	}
	for i, w := range r.World {
		places := len(d.Worlds[w].Bodies)
		for _, c := range [2]Integers{r.PlaceA, r.PlaceB} {
			if len(c) > 0 && (c[i] < -1 || int(c[i]) >= places) {
				return fmt.Errorf("scene: rows: place %d in row %d, whose world has %d", c[i], i, places)
			}
		}
	}
	return r.checkContacts()
}

func (r *Rows) checkContacts() error {
	contacts := len(r.ContactGap)
	if len(r.ContactPoint) != 3*contacts || len(r.ContactNormal) != 3*contacts {
		return fmt.Errorf("scene: rows: contact_point and contact_normal have %d and %d numbers, want %d×3",
			len(r.ContactPoint), len(r.ContactNormal), contacts)
	}
	if len(r.ContactBegin) == 0 && contacts == 0 {
		return nil
	}
	if len(r.ContactBegin) != r.Count+1 || r.ContactBegin[0] != 0 || int(r.ContactBegin[r.Count]) != contacts {
		return fmt.Errorf("scene: rows: contact_begin: want %d numbers from 0 to %d", r.Count+1, contacts)
	}
	for i := range r.Count {
		if r.ContactBegin[i] > r.ContactBegin[i+1] {
			return fmt.Errorf("scene: rows: contact_begin falls after row %d", i)
		}
	}
	return nil
}

func (d *Document) checkTraces() error {
	for i, t := range d.Traces {
		switch {
		case t.Row < 0 || t.Row >= d.Rows.Count:
			return fmt.Errorf("scene: trace %d: row %d of %d", i, t.Row, d.Rows.Count)
		case len(t.Steps) == 0:
			return fmt.Errorf("scene: trace %d has no steps", i)
		}
		for k, s := range t.Steps {
			if len(s.Simplex) > 4 {
				return fmt.Errorf("scene: trace %d: step %d: %d vertices of a simplex", i, k, len(s.Simplex))
			}
		}
		last := t.Steps[len(t.Steps)-1]
		if !same(last.Lower, t.Lower) || !same(last.Upper, t.Upper) {
			return fmt.Errorf("scene: trace %d ends at [%g, %g], and its answer is [%g, %g]",
				i, float64(last.Lower), float64(last.Upper), float64(t.Lower), float64(t.Upper))
		}
	}
	return nil
}

// same reports whether two numbers are equal; NaN equals NaN.
func same(a, b Number) bool { return a == b || a != a && b != b }

func finite(list []float64) error {
	for i, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("number %d is %g", i, x)
		}
	}
	return nil
}

func within(codes Integers, least, count int) error {
	for i, c := range codes {
		if int(c) < least || int(c) >= count {
			return fmt.Errorf("element %d is %d, want %d to %d", i, c, least, count-1)
		}
	}
	return nil
}
