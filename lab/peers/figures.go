package peers

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"clearance/lab/folder"
	"clearance/lab/plots"
)

// Load reads a report that was written as JSON.
func Load(path string) (*Report, error) {
	return folder.Load(path, parse)
}

// parse reads a report and refuses one that cannot be printed.
func parse(data []byte) (*Report, error) {
	r, err := folder.Decode[Report](data)
	if err != nil {
		return nil, err
	}
	if len(r.Contestants) < ourContestants || len(r.Tables) == 0 {
		return nil, errors.New("no report of 'lab peers --json'")
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		if len(t.Entries) != len(r.Contestants) {
			return nil, fmt.Errorf("table %d (%s, %s) has %d entries, want one for each of %d contestants", i, t.Set,
				t.Question, len(t.Entries), len(r.Contestants))
		}
		for k := range t.Entries {
			if e := &t.Entries[k]; e.Missing == "" && (len(e.Rounds) == 0 || e.Accuracy == nil) {
				return nil, fmt.Errorf("table %d (%s, %s): %s is not missing, but has no rounds or no accuracy", i,
					t.Set, t.Question, e.Name)
			}
		}
	}
	return r, nil
}

// WriteFigures draws the report into dir: for each question peers-QUESTION, bars of
// throughput by set for Clearance in single precision and the peers that are sound
// there, and peers-accuracy, the largest error of each contestant against its
// throughput on separated pairs. It returns the names without extension.
func (r *Report) WriteFigures(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var names []string
	for _, q := range Questions() {
		tables := r.tables(&q)
		if len(tables) == 0 {
			continue
		}
		name := "peers-" + q.Name
		if err := r.bars(&q, tables).Draw(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		names = append(names, name)
		if q.Name == "distance" {
			if err := r.accuracy(&q, tables).Draw(filepath.Join(dir, "peers-accuracy")); err != nil {
				return nil, err
			}
			names = append(names, "peers-accuracy")
		}
	}
	return names, nil
}

// rate is the throughput of an entry in million pairs a second.
func (e *Entry) rate() float64 { return 1e3 / float64(e.Median) }

func (r *Report) bars(q *Question, tables []*Table) *plots.Bars {
	f := &plots.Bars{Title: q.Title + ", one core: sound answers only", Y: "million pairs a second"}
	for _, t := range tables {
		f.Groups = append(f.Groups, t.Set)
	}
	for i, c := range r.Contestants {
		if i > 0 && i < ourContestants {
			continue // double precision
		}
		s := plots.Series{Name: c.Name, Color: i, Label: i == 0}
		some := false
		for _, t := range tables {
			v := math.NaN()
			if e := &t.Entries[i]; e.Missing == "" && e.Accuracy.Sound(SoundTolerance) {
				v, some = e.rate(), true
			}
			s.Values = append(s.Values, v)
		}
		if some {
			f.Series = append(f.Series, s)
		}
	}
	return f
}

func (r *Report) accuracy(q *Question, tables []*Table) *plots.Scatter {
	f := &plots.Scatter{
		Title: q.Title + ", one core: a point a set",
		X:     "million pairs a second", Y: "largest error of the distance, m", LeastY: 1e-16,
	}
	for i, c := range r.Contestants {
		cloud := plots.Cloud{Name: c.Name, Color: i}
		for _, t := range tables {
			if e := &t.Entries[i]; e.Missing == "" {
				cloud.X, cloud.Y = append(cloud.X, e.rate()), append(cloud.Y, float64(e.Accuracy.MaxError))
			}
		}
		if len(cloud.X) > 0 {
			f.Clouds = append(f.Clouds, cloud)
		}
	}
	return f
}
