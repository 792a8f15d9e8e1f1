package gpucost

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"clearance/internal/console"
	"clearance/lab/folder"
)

// Report holds the figures of the compilers.
type Report struct {
	Shaders   string     `json:"shaders"`           // a hash of the code of all shaders
	Sources   string     `json:"sources,omitempty"` // a hash of their sources, of compilers that take these
	Targets   []Target   `json:"targets"`
	Pipelines []Pipeline `json:"pipelines"`
	Uses      []Use      `json:"uses"`
	Executed  []Executed `json:"executed,omitempty"`
}

// Target is a GPU for which a compiler compiles.
type Target struct {
	Name         string `json:"name"` // as its compiler calls it
	Architecture string `json:"architecture"`
	Compiler     string `json:"compiler"` // with its version
}

// Pipeline is a shader with values of its specialisation constants.
type Pipeline struct {
	Stage     string            `json:"stage"`
	Constants map[uint32]uint32 `json:"constants"`
	Costs     map[string]Cost   `json:"costs"` // by the name of the target
}

// source returns the name of the source: a stage after a hyphen is a phase of it.
func (p *Pipeline) source() string {
	name, _, _ := strings.Cut(p.Stage, "-")
	return name
}

// Cost describes compiled code. Figures that a compiler does not give are 0.
type Cost struct {
	Registers    uint64 `json:"registers"`     // vector registers of one invocation
	Spills       uint64 `json:"spills"`        // vector registers that are spilled
	ScalarSpills uint64 `json:"scalar_spills"` // scalar registers that are spilled
	Scratch      uint64 `json:"scratch_bytes"` // memory of one subgroup
	Waves        uint64 `json:"waves"`         // subgroups that a SIMD unit holds, by registers
	Instructions uint64 `json:"instructions"`
	Code         uint64 `json:"code_bytes"`
}

// Use is a kind of call with the pipelines that its rows pass, as indices in the order of the stages.
type Use struct {
	Library   string `json:"library"` // the name of a generated set
	Query     string `json:"query"`
	Method    string `json:"method"`
	Precision string `json:"precision"`
	Pipelines []int  `json:"pipelines"`
}

// String names the call.
func (u *Use) String() string {
	return fmt.Sprintf("%s, %s %s, %s", u.Library, u.Precision, u.Query, u.Method)
}

// pipeline returns the index of a pipeline, adding it if it is new.
func (r *Report) pipeline(stage string, constants map[uint32]uint32) int {
	for i := range r.Pipelines {
		if p := &r.Pipelines[i]; p.Stage == stage && maps.Equal(p.Constants, constants) {
			return i
		}
	}
	r.Pipelines = append(r.Pipelines, Pipeline{stage, constants, map[string]Cost{}})
	return len(r.Pipelines) - 1
}

// use returns the use of the same call, nil if there is none.
func (r *Report) use(like *Use) *Use {
	for i := range r.Uses {
		u := &r.Uses[i]
		if u.Library == like.Library && u.Query == like.Query && u.Method == like.Method &&
			u.Precision == like.Precision {
			return u
		}
	}
	return nil
}

// add merges the report of one target into r. Every target has the same uses and pipelines.
func (r *Report) add(t *Report) error {
	r.Shaders = t.Shaders
	for i := range t.Uses {
		from := &t.Uses[i]
		var list []int
		for _, k := range from.Pipelines {
			p := &t.Pipelines[k]
			at := r.pipeline(p.Stage, p.Constants)
			maps.Copy(r.Pipelines[at].Costs, p.Costs)
			list = append(list, at)
		}
		to := r.use(from)
		if to == nil {
			r.Uses = append(r.Uses, Use{from.Library, from.Query, from.Method, from.Precision, list})
		} else if !slices.Equal(to.Pipelines, list) {
			return fmt.Errorf("%v: the pipelines for %s are others than those for %s", from, t.Targets[0].Name,
				r.Targets[0].Name)
		}
	}
	r.Targets = append(r.Targets, t.Targets...)
	return nil
}

// target returns the target of a name, nil if there is none.
func (r *Report) target(name string) *Target {
	for i := range r.Targets {
		if r.Targets[i].Name == name {
			return &r.Targets[i]
		}
	}
	return nil
}

// read reads the results file.
func read(file string) (*Report, error) { return folder.Load(file, parse) }

func parse(data []byte) (*Report, error) {
	r, err := folder.Decode[Report](data)
	if err != nil {
		return nil, err
	}
	for _, u := range r.Uses {
		for _, p := range u.Pipelines {
			if p < 0 || p >= len(r.Pipelines) {
				return nil, fmt.Errorf("%v: there is no pipeline %d", &u, p)
			}
		}
	}
	return r, nil
}

// write writes the results file.
func (r *Report) write(file string) error {
	data, err := console.JSON(r)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
