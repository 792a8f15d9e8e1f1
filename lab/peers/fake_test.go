package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dataset"
	"clearance/verify"
)

// fakeEnv, set, makes this test binary a driver of the character it names.
const fakeEnv = "PEERS_FAKE_DRIVER"

func TestMain(m *testing.M) {
	if character := os.Getenv(fakeEnv); character != "" {
		fakeDriver(character)
		return
	}
	os.Exit(m.Run())
}

// fakeDriver speaks the protocol. It does not solve: the test leaves the answers
// beside the file of pairs.
//
//	honest   gives the right answers
//	liar     moves every third distance by 1 cm and inverts the first verdict
//	mute     has no answer to the second pair, and says so
//	picky    refuses the shapes
//	simple   has no Boolean query
//	crash    dies in its first round
//	babble   answers with something else than JSON
//	hang     never answers a round
//	drone    answers without a line break
//	short    writes half an answer file
func fakeDriver(character string) {
	var pairs string
	var answers []Answer
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		f := strings.Split(in.Text(), "\t")
		reply := map[string]any{}
		switch f[0] {
		case "hello":
			reply["name"], reply["version"], reply["flags"] = character, "1.0", "none"
		case "shapes":
			var file struct{ Shapes []json.RawMessage }
			data, err := os.ReadFile(f[1])
			if err == nil {
				err = json.Unmarshal(data, &file)
			}
			if err != nil || character == "picky" {
				reply["error"] = fmt.Sprint("shapes are not to my taste ", err)
			}
			reply["count"] = len(file.Shapes)
		case "pairs":
			pairs = f[1]
			p, err := dataset.ReadPairs(pairs)
			if err != nil {
				reply["error"] = err.Error()
				break
			}
			reply["count"] = p.Len()
		case "configurations":
			reply["configurations"] = []string{"slow", "fast"}
			if character == "simple" && f[1] == "boolean" {
				reply["configurations"] = []string{}
			}
		case "run":
			switch character {
			case "crash":
				fmt.Fprintln(os.Stderr, "the sky is falling")
				os.Exit(7)
			case "babble":
				fmt.Println("well, well")
				continue
			case "drone":
				for {
					if _, err := fmt.Print(strings.Repeat("la ", 1000)); err != nil {
						os.Exit(1)
					}
				}
			case "hang":
				time.Sleep(time.Hour)
			}
			reply["seconds"] = map[string]float64{"slow": 2e-3, "fast": 1e-3}[f[2]]
			answers = fakeAnswers(character, f[1], pairs)
		case "answers":
			data := packAnswers(answers)
			if character == "short" {
				data = data[:len(data)/2]
			}
			if err := os.WriteFile(f[1], data, 0o600); err != nil {
				reply["error"] = err.Error()
			}
			reply["count"] = len(answers)
		default:
			reply["error"] = "unknown command"
		}
		line, _ := json.Marshal(reply)
		fmt.Println(string(line))
	}
}

// fakeAnswers reads the truth that leaveTruth left.
func fakeAnswers(character, question, pairs string) []Answer {
	data, err := os.ReadFile(pairs + ".truth")
	if err != nil {
		panic(err)
	}
	var distances []float64
	if err := json.Unmarshal(data, &distances); err != nil {
		panic(err)
	}
	nan := math.NaN()
	answers := make([]Answer, len(distances))
	for i, d := range distances {
		a := &answers[i]
		*a = Answer{Distance: nan, A: [3]float64{nan, nan, nan}, B: [3]float64{nan, nan, nan}}
		if d < 0 {
			a.Verdict = Penetrating
		}
		if question == "signed" || (question == "gjk" && d > 0) {
			a.Distance, a.A, a.B = d, [3]float64{1, 2, 3}, [3]float64{1, 2, 3 + d}
		}
		switch {
		case character == "liar" && i == 0:
			a.Verdict = Separated + Penetrating - a.Verdict
		case character == "liar" && i%3 == 1:
			a.Distance += 0.01
		case character == "mute" && i == 1:
			a.Verdict = Failed
		}
	}
	return answers
}

