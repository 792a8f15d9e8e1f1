package papers

import (
	"strings"
	"testing"

	"clearance/ref"
	"clearance/tests/reread"
)

// papersJSON has a row of every experiment, as small as can be.
var papersJSON = `{"pairs": 1, "seconds": {"qp": 1},
	"table_ii": {"cubes/close": {"gjk": {"n": 1, "mean": 2}}}, "chain": [{"change": "c", "counts": {}}],
	"rules": [{"change": "r"}], "cube_gap": [{"change": "1"}],
	"warm_start": {"ellipsoids/gjk/distance": {"cold": {"n": 1}}},
	"sub_algorithm": [{"kind": "k", "median": [1, 2, 3], "worst": [1, 2, 3], "failed": [0, 0, 1]}],
	"gear": [{"crown": 1, "last": [1, 2, 3, 4, 5], "wrong": [0, 0, 0, 0, 1], "worst": [1, 2, 3, 4, 5]}],
	"sweeps": [{"shapes": "ellipsoids", "question": "distance", "methods": ["gjk"],
		"points": [{"distance": 1, "iterations": [{"n": 1}], "ns": [1]}]}],
	"meshes": [{"name": "m", "methods": ["gjk"], "ns": [1], "ns_sd": [0], "iterations": [1], "speed_up": [[1, 1, 1]]}],
	"convergence": [{"shapes": "cubes", "method": "gjk", "error": [[1, 2, 3]]}],
	"generic": [{"vertices": 8, "methods": ["gjk"], "ns": [1], "ns_sd": [0]}],
	"rtr": {"cells": [{}` + strings.Repeat(", {}", 35) + `], "starts": [1],
		"depths": [{"hi": 1, "local": [0], "us": [1]}], "times": [{}], "choice": [{}],
		"meshes": [{"mesh": "m", "vertices": [8], "hull_us": [1]}]},
	"growth": {"times": [{"set": "boxes", "start": "cold", "method": "IE", "median_us": 1}],
		"vertices": [{"n": 10, "method": "IE", "median_us": 1}],
		"curves": [{"set": "boxes", "method": "IE", "gap": [[1, 2, 3]]}]},
	"derivatives": {"problems": 1,
		"targets": [{"quantiles": [[1], [2], [3]]}` +
	strings.Repeat(`, {"quantiles": [[1], [2], [3]]}`, len(targetEstimators())-1) + `],
		"times": [{"method": "t", "collision": [1, 2], "apart": [3, 4]}],
		"curves": [{"figure": "fig5", "method": "c", "cost": [[1, 2, 3]]}],
		"errors": [{"method": "e", "epsilon": 1, "samples": 1}]},
	"contacts": {"slides": [{"solver": "ccp-pgs", "curve": [[1, 2, 3]]}],
		"pushes": [` + times(len(ref.ContactSolvers()), `{"solver": "ncp-pgs", "curve": [[1, 2, 3, 4, 5, 6]]}`) + `],
		"ratios": [` + times(len(ref.ContactSolvers())*len(massRatios), `{"solver": "ncp-pgs", "ratio": 1}`) + `],
		"time_steps": [` + times(len(consistent)*len(consistentSteps), `{"solver": "s", "value": 1}`) + `],
		"tolerances": [` + times(len(consistent)*len(consistentEnds), `{"solver": "s", "value": 1}`) + `],
		"towers": [` + times(len(ref.ContactSolvers()), `{"solver": "s", "towers": 1}`) + `]}}`

// times is a JSON list of n equal elements, without brackets.
func times(n int, element string) string { return strings.Repeat(element+", ", n-1) + element }

// broken are parts of papersJSON, what takes their place, and what the error says.
var broken = []struct{ from, to, want string }{
	{`"ns": [1]}]`, `"ns": []}]`, "sweep 0, point 0, ns has 0 values, want 1"},
	{`"points": [{"distance": 1, "iterations": [{"n": 1}], "ns": [1]}]`, `"points": []`,
		"sweep 0 has no methods or no points"},
	{`"question": "distance"`, `"question": "/../../x"`, "make no file name"},
	{`"shapes": "cubes"`, `"shapes": "/x"`, "make no file name"},
	{`[[1, 1, 1]]`, `null`, "mesh row 0"},
	{`"vertices": 8, "methods": ["gjk"]`, `"vertices": 8, "methods": []`, "generic row 0"},
	{`"last": [1, `, `"last": [`, "gear row 0"},
	{`"failed": [0, 0, 1]`, `"failed": []`, "sub-algorithm row 0"},
	{`"cells": [{}, `, `"cells": [`, "rtr, cells has 35 values, want 36"},
	{`"starts": [1]`, `"starts": []`, "rtr, depth 0, local has 1 values, want 0"},
	{`"vertices": [8]`, `"vertices": []`, "rtr, mesh 0 has no vertices"},
	{`"vertices": [8]`, `"vertices": [8, 9]`, "rtr, mesh 0, hull_us has 1 values, want 2"},
	{`"vertices": [{"n": 10, "method": "IE", "median_us": 1}]`, `"vertices": []`, "growth: a table without rows"},
	{`"curves": [{"set": "boxes"`, `"curves": [{"set": "/boxes"`, "make no file name"},
	{`"targets": [`, `"targets": [{}, `, "derivatives, targets"},
	{`"pushes": [`, `"pushes": [{}, `, "contacts, pushes has"},
	{`"ratios": [`, `"ratios": [{}, `, "contacts, ratios has"},
	{`"towers": [`, `"towers": [{}, `, "contacts, towers has"},
	{`"time_steps": [`, `"time_steps": [{}, `, "contacts, time_steps has"},
	{`"tolerances": [`, `"tolerances": [{}, `, "contacts, tolerances has"},
	{`"quantiles": [[1], `, `"quantiles": [`, "derivatives, target row 0, quantiles has 2 values, want 3"},
	{`"pairs": 1, "seconds": {"qp": 1},`, ``, "no results of 'lab papers'"},
}

// Results are refused, and the file is named, or they are printed, and come back from
// their own JSON as they were.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(papersJSON))
	for _, b := range broken {
		f.Add([]byte(strings.Replace(papersJSON, b.from, b.to, 1)))
	}
	f.Add([]byte(strings.ReplaceAll(papersJSON, "gjk", `\ud800|\n`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, _, text := reread.Report(t, ResultsFile, data, Load, (*Results).Markdown); r != nil && text == "" {
			t.Error("an empty page")
		}
	})
}

// TestLoadRefuses: results that cannot be printed are refused, and say where.
func TestLoadRefuses(t *testing.T) {
	r, err := Load(reread.File(t, ResultsFile, []byte(papersJSON)))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := r.Markdown(); err != nil || strings.Contains(text, "not part of this run") {
		t.Errorf("the results of the test lack an experiment, or cannot be printed: %v", err)
	}
	for _, b := range broken {
		text := strings.Replace(papersJSON, b.from, b.to, 1)
		if text == papersJSON {
			t.Errorf("%s is not in the results of the test", b.from)
		}
		path := reread.File(t, ResultsFile, []byte(text))
		if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") ||
			!strings.Contains(err.Error(), b.want) {
			t.Errorf("%s in place of %s: error %v, want %q", b.to, b.from, err, b.want)
		}
	}
}
