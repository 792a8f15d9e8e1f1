package engine

import (
	"fmt"
	"strings"

	"clearance/batch"
	"clearance/internal/layout"
	"clearance/shaders"
)

// pass is one shader at work on rows of a chunk. All that is specific to a pass is in its row of the table: the chain
// of a query, its commands, the compiler and the times by pass are loops over it.
type pass struct {
	name string // of the shader, and after a hyphen how this pass differs from others of it; no other has it
	when condition
	rows rows

	// The buffers that it reads and those that it writes, by their names in the shader. Their bindings are those of the
	// shader, with which a test compares both lists.
	in, out string

	vertices uint32            // of a polytope, for passes with scratch memory
	kinds    func(kinds) kinds // those that it is compiled for, by those of the library; nil: the same
}

// passes is the table of the passes, in the order in which a row meets them. A call takes those whose conditions hold.
// Package shaders says what each of them does.
var passes = [...]pass{
	{name: "input", when: provedInDouble,
		in: "Shapes64 Poses Templates Order Warm", out: "Indices Pairs Searches"},
	{name: "input_two_floats", when: provedInTwoFloats,
		in: "Shapes Poses Templates Order Warm", out: "Indices Pairs Remainders Searches"},

	// Signed distances.
	{name: "gjk", when: signedDistance,
		in: "Shapes Vertices Cells Pairs Searches Counts", out: "Searches States Counts"},
	{name: "gjk-rest", when: signedDistance | inPhases, rows: fromList(layout.ListSearch),
		in: "Shapes Vertices Cells Pairs Searches Counts States", out: "Searches"},
	{name: "prove_two_floats", when: provedInTwoFloats,
		in:  "Shapes Vertices Shapes64 Vertices64 Cells Poses Indices Pairs Remainders Searches",
		out: "Columns Unproved Counts"},
	{name: "prove", when: signedDistance | provedInDouble, kinds: kinds.withoutPowers,
		in:  "Shapes64 Vertices64 Cells Poses Indices Searches Unproved",
		out: "Columns Continued Stationary Counts"},
	{name: "prove-rest", when: signedDistance | provedInTwoFloats | hasDouble, rows: fromList(layout.ListUnproved),
		kinds: kinds.withoutPowers,
		in:    "Shapes64 Vertices64 Cells Poses Indices Searches Unproved Counts",
		out:   "Columns Continued Stationary Counts"},
	{name: "box_axes", when: signedDistance | hasDouble | withBoxes, rows: fromList(layout.ListAxes), kinds: kinds.any,
		in: "Shapes64 Vertices64 Cells Poses Indices Searches Stationary Counts", out: "Columns Continued Counts"},
	{name: "trust_region", when: signedDistance | hasDouble | byDirection, rows: fromList(layout.ListStationary),
		in:  "Shapes64 Vertices64 Cells Poses Indices Searches Stationary Counts",
		out: "Columns Searches Depths Continued Counts"},
	{name: "certify", when: signedDistance | hasDouble, rows: fromList(layout.ListContinue),
		in: "Shapes64 Vertices64 Cells Poses Indices Searches Continued Counts", out: "Columns Depths Counts"},
	{name: "epa_float32", when: signedDistance | hasDouble | withHulls | forDepth, rows: depths,
		vertices: float32Vertices,
		in:       "Shapes Vertices Cells Pairs Depths Counts", out: "Depths Quads Faces Links"},
	{name: "depth_certificate", when: signedDistance | hasDouble | byDirection, rows: depths,
		vertices: float64Vertices,
		in:       "Shapes64 Vertices64 Cells Poses Indices Depths Counts", out: "Columns Depths Quads Faces Links"},
	{name: "depth", when: signedDistance | hasDouble, rows: depths, vertices: float64Vertices,
		in: "Shapes64 Vertices64 Cells Poses Indices Depths Counts", out: "Columns Depths Quads Faces Links"},

	// Growth distances.
	{name: "growth", when: growthDistance,
		in: "Shapes Vertices Cells Pairs Searches", out: "Searches"},
	{name: "growth_prove", when: growthDistance | inPhases, kinds: kinds.withoutPowers,
		in: "Shapes64 Vertices64 Cells Poses Indices Searches", out: "Columns Continued Counts"},
	{name: "growth_certify", when: growthDistance | inPhases, rows: fromList(layout.ListContinue),
		in: "Shapes64 Vertices64 Cells Poses Indices Searches Continued Counts", out: "Columns"},
	{name: "growth_certify-all", when: growthDistance | inOnePhase,
		in: "Shapes64 Vertices64 Cells Poses Indices Searches Continued Counts", out: "Columns"},

	// Any query with derivatives.
	{name: "least", when: selected, rows: groupRows,
		in: "Columns Places", out: "Derived Selected"},
	{name: "derivatives", when: differentiated, rows: derivedRows,
		in:  "Shapes64 Vertices64 Poses Indices Columns Cells Operands Selected",
		out: "Derived Selected"},
	{name: "body_gradients", when: summed, rows: bodyRows,
		in: "Derived Places Poses Indices Selected", out: "Sums"},

	// Any query with a reduction.
	{name: "reduce", when: reduced, rows: portions,
		in: "Columns Bounds", out: "Reduced"},
}