// leaveTruth writes the files that fakeAnswers reads.
func leaveTruth(t *testing.T, s *Set, questions []Question) {
	t.Helper()
	for i := range questions {
		if questions[i].driver == "" {
			continue
		}
		part, truth, err := s.Part(t.Context(), &questions[i])
		if err != nil {
			t.Fatal(err)
		}
		distances := make([]float64, len(truth))
		for k := range truth {
			distances[k] = truth[k].Distance
		}
		data, err := json.Marshal(distances)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(part.Path+".truth", data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// startFake starts this binary as a driver.
func startFake(t *testing.T, character string) Contestant {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeEnv, character)
	dir := t.TempDir()
	c, err := Start(program, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// smallSet is a set of n boxes with answers for fake drivers.
func smallSet(t *testing.T, n int) *Set {
	t.Helper()
	s, err := NewSet(context.Background(), "boxes", 5, n, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	leaveTruth(t, s, Questions())
	return s
}

// TestFakeDrivers runs drivers of all characters in one measurement: those that are
// wrong are found out, those that fail are named, and nobody stops the others.
func TestFakeDrivers(t *testing.T) {
	const n = 60
	set := smallSet(t, n)
	contestants, err := Ours("test")
	if err != nil {
		t.Fatal(err)
	}
	needClock(t)
	names := []string{"honest", "liar", "mute", "picky", "simple", "crash", "babble", "drone", "hang", "short"}
	for _, name := range names {
		c := startFake(t, name)
		c.(*driver).limit = 20 * time.Second
		if name == "hang" {
			c.(*driver).limit = 300 * time.Millisecond
		}
		contestants = append(contestants, c)
	}
	o := Options{Questions: Questions(), Rounds: 3}
	m := &measurement{o: &o, contestants: contestants, dead: make([]error, len(contestants))}
	tables, err := m.set(context.Background(), set)
	if err != nil {
		t.Fatal(err)
	}
	report := &Report{Tables: tables, Missing: []Missing{{"absent", "for a reason"}}}
	for _, c := range contestants {
		report.Contestants = append(report.Contestants, c.Info())
	}
	entry := func(question, name string) *Entry {
		for i := range tables {
			for k := range tables[i].Entries {
				if e := &tables[i].Entries[k]; tables[i].Question == question && e.Name == name {
					return e
				}
			}
		}
		t.Fatalf("no entry of %s for %s", name, question)
		return nil
	}
	for _, q := range Questions() {
		if q.driver == "" { // nobody but Clearance has an answer
			if e := entry(q.Name, "honest"); !strings.Contains(e.Missing, "no such query") {
				t.Errorf("%s, honest: %+v", q.Name, e)
			}
			continue
		}
		for _, name := range []string{"Clearance, single", "Clearance, double", "honest"} {
			e := entry(q.Name, name)
			if e.Missing != "" || !e.Accuracy.Sound(1e-5) || e.Accuracy.Wrong != 0 || len(e.Rounds) != 3 ||
				!(e.Median > 0) {
				t.Errorf("%s, %s: %+v, accuracy %+v", q.Name, name, e, e.Accuracy)
			}
		}
		for name, want := range map[string]string{
			"picky": "not supported: shapes are not to my taste", "crash": "the sky is falling",
			"babble": "no JSON", "drone": "a line of more than 65536 bytes", "hang": "no answer within",
			"short": "bytes for",
		} {
			if e := entry(q.Name, name); !strings.Contains(e.Missing, want) || e.Accuracy != nil || len(e.Rounds) != 0 {
				t.Errorf("%s, %s: %+v, want it missing with %q", q.Name, name, e, want)
			}
		}
		if e := entry(q.Name, "honest"); e.Configuration != "fast" || len(e.Tried) != 2 {
			t.Errorf("%s: configuration %q of %v, want the faster of two", q.Name, e.Configuration, e.Tried)
		}
		if e := entry(q.Name, "mute"); e.Accuracy.Failed != 1 || e.Accuracy.Sound(1) {
			t.Errorf("%s, mute: %+v, want one failure", q.Name, e.Accuracy)
		}
		liar := entry(q.Name, "liar").Accuracy
		if liar.Wrong != 1 || liar.Sound(SoundTolerance) {
			t.Errorf("%s, liar: %+v, want one wrong verdict", q.Name, liar)
		}
		if q.wants != wantVerdict && (math.Abs(float64(liar.MaxError)-0.01) > 1e-6 || liar.Off == 0) {
			t.Errorf("%s, liar: %+v, want errors of 1 cm", q.Name, liar)
		}
	}
	if e := entry("boolean", "simple"); !strings.Contains(e.Missing, "no such query") {
		t.Errorf("simple answers a Boolean question: %+v", e)
	}
	if e := entry("depth", "simple"); e.Missing != "" {
		t.Errorf("simple is missing for depths: %s", e.Missing)
	}
	for i := range tables {
		tb := &tables[i]
		if tb.Question == "growth" { // no peer has it
			if tb.Fastest != "" || tb.Ratio != 0 {
				t.Errorf("growth: fastest %s (%g)", tb.Fastest, tb.Ratio)
			}
			continue
		}
		if tb.FastestSound == "liar" || tb.FastestSound == "mute" || tb.FastestSound == "" ||
			!(tb.RatioSound >= tb.Ratio) {
			t.Errorf("%s: fastest %s (%g), sound %s (%g)", tb.Question, tb.Fastest, tb.Ratio, tb.FastestSound,
				tb.RatioSound)
		}
		if ratio, who := tb.bestRounds(); who == "liar" || who == "mute" || who == "" || !(ratio > 0) {
			t.Errorf("%s: best rounds of %s (%g)", tb.Question, who, ratio)
		}
	}

	var page strings.Builder
	if err := report.WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Penetration", "absent took no part: for a reason", "| honest | 1.0 | none |",
		"1 failed", "1 wrong", "fastest sound peer", "the same, best rounds"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if data, err := json.Marshal(report); err != nil || !json.Valid(data) {
		t.Errorf("JSON: %v", err)
	}
}

func TestBestRounds(t *testing.T) {
	sound, wrong := &Accuracy{}, &Accuracy{Wrong: 1, WorstWrong: 1}
	rounds := func(ns ...verify.Number) Timing { return Timing{Rounds: ns} }
	table := Table{Entries: []Entry{
		{Name: "ours", Timing: rounds(3, 2, 9)}, {Name: "ours, double", Timing: rounds(1), Accuracy: sound},
		{Name: "steady", Timing: rounds(7, 7, 7), Accuracy: sound},
		{Name: "now and then", Timing: rounds(20, 6, 20), Accuracy: sound},
		{Name: "wrong", Timing: rounds(1), Accuracy: wrong}, {Name: "absent", Missing: "for a reason"},
	}}
	if ratio, who := table.bestRounds(); ratio != 3 || who != "now and then" {
		t.Errorf("%g of %q, want 3 of the peer with the fastest round", ratio, who)
	}
	table.Entries[0].Missing = "for a reason"
	if _, who := table.bestRounds(); who != "" {
		t.Errorf("a ratio to %q without a time of ours", who)
	}
}

// needClock skips where the CPU time of a thread cannot be read; on Linux it can.
func needClock(t *testing.T) {
	t.Helper()
	switch _, err := threadSeconds(); {
	case err != nil && runtime.GOOS == "linux":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

func TestOpenSaysWhy(t *testing.T) {
	build := t.TempDir()
	if err := os.MkdirAll(filepath.Join(build, "missing"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(build, "missing", "coal"), []byte("no network\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, missing, err := Open(build, build)
	if err == nil || !strings.Contains(err.Error(), "make peers") || len(list) != 0 || len(missing) != len(Known()) {
		t.Fatalf("%d peers, %v, %v", len(list), missing, err)
	}
	for _, m := range missing {
		want := "run 'make peers'"
		if m.Name == "coal" {
			want = "no network"
		}
		if !strings.Contains(m.Why, want) {
			t.Errorf("%s: %q, want %q", m.Name, m.Why, want)
		}
	}
}

func TestScore(t *testing.T) {
	truth := []Truth{{0.5, 1e-9, 0}, {-0.25, 1e-9, 0}, {1e-7, 1e-6, 0}}
	whole := func(d float64, v Verdict) Answer { return Answer{Distance: d, B: [3]float64{0, 0, d}, Verdict: v} }
	q := Question{wants: wantDistance}
	good := []Answer{whole(0.5, Separated), whole(-0.25, Penetrating), whole(0, Penetrating)}
	for _, tt := range []struct {
		name   string
		change func(a []Answer)
		want   func(a *Accuracy) bool
	}{
		{"right", func([]Answer) {}, func(a *Accuracy) bool {
			return a.Wrong == 0 && a.Failed == 0 && a.MaxError == 0 && a.Judged == 3 && a.Sound(0)
		}},
		{"the gap explains a difference", func(a []Answer) { a[0].Distance += 5e-10 },
			func(a *Accuracy) bool { return a.MaxError == 0 }},
		{"off", func(a []Answer) { a[1].Distance -= 0.002 }, func(a *Accuracy) bool {
			return a.Off == 1 && math.Abs(float64(a.MaxError)-0.002) < 1e-8 && !a.Sound(1e-4)
		}},
		{"a verdict within the gap is never wrong", func(a []Answer) { a[2].Verdict = Separated },
			func(a *Accuracy) bool { return a.Wrong == 0 }},
		{"wrong verdict", func(a []Answer) { a[1].Verdict = Separated }, func(a *Accuracy) bool {
			return a.Wrong == 1 &&
				a.WorstWrong == 0.25
		}},
		{"NaN is a failure", func(a []Answer) { a[0].Distance = math.NaN() },
			func(a *Accuracy) bool { return a.Failed == 1 && a.Judged == 2 }},
		{"infinity is a failure", func(a []Answer) { a[0].Distance = math.Inf(-1) },
			func(a *Accuracy) bool { return a.Failed == 1 }},
		{"witnesses apart from the distance", func(a []Answer) { a[0].B[0] = 1 },
			func(a *Accuracy) bool { return a.MaxWitness > 0.6 && a.MaxError == 0 }},
		{"no witnesses", func(a []Answer) { a[0].A[0] = math.NaN() },
			func(a *Accuracy) bool { return a.NoWitnesses == 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := append([]Answer(nil), good...)
			tt.change(answers)
			a, err := Score(&q, answers, truth)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.want(&a) {
				t.Errorf("%+v", a)
			}
		})
	}
	if _, err := Score(&q, good[:2], truth); err == nil {
		t.Error("two answers to three pairs are accepted")
	}
}

// TestOurAnswers holds the two calls of question gjk to the one call of signed.
func TestOurAnswers(t *testing.T) {
	needClock(t)
	set, err := NewSet(context.Background(), "ellipsoids", 9, 90, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewOurs("test", batch.Double, "off")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Shapes(set); err != nil {
		t.Fatal(err)
	}
	answers := map[string][]Answer{}
	for _, q := range Questions() {
		part, _, err := set.Part(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Pairs(part); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a second run finds the memory of the first
			if _, err := c.Run(&q, ""); err != nil {
				t.Fatal(err)
			}
		}
		if answers[q.Name], err = c.Answers(); err != nil {
			t.Fatal(err)
		}
	}
	q := Questions()[len(Questions())-1]
	_, truth, err := set.Part(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	growth, err := Score(&q, answers["growth"], truth)
	if err != nil || q.Name != "growth" || !growth.Sound(1e-9) || growth.Judged != 90 || growth.NoWitnesses > 0 {
		t.Errorf("%s: %+v, %v", q.Name, growth, err)
	}
	far := slices.Clone(answers["growth"]) // a pair that is called penetrating at 1.5 is wrong by 0.5
	for i := range far {
		truth[i], far[i].Distance = Truth{1.5, 1e-9, 1}, 1.5
	}
	growth, err = Score(&q, far, truth)
	if err != nil || growth.Wrong != 30 || growth.WorstWrong != 0.5 || growth.MaxError != 0 {
		t.Errorf("a third with a wrong verdict: %+v, %v", growth, err)
	}
	for i, s := range answers["signed"] {
		g := answers["gjk"][i]
		if g.Verdict != s.Verdict || (i%3 == 0) != (g.Verdict == Penetrating) ||
			answers["boolean"][i].Verdict != s.Verdict {
			t.Fatalf("pair %d: verdicts %v, %v, %v", i, s.Verdict, g.Verdict, answers["boolean"][i].Verdict)
		}
		if g.Verdict == Separated && g.Distance != s.Distance {
			t.Errorf("pair %d: distance %g in two calls, %g in one", i, g.Distance, s.Distance)
		}
		if g.Verdict == Penetrating && !math.IsNaN(g.Distance) {
			t.Errorf("pair %d overlaps and has distance %g", i, g.Distance)
		}
		if f := answers["growth"][i]; f.Verdict != s.Verdict || (f.Distance > 1) != (s.Verdict == Separated) {
			t.Errorf("pair %d: growth distance %g, %v; signed distance %g, %v", i, f.Distance, f.Verdict, s.Distance,
				s.Verdict)
		}
	}
}
