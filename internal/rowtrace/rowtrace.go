// Package rowtrace solves rows again by the reference solvers and describes their steps as [scenefile.Trace], in the
// axes of the world. It keeps nothing between calls and may be called from any goroutine. An error names the row.
package rowtrace

import (
	"math"

	"clearance/batch"
	"clearance/cpu"
	"clearance/internal/scenefile"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// mostSteps is the number of steps that a trace keeps. Of a longer one those in the middle are left out: EPA may take
// 60,000, which no page could hold.
const mostSteps = 2000

// Of solves row i of a job as the back end ref does. The row of the trace is left 0.
func Of(job *batch.Job, i int) (*scenefile.Trace, error) {
	var trace ref.Trace
	p, r, err := cpu.Trace(job, i, &trace)
	if err != nil {
		return nil, err
	}
	out := &scenefile.Trace{
		Method: r.Method.String(), Status: r.Status.String(), Radius: p.Radius, Evaluations: len(trace.Steps) - 1,
		Value: scenefile.Number(r.Distance), Lower: scenefile.Number(r.Lower), Upper: scenefile.Number(r.Upper),
	}
	if job.Options.Query == batch.Growth { // whose solvers work on the shapes themselves, by one method
		out.Method, out.Radius = batch.Growth.String(), 0
	}
	c := converter{p: &p}
	for k := range trace.Steps {
		if k >= mostSteps/2 && len(trace.Steps)-k > mostSteps/2 {
			continue
		}
		out.Steps = append(out.Steps, c.step(&trace.Steps[k]))
	}
	return out, nil
}

// converter maps from the frame of a pair into the world.
type converter struct{ p *ref.Pair }

func (c converter) step(s *ref.Step) scenefile.Step {
	out := scenefile.Step{
		Solver: s.Solver.String(), Evaluation: s.Evaluation, Direction: c.direction(s.Direction),
		Gradient: scenefile.Number(s.Slope), Region: scenefile.Number(s.Region),
		Lower: scenefile.Number(s.Lower), Upper: scenefile.Number(s.Upper),
	}
	at := c.vertex(&s.Support)
	if s.Solver == ref.StepAnswer {
		out.Witnesses = &at
	} else {
		out.Support = &at
	}
	for i := range s.Simplex.N {
		out.Simplex = append(out.Simplex, c.vertex(&s.Simplex.V[i]))
	}
	if s.Known {
		x := c.direction(s.Iterate)
		out.Iterate = &x
	}
	return out
}

// direction maps a direction, or a point of A − B. Numbers that are not finite, as of invalid rows, become 0.
func (c converter) direction(v r3.Vec) [3]float64 { return list(c.p.DirToWorld(v)) }

func (c converter) vertex(v *ref.Vertex) scenefile.Vertex {
	return scenefile.Vertex{A: list(c.p.ToWorld(v.A)), B: list(c.p.ToWorld(v.B))}
}

func list(v r3.Vec) [3]float64 {
	x := [3]float64{v.X, v.Y, v.Z}
	for i := range x {
		if math.IsNaN(x[i]) || math.IsInf(x[i], 0) {
			x[i] = 0
		}
	}
	return x
}
