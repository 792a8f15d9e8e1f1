package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// worldArray is an array of a form in an NPZ file.
type worldArray struct {
	column
	dims     []string // shapes that are read, such as [W,M,7]
	optional bool
	to       *[]int32 // of all worlds; nil of the list and the poses, which are read by ranges
}

// arrays are the arrays of the form, the list and the poses first.
func (w *worldFile) arrays() []worldArray {
	index := []dtype{typeInt32, typeInt64}
	lists, poses := []string{"[M]"}, "[W,M,7]"
	if w.perWorld {
		lists = append(lists, "[W,M]")
	}
	if w.wayPoints {
		poses = "[W,T,M,7]"
	}
	all := []worldArray{
		{column{w.worldForm.list, 1, index}, lists, false, nil},
		{column{worldPoses, 1, []dtype{typeFloat64, typeFloat32}}, []string{poses}, false, nil},
		{column{worldTemplateA, 1, index}, []string{"[P]"}, w.allPairs, &w.templateA},
		{column{worldTemplateB, 1, index}, []string{"[P]"}, w.allPairs, &w.templateB},
	}
	if w.allPairs {
		all = append(all, worldArray{column{worldSkipA, 1, index}, []string{"[S]"}, true, &w.skipA},
			worldArray{column{worldSkipB, 1, index}, []string{"[S]"}, true, &w.skipB})
	}
	return all
}

// worldsNPZ are the arrays of an open NPZ file of worlds.
type worldsNPZ struct {
	*npzFile
	list, poses *npyArray
	all         []int32 // list of every world, nil if each has its own
	next        int     // world
}

func openWorldsNPZ(path string, w *worldFile) (worldSource, int, error) {
	z, err := openNPZ(path, nil)
	if err != nil {
		return nil, 0, err
	}
	s := &worldsNPZ{npzFile: z}
	worlds, err := s.open(w)
	if err != nil {
		_ = z.Close()
		return nil, 0, err
	}
	return s, worlds, nil
}

// open checks the arrays, reads what all worlds share, and returns the number of worlds.
func (s *worldsNPZ) open(w *worldFile) (int, error) {
	arrays := w.arrays()
	cols := make([]column, len(arrays))
	for i := range arrays {
		cols[i] = arrays[i].column
	}
	for _, name := range s.names() {
		if err := checkName(name, cols); err != nil {
			return 0, err
		}
	}
	for i := range arrays {
		if err := arrays[i].check(s.npzFile); err != nil {
			return 0, err
		}
	}
	s.list, s.poses = s.arrays[w.worldForm.list], s.arrays[worldPoses]
	list, p := s.list.header.shape, s.poses.header.shape
	m := list[len(list)-1]
	k := len(p) - 2 // the dimension of the bodies
	if p[k] != m || p[k+1] != 7 || len(list) == 2 && list[0] != p[0] || w.wayPoints && (p[1] < 2 || p[1] > 1<<30) {
		want := fmt.Sprintf("[W,%d,7]", m)
		if w.wayPoints {
			want = fmt.Sprintf("[W,T,%d,7] with at least 2 way points", m)
		}
		return 0, fmt.Errorf("array %s has shape %s, want %s for %s of shape %s", worldPoses,
			s.poses.header.shapeString(), want, w.worldForm.list, s.list.header.shapeString())
	}
	w.m = int(m)
	if w.wayPoints {
		w.t = int(p[1])
	}
	var err error
	if len(list) == 1 {
		if s.all, err = readValues[int32](s.list, m); err != nil {
			return 0, err
		}
	}
	for i := range arrays[2:] {
		if err := arrays[2+i].read(s.npzFile); err != nil {
			return 0, err
		}
	}
	if m == 0 {
		return 0, nil
	}
	return int(p[0]), nil
}

func (s *worldsNPZ) shared() []int32 { return s.all }

