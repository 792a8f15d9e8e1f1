package dataset

import (
	"fmt"

	"clearance/batch"
)

// The arrays of the worlds form, see batch.Worlds.
const (
	worldShapes    = "shapes"
	worldPoses     = "poses"
	worldTemplateA = "template_a"
	worldTemplateB = "template_b"
)

// ReadWorlds reads the worlds form from an NPZ file: shapes int32 [M], poses
// float64 [W,M,7] (position, then quaternion w, x, y, z), template_a and
// template_b int32 [P]. int64 indices and float32 poses are read too.
func ReadWorlds(path string) (*batch.Worlds, error) {
	if f, err := formatOf(path); err != nil || f != formatNPZ {
		return nil, fmt.Errorf("dataset: %s: worlds are read from .npz files", path)
	}
	z, err := openNPZ(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	w := &batch.Worlds{}
	if err := readWorlds(z, w); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	if err := w.CheckShape(); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return w, nil
}

func readWorlds(z *npzFile, w *batch.Worlds) error {
	index := []dtype{typeInt32, typeInt64}
	specs := []struct {
		column
		dims string
		rank int
	}{
		{column{worldShapes, 1, index}, "[M]", 1},
		{column{worldPoses, 1, []dtype{typeFloat64, typeFloat32}}, "[W,M,7]", 3},
		{column{worldTemplateA, 1, index}, "[P]", 1},
		{column{worldTemplateB, 1, index}, "[P]", 1},
	}
	cols := make([]column, len(specs))
	for i := range specs {
		cols[i] = specs[i].column
	}
	for _, name := range z.names() {
		if err := checkName(name, cols); err != nil {
			return err
		}
	}
	for _, s := range specs {
		a := z.arrays[s.name]
		switch {
		case a == nil:
			return fmt.Errorf("array %s is missing, want %s %s", s.name, s.read[0], s.dims)
		case !s.accepts(a.header.typ):
			return fmt.Errorf("array %s is %s, want %s", s.name, a.header.typ, s.types())
		case len(a.header.shape) != s.rank:
			return fmt.Errorf("array %s has shape %s, want %s", s.name, a.header.shapeString(), s.dims)
		}
	}
	if p, m := z.arrays[worldPoses].header.shape, z.arrays[worldShapes].header.shape[0]; p[1] != m || p[2] != 7 {
		return fmt.Errorf("array %s has shape %s, want [W,%d,7] for %d bodies", worldPoses,
			z.arrays[worldPoses].header.shapeString(), m, m)
	}
	var err error
	if w.Shapes, err = readWhole[int32](z.arrays[worldShapes]); err != nil {
		return err
	}
	if w.Poses, err = readWhole[float64](z.arrays[worldPoses]); err != nil {
		return err
	}
	if w.TemplateA, err = readWhole[int32](z.arrays[worldTemplateA]); err != nil {
		return err
	}
	w.TemplateB, err = readWhole[int32](z.arrays[worldTemplateB])
	return err
}

// readWhole reads all values of an array. The slice grows with what has been
// read, since the length of a damaged array may be a lie.
func readWhole[T any](a *npyArray) ([]T, error) {
	var all []T
	chunk := make([]T, min(a.left, 1<<16))
	for a.left > 0 {
		c := chunk[:min(a.left, int64(len(chunk)))]
		if err := a.read(c); err != nil {
			return nil, fmt.Errorf("array %s: %w", a.name, err)
		}
		all = append(all, c...)
	}
	return all, nil
}

// WriteWorlds writes the worlds form as an NPZ file.
func WriteWorlds(path string, w *batch.Worlds) error {
	if f, err := formatOf(path); err != nil || f != formatNPZ {
		return fmt.Errorf("dataset: %s: worlds are written to .npz files", path)
	}
	if err := w.CheckShape(); err != nil {
		return fmt.Errorf("dataset: %s: %w", path, err)
	}
	m, p := int64(len(w.Shapes)), int64(len(w.TemplateA))
	z, err := createNPZ(osFS{}, path, []arraySpec{
		{worldShapes, typeInt32, []int64{m}},
		{worldPoses, typeFloat64, []int64{int64(len(w.Poses)) / (7 * m), m, 7}},
		{worldTemplateA, typeInt32, []int64{p}},
		{worldTemplateB, typeInt32, []int64{p}},
	})
	if err != nil {
		return err
	}
	for i, v := range []any{w.Shapes, w.Poses, w.TemplateA, w.TemplateB} {
		if err := z.append(i, v); err != nil {
			z.abort()
			return fmt.Errorf("dataset: cannot write %s: %w", path, err)
		}
	}
	return z.commit()
}
