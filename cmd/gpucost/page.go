package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// page is the report as Markdown.
func (r *Report) page() []byte {
	var b bytes.Buffer
	b.WriteString(`# What the shaders cost on GPUs, by their compilers

Written by ` + "`make gpu-cost`" + ` from the results in [gpu-cost.json](gpu-cost.json). **No GPU ran**:
compilers of real GPUs compiled the pipelines on a machine without one, and these are their figures.

| GPU | architecture | compiler |
|---|---|---|
`)
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", t.Name, t.Architecture, t.Compiler)
	}
	b.WriteString(`
## Pipelines

Vector registers of an invocation / spilled registers / waves of a SIMD unit / instructions, by GPU. A call takes every
stage of its library, query, method and precision; a row of the table is one pipeline, and the last column says which
calls take it. Waves are those of 64 invocations that the registers leave room for.

`)
	b.WriteString("| stage |")
	for _, t := range r.Targets {
		fmt.Fprintf(&b, " %s |", t.Architecture)
	}
	b.WriteString(" calls |\n|---|" + strings.Repeat("---|", len(r.Targets)+1) + "\n")
	for _, i := range r.order() {
		p := &r.Pipelines[i]
		fmt.Fprintf(&b, "| %s |", p.Stage)
		for _, t := range r.Targets {
			c := p.Costs[t.Name]
			fmt.Fprintf(&b, " %d / %d / %d / %s |", c.Registers, c.Spills+c.ScalarSpills, c.Waves,
				thousands(c.Instructions))
		}
		fmt.Fprintf(&b, " %s |\n", r.callsOf(i))
	}
	return b.Bytes()
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
