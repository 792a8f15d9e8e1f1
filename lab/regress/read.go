package regress

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"clearance/lab/folder"
)

// Report holds what a comparison needs of a report.
type Report struct {
	Program string
	Machine string // processor or device, and platform
	Seed    uint64
	Samples []Sample
}

// ours is how the names of this module's contestants begin in a report of peers.
const ours = "Clearance"

// file is the union of what `batchbench run`, `lab peers` and `lab matrix`
// write.
type file struct {
	Program   string `json:"program"`
	Platform  string `json:"platform"`
	Backend   string `json:"backend"`
	Device    string `json:"device"`
	Processor string `json:"processor"`
	Query     string `json:"query"`
	Precision string `json:"precision"`
	Seed      uint64 `json:"seed"`
	Sets      []struct {
		Set     string    `json:"set"`
		Pairs   float64   `json:"pairs"`
		Seconds []float64 `json:"seconds"`
	} `json:"sets"`
	Points []struct {
		Table     string    `json:"table"`
		Set       string    `json:"set"`
		Regime    string    `json:"regime"`
		Query     string    `json:"query"`
		Precision string    `json:"precision"`
		Pairs     int       `json:"pairs"`
		Backend   string    `json:"backend"`
		Workers   int       `json:"workers"`
		Rounds    []float64 `json:"ns_per_pair_rounds"`
	} `json:"points"`
	Tables []struct {
		Set      string `json:"set"`
		Question string `json:"question"`
		Entries  []struct {
			Name   string    `json:"name"`
			Rounds []float64 `json:"ns_per_pair_rounds"`
		} `json:"entries"`
	} `json:"tables"`
}

// Read reads a report of `batchbench run --json`, `lab peers --json` or
// `lab matrix`.
func Read(path string) (*Report, error) {
	return folder.Load(path, parse)
}

// Pool reads several reports as one: the rounds of a measurement are those of all of
// them. Reports that were taken in turn with those they are compared with see the same
// slow and fast hours of a machine. It fails if they differ in machine or seed, or if
// one lacks a measurement that another has.
func Pool(paths ...string) (*Report, error) {
	var all *Report
	for _, path := range paths {
		r, err := Read(path)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = r
			continue
		case r.Program != all.Program || r.Machine != all.Machine || r.Seed != all.Seed:
			return nil, fmt.Errorf("%s and %s differ in program, machine or seed; they cannot be taken as one",
				paths[0], path)
		case len(r.Samples) != len(all.Samples):
			return nil, fmt.Errorf("%s has %d measurements, %s has %d; they cannot be taken as one", paths[0],
				len(all.Samples), path, len(r.Samples))
		}
		for i, s := range r.Samples {
			if s.Name != all.Samples[i].Name {
				return nil, fmt.Errorf("%s has no measurement %s in its place; it cannot be taken as one with %s", path,
					all.Samples[i].Name, paths[0])
			}
			all.Samples[i].Rounds = append(all.Samples[i].Rounds, s.Rounds...)
		}
	}
	if all == nil {
		return nil, errors.New("no report to read")
	}
	return all, nil
}

func parse(data []byte) (*Report, error) {
	f, err := folder.Decode[file](data)
	if err != nil {
		return nil, err
	}
	r := &Report{Program: f.Program, Seed: f.Seed}
	switch f.Program {
	case "batchbench run":
		r.Machine = f.Device + ", " + f.Platform
		for _, s := range f.Sets {
			sample := Sample{Name: strings.Join([]string{s.Set, f.Query, f.Precision, f.Backend}, "/")}
			for _, seconds := range s.Seconds {
				sample.Rounds = append(sample.Rounds, 1e9*seconds/s.Pairs)
			}
			r.Samples = append(r.Samples, sample)
		}
	case "lab peers", "batchbench peers": // the second is the name in earlier versions
		r.Machine = f.Processor + ", " + f.Platform
		for _, t := range f.Tables {
			for _, e := range t.Entries {
				if len(e.Rounds) == 0 {
					continue // took no part
				}
				r.Samples = append(r.Samples, Sample{
					Name: strings.Join([]string{t.Set, t.Question, e.Name}, "/"), Rounds: e.Rounds,
					Control: !strings.HasPrefix(e.Name, ours),
				})
			}
		}
	case "lab matrix", "batchbench matrix":
		r.Machine = f.Processor + ", " + f.Platform
		for _, p := range f.Points {
			by := p.Backend + "×" + strconv.Itoa(p.Workers)
			r.Samples = append(r.Samples, Sample{
				Name: strings.Join([]string{p.Table, p.Set, p.Regime, p.Query, p.Precision, strconv.Itoa(p.Pairs), by},
					"/"), Rounds: p.Rounds,
			})
		}
	default:
		return nil, fmt.Errorf("program %q, want a report of 'batchbench run', 'lab peers' or 'lab matrix'", f.Program)
	}
	for _, s := range r.Samples {
		if len(s.Rounds) == 0 {
			return nil, fmt.Errorf("measurement %s has no rounds", s.Name)
		}
		for _, v := range s.Rounds {
			if !(v > 0) || math.IsInf(v, 1) {
				return nil, fmt.Errorf("measurement %s has a round of %g ns a pair", s.Name, v)
			}
		}
	}
	return r, nil
}
