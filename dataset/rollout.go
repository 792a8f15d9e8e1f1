package dataset

import (
	"clearance/batch"
)

// HasBodies reports whether a file of worlds has the array, or the column, of bodies: whether [ReadRollout] or
// [ReadMotions] reads it, and not [ReadWorlds].
func HasBodies(path string, opts ...Option) (bool, error) {
	return worldsHave(path, 1, func(z *npzFile) bool { return z.arrays[worldBodies] != nil }, opts)
}

// HasWayPoints reports whether a file of worlds has way points: whether [ReadMotions] reads it.
func HasWayPoints(path string, opts ...Option) (bool, error) {
	return worldsHave(path, len(formMotions.table())-1, func(z *npzFile) bool {
		poses := z.arrays[worldPoses]
		return poses != nil && len(poses.header.shape) == 4
	}, opts)
}

// worldsHave reports whether a Parquet file has a column of motions, or what a function says of an NPZ file.
func worldsHave(path string, column int, of func(*npzFile) bool, opts []Option) (bool, error) {
	f, err := formatOf(path)
	if err != nil {
		return false, err
	}
	if f == formatParquet {
		cols := append(formMotions.table(), formShapes.table()[1])
		src, err := openTable(path, cols, false, opts)
		if err != nil {
			return false, err
		}
		defer src.Close()
		_, has := src.typeOf(column)
		return has, nil
	}
	z, err := openNPZ(path, nil)
	if err != nil {
		return false, err
	}
	defer z.Close()
	return of(z), nil
}

// ReadRollout reads worlds of bodies from an NPZ file: bodies int32 [M], or [W,M] with -1 for none; poses float64
// [W,M,7] (position, then quaternion w, x, y, z); and either template_a and template_b int32 [P] or, for all pairs of
// bodies, skip_a and skip_b int32 [S], which may be missing. Or from a Parquet file of W·M rows: world and body int32,
// position float64 [3], rotation float64 [4], and the metadata template or skip, JSON arrays of pairs. int64 indices
// and float32 poses are read too.
func ReadRollout(path string, bodies *batch.Bodies, opts ...Option) (*batch.Worlds, error) {
	return whole(OpenRollout(path, bodies, opts...))
}

// OpenRollout opens a file of [ReadRollout], whose worlds are read by ranges.
func OpenRollout(path string, bodies *batch.Bodies, opts ...Option) (*WorldReader[*batch.Worlds], error) {
	return openWorldFile(path, &formBodies, opts, func(f *worldFile, first int) (*batch.Worlds, error) {
		w := &batch.Worlds{M: f.m, Bodies: f.list, Poses: f.poses, TemplateA: f.templateA, TemplateB: f.templateB,
			AllPairs: f.allOf(), SkipA: f.skipA, SkipB: f.skipB}
		if err := f.checkIndices(bodies, first); err != nil {
			return nil, err
		}
		return w, w.CheckBodies(bodies)
	})
}

// WriteRollout writes worlds of bodies as an NPZ or a Parquet file.
func WriteRollout(path string, w *batch.Worlds, bodies *batch.Bodies) error {
	if err := w.CheckBodies(bodies); err != nil {
		return wrong(path, err)
	}
	f := &worldFile{worldForm: &formBodies, m: w.BodiesPerWorld(), t: 1, list: w.Bodies, poses: w.Poses,
		skipA: w.SkipA, skipB: w.SkipB}
	if !w.AllPairs { // not nil, which stands for all pairs
		f.templateA, f.templateB = append([]int32{}, w.TemplateA...), append([]int32{}, w.TemplateB...)
	}
	return f.write(path)
}