func (s *worldsNPZ) read(w *worldFile, lo, hi int) (err error) {
	pass, n := int64(lo-s.next), int64(hi-lo)
	if w.list = s.all; w.list == nil {
		if err := s.list.skip(pass * int64(w.m)); err != nil {
			return fmt.Errorf("array %s: %w", s.list.name, err)
		}
		if w.list, err = readValues[int32](s.list, n*int64(w.m)); err != nil {
			return err
		}
	}
	poses := 7 * int64(w.m) * int64(w.t) // of a world
	if err := s.poses.skip(pass * poses); err != nil {
		return fmt.Errorf("array %s: %w", s.poses.name, err)
	}
	w.poses, err = readValues[float64](s.poses, n*poses)
	s.next = hi
	return err
}

// check reports a missing array, or one of another type or number of dimensions.
func (a *worldArray) check(z *npzFile) error {
	found, dims := z.arrays[a.name], strings.Join(a.dims, " or ")
	switch {
	case found == nil && a.optional:
		return nil
	case found == nil:
		return fmt.Errorf("array %s is missing, want %s %s", a.name, a.column.read[0], dims)
	case !a.accepts(found.header.typ):
		return fmt.Errorf("array %s is %s, want %s", a.name, found.header.typ, a.types())
	}
	rank := func(dims string) bool { return strings.Count(dims, ",")+1 == len(found.header.shape) }
	if !slices.ContainsFunc(a.dims, rank) || len(found.header.shape) == 0 {
		return fmt.Errorf("array %s has shape %s, want %s", a.name, found.header.shapeString(), dims)
	}
	return nil
}

// read reads the array, which is one of indices, if the file has it.
func (a *worldArray) read(z *npzFile) (err error) {
	if found := z.arrays[a.name]; found != nil {
		*a.to, err = readValues[int32](found, found.left)
	}
	return err
}

// readValues reads the next n values of an array into a slice, which is not nil. That of a deflated array grows with
// what has been read, since its length may be a lie; a stored array is not longer than the file.
func readValues[T any](a *npyArray, n int64) ([]T, error) {
	what := fmt.Sprintf("array %s of shape %s", a.name, a.header.shapeString())
	if n < a.left {
		what = fmt.Sprintf("%d values of %s", n, what)
	}
	if err := checkMemory[T](what, n); err != nil {
		return nil, err
	}
	if a.file != nil {
		all := make([]T, n)
		if err := a.read(all); err != nil {
			return nil, fmt.Errorf("array %s: %w", a.name, err)
		}
		return all, nil
	}
	var all []T
	if err := growing(n, &all, func(part []T) error { return a.read(part) }); err != nil {
		return nil, fmt.Errorf("array %s: %w", a.name, err)
	}
	return all, nil
}

func (w *worldFile) writeNPZ(path string) error {
	m, worlds := int64(w.m), int64(w.worlds())
	var specs []arraySpec
	var values []any
	add := func(name string, typ dtype, v any, shape ...int64) {
		specs, values = append(specs, arraySpec{name: name, typ: typ, shape: shape}), append(values, v)
	}
	if len(w.list) == w.m {
		add(w.worldForm.list, typeInt32, w.list, m)
	} else {
		add(w.worldForm.list, typeInt32, w.list, worlds, m)
	}
	if w.wayPoints {
		add(worldPoses, typeFloat64, w.poses, worlds, int64(w.t), m, 7)
	} else {
		add(worldPoses, typeFloat64, w.poses, worlds, m, 7)
	}
	if w.allOf() {
		add(worldSkipA, typeInt32, w.skipA, int64(len(w.skipA)))
		add(worldSkipB, typeInt32, w.skipB, int64(len(w.skipB)))
	} else {
		add(worldTemplateA, typeInt32, w.templateA, int64(len(w.templateA)))
		add(worldTemplateB, typeInt32, w.templateB, int64(len(w.templateB)))
	}
	z, err := createNPZ(osFS{}, path, specs)
	if err != nil {
		return err
	}
	if err := z.appendAll(values); err != nil {
		z.abort()
		return fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return z.commit()
}
