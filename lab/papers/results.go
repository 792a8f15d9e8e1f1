package papers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"clearance/batch"
	"clearance/lab/folder"
)

// Results is what the experiments found: the content of papers.json, from which
// the report is printed.
type Results struct {
	Date    string `json:"date"`
	Go      string `json:"go"`
	Version string `json:"version,omitempty"` // of Clearance
	Machine string `json:"machine,omitempty"`
	Seed    uint64 `json:"seed"`
	Pairs   int    `json:"pairs"` // a cell
	Quick   bool   `json:"quick,omitempty"`

	TableII      Table              `json:"table_ii"`   // sample/regime → method
	Chain        []Step             `json:"chain"`      // from our sampling to theirs
	Rules        []Step             `json:"rules"`      // one rule changed at a time
	CubeGap      []Step             `json:"cube_gap"`   // Frank-Wolfe on cubes by edge and tolerance
	WarmStart    Table              `json:"warm_start"` // shapes/method/question → strategy
	SubAlgorithm []ThinRow          `json:"sub_algorithm"`
	Gear         []GearRow          `json:"gear"`
	Sweeps       []Sweep            `json:"sweeps"`
	Meshes       []MeshRow          `json:"meshes"`
	Convergence  []Curve            `json:"convergence"`
	Generic      []GenericRow       `json:"generic"`
	RTR          *RTRResults        `json:"rtr,omitempty"`
	Growth       *GrowthResults     `json:"growth,omitempty"`
	Derivatives  *DerivativeResults `json:"derivatives,omitempty"`
	Contacts     *ContactResults    `json:"contacts,omitempty"`
	Seconds      map[string]float64 `json:"seconds"` // by experiment
}

// Table holds summaries by row and column.
type Table map[string]map[string]Summary

// Step is one row of a table: what was changed, and counts by column.
type Step struct {
	Change string             `json:"change"`
	Counts map[string]Summary `json:"counts"`
}

// Lab is what an experiment is given.
type Lab struct {
	Quick  bool // fewer pairs, lower caps: minutes instead of an hour
	Meshes []Mesh
	Log    io.Writer // a line an experiment; nil for none

	// Answers answers pairs of estimates of order zero on one core, many at a time; nil is the reference.
	Answers batch.Answers
}

// pairs is the number of pairs of a cell.
func (l *Lab) pairs() int {
	if l.Quick {
		return reducedPairs
	}
	return fullPairs
}

// limit is the cap of Frank-Wolfe and of the projected gradient.
func (l *Lab) limit() int {
	if l.Quick {
		return reducedCap
	}
	return fullCap
}

// pick returns quick in a quick run, else full.
func (l *Lab) pick(quick, full int) int {
	if l.Quick {
		return quick
	}
	return full
}

// Experiment fills one part of the results.
type Experiment struct {
	Name  string
	About string
	Run   func(context.Context, *Lab, *Results) error
}

// Experiments are all there are, in the order of the report.
var Experiments = []Experiment{
	{"table2", "iterations by method (RSS 2022, Table II; GJK++, Table III)", tableII},
	{"chain", "why the ellipsoids of Table II differ: the sampling", chain},
	{"rules", "one rule of the algorithms changed at a time", changedRules},
	{"cubes", "Frank-Wolfe on cubes by size and tolerance", cubeGap},
	{"distance", "iterations and time against distance, ellipsoids and hulls (GJK++, Fig. 7 to 10)", sweeps},
	{"meshes", "times by mesh and method, with and without normalised directions (GJK++, Table I, Fig. 8 and 11)",
		meshTimes},
	{"convergence", "error against iteration", convergence},
	{"qp", "a QP solver beside GJK (GJK++, Table II)", generic},
	{"warm-start", "first directions along trajectories (GJK++, Fig. 12)", warmStart},
	{"sub-algorithm", "Signed Volumes, Johnson, Johnson with Backup on thin simplices (TOG 2017, Fig. 14)",
		subAlgorithms},
	{"gear", "two gear teeth that approach (TOG 2017, Fig. 14 and 15)", gear},
	{"rtr", "the Riemannian trust region beside GJK and EPA [RTR, Tables I and II, Fig. 6 and 8]", rtr},
	{"growth", "the growth distance by the simplex method, IE and Newton's method [Growth, Table III, Fig. 3 to 5]",
		growth},
	{"derivatives", "derivatives by randomised smoothing beside finite differences (AGIMUS2023, Tables I and II, " +
		"Fig. 5 and 6)", derivatives},
	{"contacts", "contact models and their solvers on cubes (AGIMUS2023, Contacts, Tables II to IV, Fig. 9 to 12)",
		contacts},
}

// Names returns the names of the experiments.
func Names() []string {
	names := make([]string, len(Experiments))
	for i, e := range Experiments {
		names[i] = e.Name
	}
	return names
}

// Run runs the experiments that are named, all if none are, into r.
func Run(ctx context.Context, lab *Lab, r *Results, only ...string) error {
	for _, name := range only {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("papers: no experiment %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	r.Date, r.Go = time.Now().Format(time.DateOnly), runtime.Version()+" "+runtime.GOARCH
	r.Seed, r.Pairs, r.Quick = seed, lab.pairs(), lab.Quick
	if r.Seconds == nil {
		r.Seconds = map[string]float64{}
	}
	for _, e := range Experiments {
		if len(only) > 0 && !slices.Contains(only, e.Name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		if err := e.Run(ctx, lab, r); err != nil {
			return fmt.Errorf("papers: %s: %w", e.Name, err)
		}
		r.Seconds[e.Name] = float64(time.Since(start).Milliseconds()) / 1e3
		if lab.Log != nil {
			fmt.Fprintf(lab.Log, "%-14s %6.1f s  %s\n", e.Name, r.Seconds[e.Name], e.About)
		}
	}
	return nil
}

// Load reads results that [Results.Write] wrote.
func Load(path string) (*Results, error) {
	return folder.Load(path, parse)
}

// parse reads results and refuses those of something else, and those that cannot be
// printed.
func parse(data []byte) (*Results, error) {
	r, err := folder.Decode[Results](data)
	if err != nil {
		return nil, err
	}
	if r.Pairs <= 0 || len(r.Seconds) == 0 {
		return nil, errors.New("no results of 'lab papers'")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}
