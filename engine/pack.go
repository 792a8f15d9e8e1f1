package engine

import (
	"math"

	"clearance/batch"
)

// pack writes rows [lo, lo+n) of the job into the memory that the device reads. A row
// that is refused is marked; the device answers it as invalid.
func (s *slot) pack(job *batch.Job, lo, n int) error {
	s.lo, s.n = lo, n
	poses := recordsIn[batch.PoseRecord](s.hostPoses.Bytes())
	indices := recordsIn[batch.IndexRecord](s.hostIndices.Bytes())
	warms := recordsIn[[3]float32](s.hostWarm.Bytes())
	warm := job.Options.WarmStart != nil
	err := parallel(n, func(from, to int) error {
		var r batch.Row
		for i := from; i < to; i++ {
			w, err := job.Read(lo+i, &r)
			if err != nil {
				indices[i] = batch.IndexRecord{ShapeA: batch.NoShape}
				continue
			}
			putPoses(poses[2*i:2*i+2], &r)
			indices[i] = batch.IndexRecord{
				PoseA: uint32(2 * i), PoseB: uint32(2*i + 1),
				ShapeA: uint32(r.ShapeA), ShapeB: uint32(r.ShapeB),
			}
			if warm {
				warms[i] = direction(w.X, w.Y, w.Z)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.hostPoses.Flush(); err != nil {
		return err
	}
	if err := s.hostIndices.Flush(); err != nil {
		return err
	}
	if !warm {
		return nil
	}
	return s.hostWarm.Flush()
}

// putPoses writes the poses of both shapes of a row.
func putPoses(to []batch.PoseRecord, r *batch.Row) {
	a, b := &r.PoseA, &r.PoseB
	to[0].Position = [3]float64{a.Position.X, a.Position.Y, a.Position.Z}
	to[0].Rotation = [4]float64{a.Rotation.Real, a.Rotation.Imag, a.Rotation.Jmag, a.Rotation.Kmag}
	to[1].Position = [3]float64{b.Position.X, b.Position.Y, b.Position.Z}
	to[1].Rotation = [4]float64{b.Rotation.Real, b.Rotation.Imag, b.Rotation.Jmag, b.Rotation.Kmag}
}

// direction scales a vector so that float32 can hold it, whatever its length.
func direction(x, y, z float64) [3]float32 {
	m := max(math.Abs(x), math.Abs(y), math.Abs(z))
	if !(m > 0) {
		return [3]float32{}
	}
	return [3]float32{float32(x / m), float32(y / m), float32(z / m)}
}
