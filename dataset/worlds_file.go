package dataset

import (
	"fmt"
	"strings"

	"clearance/batch"
)

// The arrays of files of worlds, see batch.Worlds and batch.Motions.
const (
	worldShapes    = "shapes"
	worldBodies    = "bodies"
	worldPoses     = "poses"
	worldTemplateA = "template_a"
	worldTemplateB = "template_b"
	worldSkipA     = "skip_a"
	worldSkipB     = "skip_b"
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
	formShapes  = worldForm{list: worldShapes, index: columnShape}
	formBodies  = worldForm{list: worldBodies, index: columnBody, perWorld: true, allPairs: true}
	formMotions = worldForm{list: worldBodies, index: columnBody, perWorld: true, wayPoints: true}
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
