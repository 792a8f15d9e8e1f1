package main

// #include "clearance.h"
import "C"

import (
	"encoding/json"
	"runtime"
	"unsafe"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/derive"
	"clearance/geom"
)

// version is set by the build.
var version = "devel"

// fail fills *out with the error and returns its code.
func fail(out *C.clearance_error, err error) C.int32_t {
	c := codeOf(err)
	if out != nil {
		out.code, out.reserved = C.int32_t(c), 0
		text := ""
		if err != nil {
			text = message(err)
		}
		putText(out.message[:], text)
	}
	return C.int32_t(c)
}

// putText stores a text with a zero byte at its end. Where it is too long it is cut before a rune.
func putText(out []C.char, text string) {
	n := min(len(text), len(out)-1)
	for n > 0 && n < len(text) && text[n]&0xc0 == 0x80 {
		n--
	}
	for i := range n {
		out[i] = C.char(text[i])
	}
	out[n] = 0
}

// text returns the text at p, "" for NULL.
func text(p *C.clearance_text) string {
	if p == nil {
		return ""
	}
	return C.GoString((*C.char)(unsafe.Pointer(p)))
}

// write copies a text with a zero byte to out if size bytes suffice, and returns how many it needs.
func write(text []byte, out *C.char, size C.int64_t) C.int64_t {
	need := len(text) + 1
	if out != nil && int(size) >= need {
		to := unsafe.Slice((*byte)(unsafe.Pointer(out)), need)
		copy(to, text)
		to[need-1] = 0
	}
	return C.int64_t(need)
}

// array returns the n numbers at p, none if n is negative; they must not be used after the call or the job.
func array[T, E any](p *E, n int) []T {
	if p == nil || n <= 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(p)), n)
}

//export clearance_check
func clearance_check(caller *C.clearance_sizes, out *C.clearance_error) C.int32_t {
	if caller == nil {
		return fail(out, argument("no sizes"))
	}
	own := C.clearance_sizes{
		abi: C.CLEARANCE_ABI, error: C.sizeof_clearance_error, shape: C.sizeof_clearance_shape,
		options: C.sizeof_clearance_options, query: C.sizeof_clearance_query, pairs: C.sizeof_clearance_pairs,
		worlds: C.sizeof_clearance_worlds, results: C.sizeof_clearance_results, report: C.sizeof_clearance_report,
		part: C.sizeof_clearance_part, scene: C.sizeof_clearance_scene, more: C.sizeof_clearance_more,
		motions: C.sizeof_clearance_motions, contacts: C.sizeof_clearance_contacts,
		attribute: C.sizeof_clearance_attribute, array: C.sizeof_clearance_array,
		derivatives: C.sizeof_clearance_derivatives,
	}
	switch {
	case caller.abi != own.abi:
		return fail(out, argument("the caller has version %d of the interface, the library version %d", caller.abi,
			own.abi))
	case *caller != own:
		return fail(out, argument("the structs of the caller have the sizes %v, those of the library %v", *caller, own))
	}
	return fail(out, nil)
}

// description is what clearance_describe writes.
type description struct {
	Version     string                 `json:"version"`
	Go          string                 `json:"go"`
	Platform    string                 `json:"platform"`
	Kinds       []kindDescription      `json:"kinds"`
	Attributes  []attributeDescription `json:"attributes"`
	Queries     []queryDescription     `json:"queries"`
	Methods     []string               `json:"methods"`
	Precisions  []string               `json:"precisions"`
	Columns     []columnDescription    `json:"columns"` // in the order of their codes
	Statuses    []string               `json:"statuses"`
	Solvers     []string               `json:"solvers"`
	Derivatives []string               `json:"derivatives"`
	Smoothness  []string               `json:"smoothness"`
	Times       []string               `json:"time_smoothness"` // of contacts of sweeps
	MaxShapes   int                    `json:"max_shapes"`
	Contact     contactDescription     `json:"contact"`
}

// contactDescription has the names of the codes of contact problems and steps.
type contactDescription struct {
	Models           []string `json:"models"`
	Rules            []string `json:"rules"` // of combination
	RestitutionLaws  []string `json:"restitution_laws"`
	Statuses         []string `json:"statuses"`
	StepStatuses     []string `json:"step_statuses"`
	ManifoldStatuses []string `json:"manifold_statuses"`
	Smoothnesses     []string `json:"smoothnesses"` // of derivatives
	Modes            []string `json:"modes"`        // of contacts
	Impacts          []string `json:"impacts"`      // derivatives of them
}

type columnDescription struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Width int    `json:"width"`
	Inner int    `json:"inner"` // if not 0, the values of a row are a matrix with rows of that many
	Text  string `json:"text"`
}

type kindDescription struct {
	Name   string             `json:"name"`
	Params []paramDescription `json:"params"`
}

