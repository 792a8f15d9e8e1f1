package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/dataset/npz"
	"clearance/dataset/table"
)

// worldForm is one of the forms of files of worlds.
type worldForm struct {
	list      string // array of the shapes or bodies
	index     string // the column that holds them
	perWorld  bool   // worlds may have lists of their own
	wayPoints bool   // poses are [W,T,M,7]
	allPairs  bool   // without templates, all pairs but those to skip
}

var (
	formShapes  = worldForm{list: table.Shapes, index: table.Shape}
	formBodies  = worldForm{list: table.Bodies, index: table.Body, perWorld: true, allPairs: true}
	formMotions = worldForm{list: table.Bodies, index: table.Body, perWorld: true, wayPoints: true}
)

// worldFile is the content of a file of worlds.
type worldFile struct {
	*worldForm
	m, t  int       // bodies of a world, and way points: 1 where the form has none
	list  []int32   // [M], or [W,M]
	poses []float64 // [W,M,7], or [W,T,M,7]

	templateA, templateB, skipA, skipB []int32
}

// allOf reports whether all pairs are asked for: the file has no templates.
func (w *worldFile) allOf() bool { return w.allPairs && w.templateA == nil && w.templateB == nil }

// worldSource yields the lists and the poses of an open file of worlds.
type worldSource interface {
	// read sets list and poses of f to those of worlds [lo, hi). Ranges ascend.
	read(f *worldFile, lo, hi int) error
	// shared is the list of every world where the file says so before it is read, else nil.
	shared() []int32
	Close() error
}

// WorldReader reads a file of worlds by ranges: T is *batch.Worlds, or *batch.Motions.
type WorldReader[T any] struct {
	path   string
	head   worldFile // without list and poses
	worlds int
	next   int // world
	src    worldSource
	of     func(f *worldFile, first int) (T, error)
}

// openWorldFile opens a file of worlds and reads what they share. of makes worlds of their list and poses and checks
// them; first is the number of the first.
func openWorldFile[T any](path string, form *worldForm, opts []Option,
	of func(f *worldFile, first int) (T, error)) (*WorldReader[T], error) {
	f, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	r := &WorldReader[T]{path: path, head: worldFile{worldForm: form, t: 1}, of: of}
	if f == formatParquet {
		r.src, r.worlds, err = openWorldsParquet(path, &r.head, opts)
	} else {
		r.src, r.worlds, err = openWorldsNPZ(path, &r.head)
	}
	if err != nil {
		return nil, wrong(path, err)
	}
	return r, nil
}

// Count returns the number of worlds.
func (r *WorldReader[T]) Count() int { return r.worlds }

// BodiesPerWorld returns the number of bodies, or shapes, of a world.
func (r *WorldReader[T]) BodiesPerWorld() int { return r.head.m }

// WayPoints returns the number of poses that a body has in a world.
func (r *WorldReader[T]) WayPoints() int { return r.head.t }

// RowsPerWorld returns the number of pairs that all worlds share, 0 where all pairs are asked for.
func (r *WorldReader[T]) RowsPerWorld() int { return len(r.head.templateA) }

// SharedList returns the shapes or bodies of every world where all are known to have the same, else nil.
func (r *WorldReader[T]) SharedList() []int32 { return r.src.shared() }

// Skips returns the number of pairs that are left out of all pairs.
func (r *WorldReader[T]) Skips() int { return len(r.head.skipA) }

// Worlds reads worlds [lo, hi). Ranges ascend and do not overlap; worlds in between are not read where the format
// allows that, and the checksum of an NPZ array of which only some is read is not compared.
func (r *WorldReader[T]) Worlds(lo, hi int) (T, error) {
	var none T
	if lo < r.next || hi < lo || hi > r.worlds {
		return none, wrong(r.path, fmt.Errorf("worlds %d to %d are asked for, want a range within %d to %d", lo, hi,
			r.next, r.worlds))
	}
	f := r.head
	if err := r.src.read(&f, lo, hi); err != nil {
		return none, wrong(r.path, err)
	}
	r.next = hi
	w, err := r.of(&f, lo)
	return w, wrong(r.path, err)
}

// Close closes the file.
func (r *WorldReader[T]) Close() error { return r.src.Close() }

// whole reads all worlds of a file and closes it.
func whole[T any](r *WorldReader[T], err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	defer r.Close()
	return r.Worlds(0, r.Count())
}

// write writes the file, whose shapes have been checked.
func (w *worldFile) write(path string) error {
	f, err := formatOf(path)
	if err != nil {
		return err
	}
	if f == formatParquet {
		return w.writeParquet(path)
	}
	return w.writeNPZ(path)
}

// worlds is the number of worlds.
func (w *worldFile) worlds() int {
	if n := 7 * w.m * w.t; n > 0 {
		return len(w.poses) / n
	}
	return 0
}

// checkIndices returns an error if the list of worlds from the first on has the index of a body that there is not.
func (w *worldFile) checkIndices(bodies *batch.Bodies, first int) error {
	return batch.CheckIndices(w.worldForm.list, w.list, w.m, first, bodies.Len())
}

// wrong is an error of a file of worlds.
func wrong(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "dataset: ") {
		return err
	}
	return fmt.Errorf("dataset: %s: %w", path, err)
}

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

