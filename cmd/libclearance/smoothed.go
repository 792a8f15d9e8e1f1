package main

// #include "clearance.h"
import "C"

import (
	"context"
	"time"

	"clearance/batch"
	"clearance/contact/adjoint"
	"clearance/dispatch"
)

//export clearance_simulation_smoothed
func clearance_simulation_smoothed(handle C.clearance_simulation, list *C.clearance_array, count C.int64_t,
	waitMs C.int64_t, out *C.clearance_job, report *C.clearance_report, e *C.clearance_error) C.int32_t {
	j, err := func() (j *job, err error) {
		defer recovered(&err)
		h, err := simulations.get(uint64(handle))
		if err != nil {
			return nil, err
		}
		a, err := arraysOf(list, count)
		if err != nil {
			return nil, err
		}
		s, err := smoothedOf(h, a)
		if err != nil {
			return nil, err
		}
		return startAlone(func(ctx context.Context, _ *job) (dispatch.Report, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.sim == nil {
				return dispatch.Report{}, simulations.missing()
			}
			return s.run(ctx, h)
		}), nil
	}()
	return settle(j, err, waitMs, out, report, e)
}

// smoothedStep is a call about the gradient of a step under noise.
type smoothedStep struct {
	noise    adjoint.StepNoise
	bar      []adjoint.StateCotangent
	force    []float64
	gradient adjoint.SmoothedStep
	to       []gradientOf
	answered []int32
}

// smoothedOf takes the arrays of a call.
func smoothedOf(h *simulationHandle, a *arrays) (*smoothedStep, error) {
	w, b := h.worlds, h.bodies
	wb := product(w, b)
	s := &smoothedStep{noise: adjoint.StepNoise{Samples: a.size("samples"), Seed: uint64(a.whole("seed", 0)),
		FirstWorld: uint64(a.whole("first_world", 0)), Position: a.number("noise_position", 0),
		Rotation: a.number("noise_rotation", 0), Velocity: a.number("noise_velocity", 0),
		Spin: a.number("noise_spin", 0), Force: a.number("noise_force", 0), Torque: a.number("noise_torque", 0),
		BySpin: true}, bar: make([]adjoint.StateCotangent, w),
		force:    numbers[float64](a, "force", product(6, wb), false),
		answered: numbers[int32](a, "answered", w, true)}
	pose := numbers[float64](a, "pose_bar", product(6, wb), false)
	velocity := numbers[float64](a, "velocity_bar", product(3, wb), false)
	spin := numbers[float64](a, "spin_bar", product(3, wb), false)
	of := func(column []float64, world, per int) []float64 {
		if column == nil {
			return make([]float64, per*b)
		}
		return column[per*b*world : per*b*(world+1)]
	}
	for i := range s.bar {
		s.bar[i] = adjoint.StateCotangent{Pose: of(pose, i, 6), Velocity: of(velocity, i, 3), Momentum: of(spin, i, 3)}
	}
	g := &s.gradient
	for _, c := range []struct {
		name string
		per  int
		from *[]float64
	}{{"pose_gradient", 6, &g.Pose}, {"velocity_gradient", 3, &g.Velocity}, {"spin_gradient", 3, &g.Momentum},
		{"force_gradient", 6, &g.Force}} {
		s.to = append(s.to, gradientOf{numbers[float64](a, c.name, product(c.per, wb), true), c.from})
	}
	return s, a.check()
}

func (s *smoothedStep) run(ctx context.Context, h *simulationHandle) (dispatch.Report, error) {
	since := time.Now()
	if err := adjoint.Smoothed(ctx, h.sim, s.force, s.bar, &s.noise, &s.gradient); err != nil {
		return dispatch.Report{}, contactError(err)
	}
	for _, c := range s.to {
		copy(c.to, *c.from)
	}
	copy(s.answered, s.gradient.Answered)
	rep := worldReport(h.worlds, since)
	for _, n := range s.gradient.Answered {
		if n > 0 {
			rep.Counts[batch.Separated]++
		} else {
			rep.Counts[batch.Undecided]++
		}
	}
	return rep, nil
}
