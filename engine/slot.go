package engine

import (
	"unsafe"

	"clearance/batch"
	"clearance/engine/internal/vk"
)

// Bytes of a row. rowBytes is all that a slot holds of it, at most; maxRowBytes is the
// largest share of one buffer.
const (
	poseBytes   = 2 * uint64(unsafe.Sizeof(batch.PoseRecord{}))
	indexBytes  = uint64(unsafe.Sizeof(batch.IndexRecord{}))
	warmBytes   = 3 * 4
	pairBytes   = uint64(unsafe.Sizeof(batch.PairRecord{}))
	guessBytes  = uint64(unsafe.Sizeof(batch.GuessRecord{}))
	columnBytes = 8 + 4 + 3*3*8 + 4 // distance, gap, three vectors, status
	rowBytes    = poseBytes + indexBytes + warmBytes + pairBytes + guessBytes + columnBytes
	maxRowBytes = poseBytes

	maxAlignment = 256 // no device asks for more
)

// Timestamps of a chunk.
const (
	stampStart = iota
	stampUploaded
	stampPlaced
	stampSolved
	stampCertified
	stampEnd
	stampCount
)

// slot is the memory of one chunk and the stream that computes it.
type slot struct {
	rows    int // room
	stream  *vk.Stream
	stamped bool // the device tells the time
	blocks  []*vk.Block

	// What the host reaches.
	hostPoses, hostIndices, hostWarm, hostColumns vk.Buffer
	// What the shaders reach; with direct memory the same.
	poses, indices, warm, columns vk.Buffer
	// What nobody else sees.
	pairs, guesses vk.Buffer

	busy   bool // submitted, not yet taken down
	lo     int  // first row of the job
	n      int
	layout layout
}

// lane is what one call needs: two slots, one computed while the other is filled.
type lane struct{ slots [2]slot }

// reserve makes room for n rows.
func (s *slot) reserve(b *Backend, n int) error {
	if s.stream == nil {
		stamps := 0
		if s.stamped = b.info.Limits.TimestampValidBits != 0; s.stamped {
			stamps = stampCount
		}
		stream, err := b.device.NewStream(vk.StreamOptions{Timestamps: stamps})
		if err != nil {
			return err
		}
		s.stream = stream
	}
	if n <= s.rows {
		return nil
	}
	s.free()
	rows := min(max(n, 2*s.rows, 1024), b.chunkRows)
	if err := s.allocate(b, rows); err != nil {
		s.free()
		return err
	}
	s.rows = rows
	return nil
}

// free gives the memory back. The stream stays.
func (s *slot) free() {
	for _, b := range s.blocks {
		b.Close()
	}
	s.blocks, s.rows = nil, 0
}

func (s *slot) allocate(b *Backend, rows int) error {
	n := uint64(rows)
	type part struct {
		to   *vk.Buffer
		size uint64
	}
	inputs := func(p, i, w *vk.Buffer) []part {
		return []part{{p, n * poseBytes}, {i, n * indexBytes}, {w, n * warmBytes}}
	}
	take := func(kind vk.MemoryKind, parts ...part) error {
		total := uint64(0)
		for _, p := range parts {
			total += p.size + maxAlignment
		}
		block, err := b.device.Alloc(total, kind)
		if err != nil {
			return err
		}
		s.blocks = append(s.blocks, block)
		arena := vk.NewArena(block.Whole())
		for _, p := range parts {
			if *p.to, err = arena.Take(p.size); err != nil {
				return err
			}
		}
		return nil
	}
	own := []part{{&s.pairs, n * pairBytes}, {&s.guesses, n * guessBytes}}
	if b.direct {
		parts := append(inputs(&s.hostPoses, &s.hostIndices, &s.hostWarm), part{&s.hostColumns, n * columnBytes})
		if err := take(vk.Unified, append(parts, own...)...); err != nil {
			return err
		}
		s.poses, s.indices, s.warm, s.columns = s.hostPoses, s.hostIndices, s.hostWarm, s.hostColumns
		return nil
	}
	if err := take(vk.Upload, inputs(&s.hostPoses, &s.hostIndices, &s.hostWarm)...); err != nil {
		return err
	}
	if err := take(vk.Readback, part{&s.hostColumns, n * columnBytes}); err != nil {
		return err
	}
	parts := append(inputs(&s.poses, &s.indices, &s.warm), part{&s.columns, n * columnBytes})
	return take(vk.DeviceLocal, append(parts, own...)...)
}

// record records the commands of the chunk.
func (s *slot) record(b *Backend, lib *library, c chain, q *batch.QueryRecord) error {
	if err := s.stream.Begin(); err != nil {
		return err
	}
	n := uint64(s.n)
	warm := q.Flags&batch.FlagWarm != 0
	s.stamp(stampStart)
	if !b.direct {
		s.stream.Copy(s.poses.Slice(0, n*poseBytes), s.hostPoses.Slice(0, n*poseBytes))
		s.stream.Copy(s.indices.Slice(0, n*indexBytes), s.hostIndices.Slice(0, n*indexBytes))
		if warm {
			s.stream.Copy(s.warm.Slice(0, n*warmBytes), s.hostWarm.Slice(0, n*warmBytes))
		}
	}
	// A row that no shader writes must not look answered.
	s.stream.Fill(s.columns.Slice(4*uint64(q.Status), 4*n), ^uint32(0))
	s.stream.Barrier(vk.StageTransfer, vk.StageCompute)
	s.stamp(stampUploaded)
	run := func(p *vk.Pipeline, stamp int, buffers ...vk.Buffer) {
		s.stream.Bind(p, buffers...)
		s.stream.Push(bytesOf([]batch.QueryRecord{*q}))
		s.stream.Dispatch(uint32((n+groupSize-1)/groupSize), 1, 1)
		s.stream.Barrier(vk.StageCompute, vk.StageCompute|vk.StageTransfer)
		s.stamp(stamp)
	}
	run(c.place, stampPlaced, lib.shapes64, s.poses, s.indices, s.warm, s.pairs, s.guesses)
	run(c.gjk, stampSolved, lib.shapes, lib.vertices, s.pairs, s.guesses)
	run(c.certify, stampCertified, lib.shapes64, lib.vertices64, s.poses, s.indices, s.guesses, s.columns)
	if !b.direct {
		s.stream.Copy(s.hostColumns.Slice(0, s.layout.bytes), s.columns.Slice(0, s.layout.bytes))
	}
	s.stamp(stampEnd)
	return nil
}

// stamp notes the time, on devices that can tell it.
func (s *slot) stamp(slot int) {
	if s.stamped {
		s.stream.Timestamp(slot)
	}
}
