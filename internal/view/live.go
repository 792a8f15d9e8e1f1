package view

import (
	"context"
	"math"

	"clearance"
	"clearance/batch"
	"clearance/contact"
	"clearance/rollout"
)

// Live answers the pairs of a document on an engine that it holds.
type Live struct {
	handle  *clearance.Handle
	doc     *Document
	options rollout.Options
	held    *rollout.Batch // of all cells
}

// NewLive returns an engine for a document. The caller closes the handle after it. options choose the method, tolerance
// and iteration limit of the answers of a cell.
func NewLive(h *clearance.Handle, d *Document, options rollout.Options) *Live {
	return &Live{handle: h, doc: d, options: options}
}

// All decides which pairs of all cells are in contact.
func (l *Live) All(ctx context.Context) (*Results, error) {
	if l.held == nil {
		o := l.options
		o.Query, o.Columns = batch.Collide, batch.ColStatus
		held, err := l.handle.HoldRollout(l.doc.Bodies, l.doc.Worlds, o)
		if err != nil {
			return nil, err
		}
		l.held = held
	}
	if err := l.held.Update(l.doc.Worlds); err != nil {
		return nil, err
	}
	r, _, err := l.held.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &Results{rollout: r, worlds: l.doc.Worlds}, nil
}

// Cell answers the distance of each pair of a cell, with all columns, in double precision. Of all pairs it answers
// those that may be nearer than the greatest extent of a body.
func (l *Live) Cell(ctx context.Context, cell int) ([]Answer, error) {
	o := l.options
	o.Query, o.Columns, o.Precision = batch.Distance, batch.AllColumns, batch.Double
	w := l.doc.Worlds.Slice(cell, cell+1)
	if w.AllPairs {
		o.HasMaxDistance = true
		for k := range int32(w.BodiesPerWorld()) {
			if b := w.Body(0, k); b != batch.Absent {
				if r := l.doc.extent(b); !math.IsInf(r, 0) {
					o.MaxDistance = max(o.MaxDistance, 2*r)
				}
			}
		}
	}
	r, _, err := l.handle.Rollout(ctx, l.doc.Bodies, w, o)
	if err != nil {
		return nil, err
	}
	found := (&Results{rollout: r, worlds: w}).Answers(0, 0)
	if !w.AllPairs {
		for i := range found { // by its row among all cells
			found[i].Row += int64(cell+l.doc.First) * int64(len(w.TemplateA))
		}
	}
	return found, nil
}

// Close ends the use of the engine.
func (l *Live) Close() error {
	if l.held == nil {
		return nil
	}
	return l.held.Close()
}

// simulation moves bodies by time steps of free rigid bodies.
type simulation struct {
	*contact.Simulation
	step float64 // seconds
	time float64
	from *contact.State
	make func(*contact.State) (*contact.Simulation, error)
}

// Simulate has a document whose bodies move by contact dynamics: a scene at a state, with the solver of an engine.
func Simulate(h *clearance.Handle, title string, scene *contact.Scene, state *contact.State, step float64) (*Document,
	error) {
	m := len(scene.Body)
	d := &Document{Title: title, Bodies: scene.Bodies, Worlds: &batch.Worlds{M: m, Bodies: scene.Body,
		Poses: append([]float64(nil), state.Pose...), AllPairs: true, SkipA: scene.SkipA, SkipB: scene.SkipB}}
	s := &simulation{step: step, from: state, make: func(state *contact.State) (*contact.Simulation, error) {
		o := contact.StepOptions{TimeStep: step, Accept: true}
		o.Gravity.Z = -9.81
		return contact.NewSimulation(scene, state, h.Dispatcher().Steps(""), o)
	}}
	var err error
	s.Simulation, err = s.make(state)
	if err != nil {
		return nil, err
	}
	d.mover = s
	return d, nil
}

func (s *simulation) Length() float64 { return math.Inf(1) }

func (s *simulation) Unit() string { return "s" }

// Move steps to the time t, from the beginning if it has passed.
func (s *simulation) Move(t float64, poses []float64) error {
	if t < s.time {
		again, err := s.make(s.from)
		if err != nil {
			return err
		}
		s.Simulation, s.time = again, 0
	}
	for s.time+s.step <= t*(1+1e-12) {
		if err := s.Step(context.Background(), nil); err != nil {
			return err
		}
		s.time += s.step
	}
	copy(poses, s.State().Pose)
	return nil
}
