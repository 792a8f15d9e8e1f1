package engine

import (
	"fmt"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// Compiled is a pipeline as a driver's compiler left it.
type Compiled struct {
	Stage      string            // the name of its pass: of its source, and after a hyphen of the variant
	Constants  map[uint32]uint32 // specialisation constants by id
	Statistics map[string]uint64 // by the driver's names: registers, spills, instructions and such
}

// Compiler compiles the pipelines of queries and reads what the driver says of their code. It runs nothing: a driver
// that compiles for a GPU which is not there is sufficient.
type Compiler struct {
	instance  *vk.Instance
	device    *vk.Device
	info      vk.DeviceInfo
	pipelines pipelines
}

// OpenCompiler opens the device that o.Device selects. The driver needs VK_KHR_pipeline_executable_properties.
func OpenCompiler(o Options) (*Compiler, error) {
	o.ensureDefaults()
	instance, err := vk.Open(vk.Options{})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	c := &Compiler{instance: instance}
	devices := instance.Devices()
	i, err := choose(devices, o.Device, func(*vk.DeviceInfo) string { return "" })
	if err == nil {
		c.device, err = instance.OpenDevice(i, vk.DeviceOptions{Require: vk.Float64 | vk.Statistics})
	}
	if err != nil {
		instance.Close()
		return nil, fmt.Errorf("engine: %w", err)
	}
	c.info = devices[i]
	c.pipelines.init(c.device, defaultInvocations)
	c.pipelines.arithmetic = arithmetic{float64: true, twoFloats: o.proofFor(&c.info) == ProofTwoFloats, fused: true}
	c.pipelines.phased = o.phases || c.info.Type != vk.CPU
	return c, nil
}

// Device describes the device.
func (c *Compiler) Device() batch.Device { return describe(&c.info) }

// Compile returns the pipelines that answer a query on a library, in the order in which rows pass them.
func (c *Compiler) Compile(l *batch.Library, o *batch.Options) ([]Compiled, error) {
	if err := check(o, nil); err != nil {
		return nil, err
	}
	packed, err := layout.Pack(l)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	chain, err := c.pipelines.forQuery(o, describeLibrary(packed, kindsOf(packed)))
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	var out []Compiled
	for _, s := range chain.steps {
		statistics, err := s.pipeline.Statistics()
		if err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		out = append(out, Compiled{passes[s.pass].name, s.pipeline.Options().Spec, statistics})
	}
	return out, nil
}

// Close frees everything.
func (c *Compiler) Close() error { return c.instance.Close() }

// Serves returns the table of the queries, methods and precisions that have pipelines.
func (c *Compiler) Serves() batch.Serves { return serves }

// Chunk is the memory of a chunk before its first pass, by the names of the buffers in the shaders.
type Chunk struct {
	Buffers map[string][]byte
	Query   []byte // the push constants

	place placement
}

// ChunkOf returns the memory for the rows of a pair list, without scratch memory of polytopes.
func ChunkOf(l *batch.Library, pairs *batch.Pairs, o *batch.Options) (*Chunk, error) {
	single, err := layout.Pack(l)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	double := layout.Pack64(l, single)
	n := pairs.Len()
	poses, templates := make([]layout.PoseRecord, 2*n), make([]layout.TemplateRecord, n)
	p := packer{shapes: l}
	var r batch.Row
	for i := range n {
		pairs.Row(i, &r)
		putPose(&poses[2*i], r.PoseA)
		putPose(&poses[2*i+1], r.PoseB)
		templates[i] = p.record(uint32(2*i), uint32(2*i+1), r.ShapeA, r.ShapeB)
	}
	q := queryOf(o)
	place := placementOf(&batch.Results{Precision: o.Precision, Columns: o.EffectiveColumns()}, n)
	place.putIn(&q)
	(&inputs{period: n}).putIn(&q)
	columns := make([]byte, place.bytes)
	for i := range columns {
		columns[i] = 0xff // no status, see writePacked in store.glsl
	}
	q.DepthRows = uint32(max(n, 1))
	c := &Chunk{Query: bytesOf([]layout.QueryRecord{q}), place: place}
	c.Buffers = map[string][]byte{
		"Shapes": bytesOf(single.Shapes), "Vertices": bytesOf(single.Vertices), "Shapes64": bytesOf(double.Shapes),
		"Vertices64": bytesOf(double.Vertices), "Cells": bytesOf(single.Cells), "Poses": bytesOf(poses),
		"Templates": bytesOf(templates), "Order": nil, "Warm": nil, "Columns": columns,
		"Counts": make([]byte, countBytes), "Continued": make([]byte, uint64(n)*slotBytes),
		"Stationary": make([]byte, 2*uint64(n)*slotBytes), "Unproved": make([]byte, uint64(n)*slotBytes),
		"Indices": make([]byte, uint64(n)*indexBytes), "States": make([]byte, uint64(n)*stateBytes),
		"Pairs": make([]byte, uint64(n)*pairBytes), "Searches": make([]byte, uint64(n)*searchBytes),
		"Remainders": make([]byte, uint64(n)*restBytes),
		"Depths":     make([]byte, uint64(n)*depthBytes),
	}
	return c, nil
}

// Listed returns the number of rows in the list that a pass takes; ok is false for a pass that takes all rows.
func (c *Chunk) Listed(name string) (n int, ok bool) {
	for i := range passes {
		if list, ok := passes[i].rows.list(); ok && passes[i].name == name {
			return int(recordsIn[uint32](c.Buffers["Counts"])[layout.ListWords*list+layout.ListRows]), true
		}
	}
	return 0, false
}

// Translation returns the relative position of a row after its first pass: the origin of B in the frame of A.
func (c *Chunk) Translation(row int) (t [3]float64) {
	p := &recordsIn[layout.PairRecord](c.Buffers["Pairs"])[row]
	for k := range t {
		t[k] = float64(p.Translation[k]) + float64(p.TranslationLow[k])
	}
	return t
}

// Distance returns the distance of a row in the columns.
func (c *Chunk) Distance(row int) float64 {
	word, _ := c.place.at(batch.ColDistance)
	at := c.Buffers["Columns"][4*word:]
	if c.place.double {
		return recordsIn[float64](at)[row]
	}
	return float64(recordsIn[float32](at)[row])
}
