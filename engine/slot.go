package engine

import "clearance/engine/internal/vk"

// slot is the memory of one chunk of a call and the stream that computes it.
type slot struct {
	rows   int // room
	blocks []*vk.Block

	inputs inputs
	work   work
	packer packer
	derive derivation
	reduce reduction
	flight flight
	call   int64 // number of the call whose templates are in the inputs
}

// workspace is the memory of one call: two slots, one computed while the other is filled.
type workspace struct{ slots [2]slot }

// reserve makes room for n rows.
func (s *slot) reserve(b *Backend, n int) error {
	if n <= s.rows {
		return nil
	}
	free(s.blocks)
	s.blocks, s.call = nil, 0
	rows := min(max(n, 2*s.rows, 1024), b.chunkRows)
	s.rows = 0
	p := plan{b: b}
	count := uint64(rows)
	p.input(&s.inputs.poses, 2*count*poseBytes)
	p.input(&s.inputs.templates, count*templateBytes)
	p.input(&s.inputs.order, count*orderBytes)
	p.input(&s.inputs.warm, count*warmBytes)
	s.work.plan(&p, rows)
	var err error
	if s.blocks, err = p.allocate(); err != nil {
		return err
	}
	s.rows = rows
	return nil
}
