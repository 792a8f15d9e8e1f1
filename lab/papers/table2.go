package papers

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

const (
	fullPairs    = 1000 // a cell, as in the paper
	reducedPairs = 200

	epsilon = 1e-8 // on the duality gap, m² (sec. IV)

	fullCap    = 1_000_000 // Frank-Wolfe needs about 1/ε steps on cubes
	reducedCap = 20_000
)

// group is a set of three samples, one a regime.
type group struct {
	name    string
	shape   func(*rand.Rand) geom.Shape
	regimes []regime
	stream  uint64
}

var (
	ellipsoids = group{"ellipsoids", wideEllipsoid, textRegimes, 100}
	published  = group{"ellipsoids as published", roundEllipsoid(1), publishedRegimes, 200}
	cubes      = group{"cubes", cube, textRegimes, 300}
)

func (g group) sample(i int) sample {
	return sample{g.shape, g.regimes[i], g.stream + uint64(i)}
}

var methods = []ref.Method{
	ref.MethodFrankWolfe, ref.MethodGJK, ref.MethodNesterov, ref.MethodNesterovNormalized, ref.MethodPolyak,
}

// run answers by the papers' stopping rule; limit caps Frank-Wolfe.
func run(p *ref.Pair, m ref.Method, limit int, ws *ref.Workspace) ref.Result {
	o := options(false)
	if m == ref.MethodFrankWolfe {
		o.MaxIterations = limit
	}
	return solve(p, m, o, ws)
}

// iterations counts the support evaluations of every method on n pairs per regime, and
// the projections of NESMINO. check is called with every answer, if it is not nil.
func (g group) iterations(ctx context.Context, n, limit int, check func(*placed, ref.Method, *ref.Result)) (Table,
	error) {
	out := Table{}
	var ws ref.Workspace
	for i := range g.regimes {
		pairs, err := g.sample(i).pairs(n)
		if err != nil {
			return nil, err
		}
		row := map[string]Summary{}
		for _, m := range methods {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			counts := make([]int, 0, n)
			for j := range pairs {
				r := run(&pairs[j].pair, m, limit, &ws)
				counts = append(counts, r.Iterations)
				if check != nil {
					check(&pairs[j], m, &r)
				}
			}
			row[m.String()] = summarize(counts, limit)
		}
		counts := make([]int, 0, n)
		for j := range pairs {
			k, err := nesmino(&pairs[j].pair, limit, &ws)
			if err != nil {
				return nil, err
			}
			counts = append(counts, k)
		}
		row["nesmino"] = summarize(counts, limit)
		out[g.name+"/"+g.regimes[i].name] = row
	}
	return out, nil
}

// nesmino counts the steps of the projected gradient until its solution is within √ε of
// that of GJK, as GJK++, sec. IV-E, stops NESMINO.
func nesmino(p *ref.Pair, limit int, ws *ref.Workspace) (steps int, err error) {
	r := ref.GJK(p, ref.Options{}, ws)
	var solution r3.Vec // from A to B; zero if the shapes meet
	if r.Status == ref.Separated {
		solution = r3.Sub(r.WitnessB, r.WitnessA)
	}
	return ref.ProjectedGradient(p, solution, math.Sqrt(epsilon), limit)
}

// tableII repeats Table II: the mean number of iterations of Frank-Wolfe, projected
// gradient, GJK and accelerated GJK, with the paper's stopping rule (duality gap ≤ 1e-8) and
// initial point (x₀ = c¹ − c²).
func tableII(ctx context.Context, lab *Lab, r *Results) error {
	got := Table{}
	for _, g := range []group{ellipsoids, published, cubes} {
		t, err := g.iterations(ctx, lab.pairs(), lab.limit(), nil)
		if err != nil {
			return err
		}
		maps.Copy(got, t)
	}
	r.TableII = got
	return nil
}

// figures of Table II (RSS 2022) and Table III (GJK++), mean ± standard deviation.
var figures = []struct {
	shapes, regime, method, text string
	mean, sd                     float64
}{
	{"ellipsoids", "overlapping", "frank-wolfe", "73 ± 62", 73, 62},
	{"ellipsoids", "overlapping", "nesmino", "50 ± 18", 50, 18},
	{"ellipsoids", "overlapping", "gjk", "6 ± 2", 6, 2},
	{"ellipsoids", "overlapping", "nesterov", "6 ± 3", 6, 3},
	{"ellipsoids", "close", "frank-wolfe", "48 ± 42", 48, 42},
	{"ellipsoids", "close", "nesmino", "74 ± 29", 74, 29},
	{"ellipsoids", "close", "gjk", "16 ± 5", 16, 5},
	{"ellipsoids", "close", "nesterov", "7 ± 2", 7, 2},
	{"ellipsoids", "distant", "frank-wolfe", "4 ± 1", 4, 1},
	{"ellipsoids", "distant", "nesmino", "18 ± 2", 18, 2},
	{"ellipsoids", "distant", "gjk", "4 ± 1", 4, 1},
	{"ellipsoids", "distant", "nesterov", "13 ± 4", 13, 4},
	{"cubes", "overlapping", "frank-wolfe", "5.4k ± 4.8k", 5400, 4800},
	{"cubes", "overlapping", "nesmino", "922 ± 244", 922, 244},
	{"cubes", "overlapping", "gjk", "6 ± 1", 6, 1},
	{"cubes", "overlapping", "nesterov", "5 ± 1", 5, 1},
	{"cubes", "close", "frank-wolfe", "14.3k ± 9.7k", 14300, 9700},
	{"cubes", "close", "nesmino", "828 ± 225", 828, 225},
	{"cubes", "close", "gjk", "5 ± 1", 5, 1},
	{"cubes", "close", "nesterov", "4 ± 1", 4, 1},
	{"cubes", "distant", "frank-wolfe", "13.1k ± 13.5k", 13100, 13500},
	{"cubes", "distant", "nesmino", "623 ± 219", 623, 219},
	{"cubes", "distant", "gjk", "4 ± 1", 4, 1},
	{"cubes", "distant", "nesterov", "3 ± 1", 3, 1},
}

func paperFigure(shapes, regime, method string) (mean, sd float64) {
	for _, f := range figures {
		if f.shapes == shapes && f.regime == regime && f.method == method {
			return f.mean, f.sd
		}
	}
	panic("no figure of " + shapes + "/" + regime + "/" + method)
}

// tableII prints paper, ours and ratio, for the sampling of the text and for that of
// the published code, which has ellipsoids only.
func (r *Results) printTableII() string {
	var rows [][]string
	ours := func(cell, method string, paper float64) []string {
		s, ok := r.TableII[cell][method]
		if !ok {
			return []string{"–", "–"}
		}
		if paper == 0 {
			return []string{s.String(), "–"}
		}
		return []string{s.String(), fmt.Sprintf("%.2f", s.Mean/paper)}
	}
	row := func(shapes, regime, method, text string, mean float64) {
		cells := append([]string{shapes, regime, method, text}, ours(shapes+"/"+regime, method, mean)...)
		rows = append(rows, append(cells, ours(shapes+" as published/"+regime, method, mean)...))
	}
	for _, f := range figures {
		row(f.shapes, f.regime, f.method, f.text, f.mean)
		if f.method == "nesterov" {
			row(f.shapes, f.regime, "nesterov-normalized", "–", 0)
			row(f.shapes, f.regime, "polyak", "–", 0)
		}
	}
	return printTable([]string{"shapes", "regime", "method", "paper", "ours, sizes of the text", "ratio",
		"ours, published sizes and distances", "ratio"}, rows)
}