type paramDescription struct {
	Name     string `json:"name"`
	Width    int    `json:"width"` // numbers of the value, or of each entry of a list
	List     bool   `json:"list"`
	Optional bool   `json:"optional"`
}

type attributeDescription struct {
	Name    string `json:"name"`
	Width   int    `json:"width"`   // numbers of a value
	Meaning string `json:"meaning"` // with the unit
}

type queryDescription struct {
	Name      string   `json:"name"`
	Value     string   `json:"value"`     // what the column distance holds
	Touch     float64  `json:"touch"`     // value of shapes that touch
	Columns   []string `json:"columns"`   // by default
	Available []string `json:"available"` // columns that the query has
}

func describe() description {
	d := description{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Methods: names(batch.MethodCount), Precisions: names(batch.PrecisionCount),
		Statuses: names(batch.StatusCount), Solvers: names(batch.SolverCount),
		Derivatives: names(batch.DerivativeModeCount), Smoothness: names(batch.SmoothnessCount),
		Times:     derive.TimeSmoothnesses.List,
		MaxShapes: batch.MaxShapes,
		Contact: contactDescription{contact.Models.List, contact.Rules.List, contact.RestitutionLaws.List,
			contact.Statuses.List, contact.StepStatuses.List, contact.ManifoldStatuses.List,
			adjoint.Smoothnesses.List, adjoint.Modes.List, adjoint.ImpactNames.List}}
	for _, c := range batch.EveryColumn() {
		info := c.Info()
		d.Columns = append(d.Columns, columnDescription{info.Name, info.Type.String(), info.Width, info.Inner,
			info.Text})
	}
	for k := range geom.KindCount {
		kind := kindDescription{Name: k.String(), Params: []paramDescription{}}
		for _, p := range k.Params() {
			kind.Params = append(kind.Params, paramDescription{p.Name, p.Width, p.List, p.Optional})
		}
		d.Kinds = append(d.Kinds, kind)
	}
	for a := range geom.AttributeCount {
		info := a.Info()
		d.Attributes = append(d.Attributes, attributeDescription{info.Name, info.Width, info.Meaning})
	}
	for q := range batch.QueryCount {
		info := q.Info()
		d.Queries = append(d.Queries, queryDescription{info.Name, info.Value, info.Touch, columnNames(info.Columns),
			columnNames(q.Available())})
	}
	return d
}

// names lists the names of the codes below count.
func names[T interface {
	~uint8
	String() string
}](count T) (list []string) {
	for c := range count {
		list = append(list, c.String())
	}
	return list
}

// columnNames lists the columns of a set by their bits.
func columnNames(set batch.Columns) (list []string) {
	for _, c := range batch.EveryColumn() {
		if c&set != 0 {
			list = append(list, c.Info().Name)
		}
	}
	return list
}

//export clearance_describe
func clearance_describe(out *C.char, size C.int64_t) C.int64_t {
	return writeJSON(out, size, func() (any, error) { return describe(), nil })
}

// writeJSON writes a description, see write, and returns -1 if there is an error.
func writeJSON(out *C.char, size C.int64_t, of func() (any, error)) (need C.int64_t) {
	need = -1
	err := func() (err error) {
		defer recovered(&err)
		d, err := of()
		if err != nil {
			return err
		}
		data, err := json.Marshal(d)
		if err == nil {
			need = write(data, out, size)
		}
		return err
	}()
	if err != nil {
		return -1
	}
	return need
}

// putReport stores the report of a job.
func putReport(out *C.clearance_report, j *job) {
	if out == nil {
		return
	}
	r := &j.report
	*out = C.clearance_report{
		rows: C.int64_t(r.Rows), done: C.int64_t(r.Done), declined: C.int64_t(r.Declined()),
		iterations: C.int64_t(r.Iterations), worst_row: C.int64_t(r.WorstGapRow), worst_gap: C.double(r.WorstGap),
		wall_seconds: C.double(r.Wall.Seconds()), kernel_seconds: C.double(r.Kernel.Seconds()), error_row: -1,
	}
	out.audited, out.refuted = C.int64_t(j.audited), C.int64_t(j.refuted)
	if s := j.scene; s != nil {
		out.culled, out.absent = C.int64_t(s.CulledRows), C.int64_t(s.AbsentRows)
		out.part_pairs, out.solved, out.declined = C.int64_t(s.PartPairs), C.int64_t(s.Solved), C.int64_t(s.Declined)
	}
	for i := range out.counts {
		out.counts[i] = C.int64_t(r.Counts[i])
	}
	if len(r.RowErrors) > 0 {
		e := r.RowErrors[0]
		out.error_row = C.int64_t(e.Row)
		putText(out.error_column[:], e.Column)
		putText(out.error_reason[:], e.Reason)
	}
	putText(out.backend[:], r.Backend)
	putText(out.why[:], r.Why)
}
