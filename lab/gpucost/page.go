package gpucost

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clearance/engine"
)

// writePage writes the page of the results in a folder; those of NVIDIA need not be there.
func writePage(dir string) error {
	amd, err := read(filepath.Join(dir, resultsFile))
	if err != nil {
		return err
	}
	nvidia, err := read(filepath.Join(dir, nvidiaFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := page(amd, nvidia)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, pageFile), text, 0o644)
}

// page is the results as Markdown. nvidia may be nil.
func page(amd, nvidia *Report) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`# What the shaders cost on GPUs, by their compilers

Written by ` + "`make gpu-cost`" + ` from the results in [gpu-cost.json](gpu-cost.json). **No GPU ran**:
compilers of real GPUs compiled the pipelines on a machine without one, and these are their figures. What was changed
for them is in the [notebook](../notebook/gpu-cost.md).

Vector registers of an invocation / spilled registers / waves of a SIMD unit / instructions, by GPU. A call takes every
stage of its library, query, method and precision; a row of a table is one pipeline, and the last column says which
calls take it. Waves are the subgroups that the registers leave room for.

## AMD

Subgroups of 64. Spilled registers are vector and scalar ones.

`)
	amd.tables(&b)
	if nvidia == nil {
		return b.Bytes(), nil
	}
	b.WriteString(`
## NVIDIA

Written by ` + "`make gpu-cost NVIDIA=1`" + ` from the results in [gpu-cost-nvidia.json](gpu-cost-nvidia.json).
Slang translated the shaders to CUDA and NVIDIA's compilers of CUDA compiled that: a proxy for the compiler of the
driver. Subgroups of 32; waves are warps of a scheduler; calls by the method auto.

`)
	if nvidia.Shaders != amd.Shaders {
		b.WriteString("These are figures of **earlier shaders** than the table above.\n\n")
	}
	nvidia.tables(&b)
	if err := nvidia.estimates(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// estimates writes what rows execute, and the model of GPUs.
func (r *Report) estimates(b *bytes.Buffer) error {
	if len(r.Executed) == 0 {
		return nil
	}
	fmt.Fprintf(b, `
## What rows execute

%d separated rows of each set, the distance in single precision, as an interpreter of the PTX for %s ran them, proved
in double precision and in two floats. Their answers agreed with the separations at which the rows were placed, and
their relative positions with float64 to 1e-12. Instructions of a row are those of its thread, those of a warp are per
row: each basic block as often as in the thread of 32 that runs it most often, as if threads that part met again at
once. Others are all but those in double precision. A quotient in double precision counts as 12 instructions, a root as
14, in single precision as 8 and 6, a move or a selection as none. Bytes are the 32-byte sectors of all buffers that the
stage touches, as with a perfect cache; those of the library are shared by %d rows, a chunk.

| set | proof | stage | row: others | row: double | warp: others | warp: double | row / warp | bytes |
|---|---|---|---|---|---|---|---|---|
`, simulatedRows, r.Targets[0].Name, chunkRows)
	for _, e := range r.Executed {
		for _, s := range e.Stages {
			fmt.Fprintf(b, "| %s | %s | %s | %.0f | %.0f | %.0f | %.0f | %.2f | %.0f |\n", e.Set, e.proof(), s.Stage,
				s.Row, s.Row64, s.Warp, s.Warp64, s.Efficiency, s.Bytes)
		}
	}
	b.WriteString(`
## Estimates

**No GPU has run this; a model says it.** Every stage takes the longest of three times: to issue the instructions of
its warps, to compute those in double precision, and to move its bytes. Stages follow one another. Assumed, and more
than a GPU reaches: data-sheet clocks, an instruction issued in every clock, bandwidth of the data sheet, no latency, no
launch, no transfer over the link. Instructions are those of the table above on every GPU, that of AMD included. A GPU
takes the proof that its line in bold names, by the table of package engine; the other line is for comparison.

| GPU | units | GHz | warps issued per clock and unit | in double precision | GB/s |
|---|---|---|---|---|---|
`)
	for _, g := range gpus {
		fmt.Fprintf(b, "| %s | %g | %g | %g | %g | %g |\n", g.name, g.units, g.clock, g.issue, g.double, g.bandwidth)
	}
	b.WriteString("\n| GPU | set | proof | at most, million rows/s | nanoseconds of a stage per row, and its bound |" +
		"\n|---|---|---|---|---|\n")
	for _, g := range gpus {
		for i := range r.Executed {
			e := &r.Executed[i]
			ok, own, err := g.estimated(e.Precision)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			mark := ""
			if own {
				mark = "**"
			}
			rows, stages := g.estimate(e)
			fmt.Fprintf(b, "| %s | %s | %s%s%s | %s%.0f%s | %s |\n", g.name, e.Set, mark, e.proof(), mark, mark, rows,
				mark, strings.Join(stages, ", "))
		}
	}
	return nil
}

// proof names the arithmetic of the proof.
func (e *Executed) proof() string {
	if e.Precision == twoFloats {
		return engine.ProofTwoFloats.String()
	}
	return engine.ProofFloat64.String()
}

// tables writes the compilers and the pipelines.
func (r *Report) tables(b *bytes.Buffer) {
	b.WriteString("| GPU | architecture | compiler |\n|---|---|---|\n")
	for _, t := range r.Targets {
		fmt.Fprintf(b, "| %s | %s | %s |\n", t.Name, t.Architecture, t.Compiler)
	}
	b.WriteString("\n| stage |")
	for _, t := range r.Targets {
		fmt.Fprintf(b, " %s |", t.Architecture)
	}
	b.WriteString(" calls |\n|---|" + strings.Repeat("---|", len(r.Targets)+1) + "\n")
	for _, i := range r.order() {
		p := &r.Pipelines[i]
		fmt.Fprintf(b, "| %s |", p.Stage)
		for _, t := range r.Targets {
			c := p.Costs[t.Name]
			fmt.Fprintf(b, " %d / %d / %d / %s |", c.Registers, c.Spills+c.ScalarSpills, c.Waves,
				thousands(c.Instructions))
		}
		fmt.Fprintf(b, " %s |\n", r.callsOf(i))
	}
}

// order returns the indices of the pipelines by stage, in the order in which stages first occur.
func (r *Report) order() []int {
	var stages []string
	list := make([]int, len(r.Pipelines))
	for i := range list {
		list[i] = i
		if s := r.Pipelines[i].Stage; !slices.Contains(stages, s) {
			stages = append(stages, s)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		return slices.Index(stages, r.Pipelines[a].Stage) - slices.Index(stages, r.Pipelines[b].Stage)
	})
	return list
}

// callsOf lists the libraries, queries, methods and precisions of the calls that take a pipeline.
func (r *Report) callsOf(pipeline int) string {
	var libraries, queries, methods, precisions []string
	for i := range r.Uses {
		u := &r.Uses[i]
		if !slices.Contains(u.Pipelines, pipeline) {
			continue
		}
		for _, f := range []struct {
			to   *[]string
			name string
		}{{&libraries, u.Library}, {&queries, u.Query}, {&methods, u.Method}, {&precisions, u.Precision}} {
			if !slices.Contains(*f.to, f.name) {
				*f.to = append(*f.to, f.name)
			}
		}
	}
	var parts []string
	for _, list := range [][]string{libraries, queries, methods, precisions} {
		parts = append(parts, strings.Join(list, ", "))
	}
	return strings.Join(parts, "; ")
}

// thousands writes a number with separators.
func thousands(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