// ReadMotions reads worlds of moving bodies from an NPZ file: bodies int32 [M], or [W,M] with -1 for none; poses
// float64 [W,T,M,7] (position, then quaternion w, x, y, z) at T way points; template_a and template_b int32 [P]. Or
// from a Parquet file of W·T·M rows: world, way_point and body int32, position float64 [3], rotation float64 [4], and
// the metadata template, a JSON array of pairs. int64 indices and float32 poses are read too.
func ReadMotions(path string, bodies *batch.Bodies, opts ...Option) (*batch.Motions, error) {
	return whole(OpenMotions(path, bodies, opts...))
}

// OpenMotions opens a file of [ReadMotions], whose worlds are read by ranges.
func OpenMotions(path string, bodies *batch.Bodies, opts ...Option) (*WorldReader[*batch.Motions], error) {
	return openWorldFile(path, &formMotions, opts, func(f *worldFile, first int) (*batch.Motions, error) {
		m := &batch.Motions{M: f.m, T: f.t, Bodies: f.list, Poses: f.poses, TemplateA: f.templateA,
			TemplateB: f.templateB}
		if err := f.checkIndices(bodies, first); err != nil {
			return nil, err
		}
		return m, m.CheckBodies(bodies)
	})
}

// WriteMotions writes worlds of moving bodies as an NPZ or a Parquet file.
func WriteMotions(path string, m *batch.Motions, bodies *batch.Bodies) error {
	if err := m.CheckBodies(bodies); err != nil {
		return wrong(path, err)
	}
	f := &worldFile{worldForm: &formMotions, m: m.BodiesPerWorld(), t: m.WayPoints(), list: m.Bodies, poses: m.Poses,
		templateA: m.TemplateA, templateB: m.TemplateB}
	return f.write(path)
}

// HasBodies reports whether a file of worlds has the array, or the column, of bodies: whether [ReadRollout] or
// [ReadMotions] reads it, and not [ReadWorlds].
func HasBodies(path string, opts ...Option) (bool, error) {
	return worldsHave(path, 1, func(z *npz.File) bool { return z.Arrays[table.Bodies] != nil }, opts)
}

// HasWayPoints reports whether a file of worlds has way points: whether [ReadMotions] reads it.
func HasWayPoints(path string, opts ...Option) (bool, error) {
	return worldsHave(path, len(formMotions.table())-1, func(z *npz.File) bool {
		poses := z.Arrays[table.Poses]
		return poses != nil && len(poses.Header.Shape) == 4
	}, opts)
}

// worldsHave reports whether a Parquet file has a column of motions, or what a function says of an NPZ file.
func worldsHave(path string, column int, of func(*npz.File) bool, opts []Option) (bool, error) {
	f, err := formatOf(path)
	if err != nil {
		return false, err
	}
	if f == formatParquet {
		cols := table.Optional(append(formMotions.table(), formShapes.table()[1]))
		src, err := openTable(path, cols, opts)
		if err != nil {
			return false, err
		}
		defer src.Close()
		_, has := src.TypeOf(column)
		return has, nil
	}
	z, err := npz.Open(path, nil, table.DefaultLimits())
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

// WorldRows are the pairs of a file of worlds of shapes, read by ranges: row w·P + p is pair p of world w. They are a
// source of a stream, see package dispatch.
type WorldRows struct {
	r     *WorldReader[*batch.Worlds]
	rows  int
	split *batch.Worlds // the world at which the last range ended in its middle, nil for none
	at    int           // its number
}

// OpenWorldRows opens a file of [ReadWorlds].
func OpenWorldRows(path string) (*WorldRows, error) {
	r, err := OpenWorlds(path)
	if err != nil {
		return nil, err
	}
	if per := r.RowsPerWorld(); per > 0 && r.Count() > math.MaxInt/per {
		_ = r.Close()
		return nil, wrong(path, fmt.Errorf("%d worlds of %d pairs are too many", r.Count(), per))
	}
	return &WorldRows{r: r, rows: r.Count() * r.RowsPerWorld()}, nil
}

// Len returns the number of pairs.
func (s *WorldRows) Len() int { return s.rows }

// RowsPerWorld returns the number of pairs of a world.
func (s *WorldRows) RowsPerWorld() int { return s.r.RowsPerWorld() }

// Close closes the file.
func (s *WorldRows) Close() error { return s.r.Close() }

// Rows returns rows [lo, hi) of the file, fewer where it ends, in the form of [batch.Worlds.Rows]. Ranges ascend.
func (s *WorldRows) Rows(lo, hi int, used batch.Input) (batch.Input, error) {
	per := max(s.RowsPerWorld(), 1)
	if hi = min(hi, s.rows); lo >= hi {
		none, err := s.r.Worlds(s.r.next, s.r.next)
		if err != nil {
			return nil, err
		}
		return none, nil
	}
	first, end := lo/per, (hi+per-1)/per
	from, held := first, s.split
	if held != nil && s.at == first {
		from++
	} else {
		held = nil
	}
	worlds, err := s.r.Worlds(from, end)
	if err != nil {
		return nil, err
	}
	if held != nil {
		worlds.Poses = slices.Concat(held.Poses, worlds.Poses)
	}
	s.split = nil
	if hi%per != 0 {
		s.split, s.at = worlds.Slice(end-1-first, end-first), end-1
	}
	return worlds.Rows(lo-first*per, hi-first*per, used)
}
