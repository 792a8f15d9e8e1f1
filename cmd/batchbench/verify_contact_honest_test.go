package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	native "clearance/kernels/contact"
	"clearance/tests/need"
	"clearance/verify"
)

// contactQuestion is what a file of contact problems of the tests answers.
type contactQuestion struct {
	kind    string
	model   contact.Model
	variant string
}

// contactQuestions are all kinds of scenes under both laws by every variant of the kernels and by Go.
func contactQuestions() (list []contactQuestion) {
	for _, kind := range scenes.Kinds() {
		for _, m := range []contact.Model{contact.NCP, contact.CCP} {
			for _, variant := range append(native.Supported(), contact.Off) {
				list = append(list, contactQuestion{kind, m, variant})
			}
		}
	}
	return list
}

// options are those of a seed: tolerances, bounds of the error and a warm start in turn. Bounds of stacks of eight take
// seconds.
func (q *contactQuestion) options(seed uint64) (o contact.Options, warm bool) {
	o = contact.Options{Model: q.model, SIMD: q.variant, Tolerance: []float64{1e-6, 1e-3, 1e-9}[seed%3],
		Bound: q.model == contact.CCP && seed%2 == 0 && q.kind != "stack8", DropInternal: seed%5 == 4, Workers: 1}
	return o, seed%4 >= 2
}

// TestVerifyContactHonest: no honest file is refuted, nor a bound of its error left open, of any kind of scene, law,
// back end, seed and options. A world that is undecided is said to be.
func TestVerifyContactHonest(t *testing.T) {
	seeds := uint64(2)
	if need.All() {
		seeds = 100
	}
	dir := t.TempDir()
	files, worlds, undecided, bounds := 0, 0, 0, 0
	for n, q := range contactQuestions() {
		for s := range seeds {
			seed := s
			if !need.All() {
				seed = uint64(n) + 7*s // all options
			}
			o, warm := q.options(seed)
			name := fmt.Sprintf("%s, %v, %s, seed %d, %+v, warm %v", q.kind, q.model, q.variant, seed, o, warm)
			p, err := scenes.Generate(q.kind, 2, seed)
			if err != nil {
				t.Fatal(err)
			}
			var first, solution contact.Solution
			if warm {
				loose := contact.Options{Model: q.model, Tolerance: 1e-2}
				if err := contact.Solve(t.Context(), p, loose, &first); err != nil {
					t.Fatal(err)
				}
				p.Warm = first.Impulse
			}
			if err := contact.Solve(t.Context(), p, o, &solution); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "f"+formats[seed%uint64(len(formats))])
			if err := writeContacts(path, p, &solution, q.model, o.Tolerance); err != nil {
				t.Fatal(err)
			}
			f := &verifyContactFlags{results: path,
				options: verify.ContactAudit{Model: q.model, Tolerance: o.Tolerance, Bounds: o.Bound}}
			r, err := verifyContacts(t.Context(), &env{}, f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			files, worlds, undecided = files+1, worlds+r.Worlds, undecided+r.Undecided
			if o.Bound {
				bounds++
			}
			if r.Wrong > 0 || r.Unaudited > 0 || r.Invalid > 0 || r.Undecided == 0 && r.verdict() != nil {
				t.Errorf("%s: %v\n%v", name, r.verdict(), r.Failures)
			}
		}
	}
	t.Logf("%d files, %d of them with bounds; %d worlds, %d undecided", files, bounds, worlds, undecided)
	if undecided > worlds/100 {
		t.Errorf("%d worlds of %d undecided", undecided, worlds)
	}
}
