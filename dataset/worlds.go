package dataset

import "clearance/batch"

// ReadWorlds reads the worlds form from an NPZ file: shapes int32 [M], poses
// float64 [W,M,7] (position, then quaternion w, x, y, z), template_a and
// template_b int32 [P]; or from a Parquet file of W·M rows: world and shape int32,
// position float64 [3], rotation float64 [4], and the metadata template, a JSON
// array of pairs. int64 indices and float32 poses are read too.
func ReadWorlds(path string, opts ...Option) (*batch.Worlds, error) {
	return whole(OpenWorlds(path, opts...))
}

// OpenWorlds opens a file of [ReadWorlds], whose worlds are read by ranges.
func OpenWorlds(path string, opts ...Option) (*WorldReader[*batch.Worlds], error) {
	return openWorldFile(path, &formShapes, opts, func(f *worldFile, _ int) (*batch.Worlds, error) {
		w := &batch.Worlds{Shapes: f.list, Poses: f.poses, TemplateA: f.templateA, TemplateB: f.templateB}
		return w, w.CheckShape()
	})
}

// WriteWorlds writes the worlds form as an NPZ or a Parquet file.
func WriteWorlds(path string, w *batch.Worlds) error {
	if err := w.CheckShape(); err != nil {
		return wrong(path, err)
	}
	f := &worldFile{worldForm: &formShapes, m: len(w.Shapes), t: 1, list: w.Shapes, poses: w.Poses,
		templateA: w.TemplateA, templateB: w.TemplateB}
	return f.write(path)
}
