package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"clearance/batch"
)

// Tables of a plan: what is varied.
const (
	Questions = "questions" // query × set × separation × precision, one thread
	Threads   = "threads"   // set × separation × threads of the CPU
	Sizes     = "sizes"     // set × pairs of a call
)

// Tables lists all tables, in the order of the report.
func Tables() []string { return []string{Questions, Threads, Sizes} }

// regimes of separation. Row i of a generated set is of regime i mod 3.
var regimes = []struct{ name, text string }{
	{"overlapping", "overlapping by up to 0.1 m"},
	{"close", "up to 0.1 m apart"},
	{"distant", "0.1 to 2 m apart"},
}

// Regimes returns the names of the regimes of separation, in the order of the rows.
func Regimes() []string {
	var names []string
	for _, r := range regimes {
		names = append(names, r.name)
	}
	return names
}

// CPU is the name of the back end whose threads are varied.
const CPU = "cpu"

// Case is one question asked of one batch by one back end.
type Case struct {
	Table     string `json:"table"`
	Set       string `json:"set"`
	Regime    string `json:"regime"`
	Query     string `json:"query"`
	Precision string `json:"precision"`
	Pairs     int    `json:"pairs"` // of a call
	Backend   string `json:"backend"`
	Workers   int    `json:"workers"` // threads of the CPU, which other back ends leave rows to
}

// Name identifies the case in every report.
func (c *Case) Name() string {
	return strings.Join([]string{c.Table, c.Set, c.Regime, c.Query, c.Precision, strconv.Itoa(c.Pairs),
		c.Backend + "×" + strconv.Itoa(c.Workers)}, "/")
}

// options of the call.
func (c *Case) options() (batch.Options, error) {
	var o batch.Options
	var err error
	if o.Query, err = batch.ParseQuery(c.Query); err != nil {
		return o, err
	}
	if o.Precision, err = batch.ParsePrecision(c.Precision); err != nil {
		return o, err
	}
	o.Columns = o.EffectiveColumns() &^ batch.ColBits // which repeat the status
	return o, o.Check()
}

// Plan says what to measure: every combination of the lists that a table varies.
type Plan struct {
	Tables, Sets, Queries, Regimes, Precisions, Backends []string

	Pairs       int   // of a call in the table of questions
	ThreadPairs int   // of a call in the table of threads
	Sizes       []int // pairs of a call in the table of sizes
	Threads     []int // in the table of threads; the largest is used elsewhere, where it is not one
}

// Cases expands the plan, set by set and regime by regime. The error names the
// list that is empty or the value that is unknown.
func (p *Plan) Cases() ([]Case, error) {
	for _, l := range []struct {
		what        string
		have, known []string
	}{
		{"table", p.Tables, Tables()}, {"regime", p.Regimes, Regimes()}, {"set", p.Sets, nil},
		{"query", p.Queries, nil},
		{"precision", p.Precisions, nil}, {"back end", p.Backends, nil},
	} {
		if len(l.have) == 0 {
			return nil, fmt.Errorf("no %s to measure", l.what)
		}
		for _, name := range l.have {
			if l.known != nil && !slices.Contains(l.known, name) {
				return nil, fmt.Errorf("unknown %s %q, want some of %s", l.what, name, strings.Join(l.known, ", "))
			}
		}
	}
	for _, n := range slices.Concat([]int{p.Pairs, p.ThreadPairs}, p.Sizes, p.Threads) {
		if n < 1 {
			return nil, fmt.Errorf("%d pairs or threads, want 1 or more", n)
		}
	}
	if len(p.Threads) == 0 {
		return nil, fmt.Errorf("no number of threads to measure")
	}
	var all []Case
	for _, set := range p.Sets {
		for _, regime := range p.Regimes {
			all = append(all, p.expand(set, regime)...)
		}
	}
	for i := range all {
		if _, err := all[i].options(); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("nothing to measure: the table of threads takes the back end %s, the table of sizes "+
			"the regime close", CPU)
	}
	return all, nil
}

func (p *Plan) expand(set, regime string) (list []Case) {
	most := slices.Max(p.Threads)
	base := Case{Set: set, Regime: regime, Query: batch.Distance.String(), Precision: batch.Single.String()}
	for _, table := range p.Tables {
		for _, backend := range p.Backends {
			c := base
			c.Table, c.Backend, c.Workers = table, backend, most
			switch table {
			case Questions:
				if c.Pairs = p.Pairs; backend == CPU {
					c.Workers = 1
				}
				for _, c.Query = range p.Queries {
					for _, c.Precision = range p.Precisions {
						list = append(list, c)
					}
				}
			case Threads:
				if c.Pairs = p.ThreadPairs; backend != CPU {
					continue
				}
				for _, c.Workers = range p.Threads {
					list = append(list, c)
				}
			case Sizes:
				if regime != "close" {
					continue
				}
				for _, c.Pairs = range p.Sizes {
					list = append(list, c)
				}
			}
		}
	}
	return list
}
