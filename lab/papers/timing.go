package papers

import (
	"slices"
	"time"

	"clearance/ref"
)

// solver is a method under one name, as the tables and figures know it.
type solver struct {
	name   string
	method ref.Method
}

var (
	curvedSolvers = []solver{
		{"gjk", ref.MethodGJK}, {"polyak", ref.MethodPolyak}, {"nesterov", ref.MethodNesterov},
		{"nesterov-normalized", ref.MethodNesterovNormalized},
	}
	meshSolvers = []solver{
		{"gjk", ref.MethodGJK}, {"polyak", ref.MethodPolyak}, {"polyak-normalized", ref.MethodPolyakNormalized},
		{"nesterov", ref.MethodNesterov}, {"nesterov-normalized", ref.MethodNesterovNormalized},
	}
)

// options are the stopping rule of the papers, for the distance or the Boolean question.
func options(boolean bool) ref.Options {
	return ref.Options{StopRule: ref.StopDuality, Tolerance: epsilon, Boolean: boolean}
}

// solve runs one of the methods.
func solve(p *ref.Pair, m ref.Method, o ref.Options, ws *ref.Workspace) ref.Result {
	switch m {
	case ref.MethodPolyak, ref.MethodPolyakNormalized:
		return ref.Polyak(p, o, m == ref.MethodPolyakNormalized, ws)
	case ref.MethodNesterov, ref.MethodNesterovNormalized:
		return ref.Nesterov(p, o, m == ref.MethodNesterovNormalized, ws)
	case ref.MethodFrankWolfe:
		return ref.FrankWolfe(p, o, ws)
	case ref.MethodGJK:
		return ref.GJK(p, o, ws)
	}
	panic(m)
}

// timed returns the time of a pair, in nanoseconds, of every solver on all pairs: the
// median over rounds, in which the solvers alternate, so that a machine that
// slows down slows all of them.
func timed(pairs []placed, solvers []solver, boolean bool, rounds int, ws *ref.Workspace) []float64 {
	o := options(boolean)
	times := make([][]float64, len(solvers))
	for range rounds {
		for i, s := range solvers {
			start := time.Now()
			for j := range pairs {
				solve(&pairs[j].pair, s.method, o, ws)
			}
			times[i] = append(times[i], float64(time.Since(start))/float64(len(pairs)))
		}
	}
	out := make([]float64, len(solvers))
	for i, v := range times {
		out[i] = median(v)
	}
	return out
}

// fastest is the shortest of several times of one solve, in nanoseconds: what a pair
// takes when nothing disturbs it. Each time covers repeats solves, so that the clock's
// own step does not count.
func fastest(p *ref.Pair, s solver, boolean bool, times, repeats int, ws *ref.Workspace) float64 {
	o := options(boolean)
	all := make([]float64, times)
	for k := range all {
		start := time.Now()
		for range repeats {
			solve(p, s.method, o, ws)
		}
		all[k] = float64(time.Since(start)) / float64(repeats)
	}
	return slices.Min(all)
}