// condition is a set of conditions of a call, its library and the device; all of a pass have to hold.
type condition uint

const (
	signedDistance condition = 1 << iota // the query is for a signed distance, or for its sign
	growthDistance
	forDepth       // it is for penetration depths
	differentiated // derivatives alone
	selected       // the choice of rows whose products are summed alone
	summed         // sums of products by body alone
	reduced        // the reduction alone

	withBoxes   // the library has boxes
	withHulls   // it has polytopes by vertices, see kinds.polytopes
	byDirection // the method finds directions along which the support function is stationary

	hasDouble         // the device has double precision
	provedInDouble    // the first proof of a row is in double precision,
	provedInTwoFloats // or else in sums of two floats
	inPhases          // rows that a first pass does not end are compacted, where the method permits,
	inOnePhase        // or else they are not
)

// rows says which rows a pass takes.
type rows uint8

const (
	allRows     rows = iota
	depths           // the records of layout.ListDepths, by as many at a time as there is scratch memory for
	derivedRows      // all, of a DerivativeRecord
	groupRows        // groups of batch.Sums
	bodyRows         // bodies of worlds
	portions         // of a reduction
	firstList
)

// fromList is the rows of a list.
func fromList(list int) rows { return firstList + rows(list) }

// list returns the list of the rows; ok is false if they come from none.
func (r rows) list() (list uint64, ok bool) {
	if r == depths {
		return layout.ListDepths, true
	}
	return uint64(r - firstList), r >= firstList
}

// shader returns the shader of the pass.
func (p *pass) shader() *shaders.Shader {
	name, _, _ := strings.Cut(p.name, "-")
	return shaders.Get(name)
}

// invocations is how many invocations have scratch memory, given the number of those in double precision.
func (p *pass) invocations(n int) int {
	if p.vertices == float32Vertices {
		return float32Invocations(n)
	}
	return n
}

// question is all that the passes of a call and their specialisation constants depend on.
type question struct {
	holds       condition
	method      batch.Method // of the shaders, see methodFor
	have        kinds
	boolean     bool // the query is for a status alone
	fine        bool // the tolerance is below fineTolerance
	fused       bool // fma() of floats rounds once
	gumbel      bool // derivatives are smoothed
	product     batch.ProductKind
	invocations int // with scratch memory in double precision
}

// fineTolerance is the tolerance relative to the size of a pair below which search directions have to be exact to their
// last digits, see searchDirection in certify.comp.
const fineTolerance = 1e-7

// let sets one of two conditions.
func (q *question) let(c, other condition, holds bool) {
	if holds {
		q.holds |= c
	} else {
		q.holds |= other
	}
}

// takes reports whether the pass is in the chain.
func (q *question) takes(p *pass) bool { return q.holds&p.when == p.when }

// constant returns the value of a specialisation constant of a pass.
func (q *question) constant(p *pass, name string) uint32 {
	list, takesList := p.rows.list()
	switch name {
	case "METHOD":
		return uint32(q.method)
	case "KINDS":
		if p.kinds != nil {
			return uint32(p.kinds(q.have))
		}
		return uint32(q.have)
	case "INVOCATIONS":
		return uint32(p.invocations(q.invocations))
	case "VERTICES":
		return p.vertices
	case "BOOLEAN":
		return constant(q.boolean)
	case "FINE":
		return constant(q.fine)
	case "FUSED":
		return constant(q.fused)
	case "PRODUCT":
		return uint32(q.product)
	case "GUMBEL":
		return constant(q.gumbel)
	case "FINAL":
		return constant(q.holds&hasDouble == 0)
	case "GROWTH":
		return constant(q.holds&growthDistance != 0)
	case "LISTED":
		return constant(takesList)
	case "PHASE":
		switch {
		case takesList && list == layout.ListSearch:
			return 2
		case q.holds&inPhases != 0:
			return 1
		}
		return 0
	}
	panic(fmt.Sprintf("engine: pass %s: specialisation constant %s has no value", p.name, name))
}

// constant is the value of a specialisation constant that says yes or no.
func constant(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}
