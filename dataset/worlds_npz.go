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
	to       any // *[]int32 or *[]float64
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
		{column{w.worldForm.list, 1, index}, lists, false, &w.list},
		{column{worldPoses, 1, []dtype{typeFloat64, typeFloat32}}, []string{poses}, false, &w.poses},
		{column{worldTemplateA, 1, index}, []string{"[P]"}, w.allPairs, &w.templateA},
		{column{worldTemplateB, 1, index}, []string{"[P]"}, w.allPairs, &w.templateB},
	}
	if w.allPairs {
		all = append(all, worldArray{column{worldSkipA, 1, index}, []string{"[S]"}, true, &w.skipA},
			worldArray{column{worldSkipB, 1, index}, []string{"[S]"}, true, &w.skipB})
	}
	return all
}

func (w *worldFile) readNPZ(path string) error {
	z, err := openNPZ(path, nil)
	if err != nil {
		return err
	}
	defer z.Close()
	return wrong(path, w.readArrays(z))
}

func (w *worldFile) readArrays(z *npzFile) error {
	arrays := w.arrays()
	cols := make([]column, len(arrays))
	for i := range arrays {
		cols[i] = arrays[i].column
	}
	for _, name := range z.names() {
		if err := checkName(name, cols); err != nil {
			return err
		}
	}
	for i := range arrays {
		if err := arrays[i].check(z); err != nil {
			return err
		}
	}
	list, p := z.arrays[w.worldForm.list].header.shape, z.arrays[worldPoses].header.shape
	m := list[len(list)-1]
	k := len(p) - 2 // the dimension of the bodies
	if p[k] != m || p[k+1] != 7 || len(list) == 2 && list[0] != p[0] || w.wayPoints && (p[1] < 2 || p[1] > 1<<30) {
		want := fmt.Sprintf("[W,%d,7]", m)
		if w.wayPoints {
			want = fmt.Sprintf("[W,T,%d,7] with at least 2 way points", m)
		}
		return fmt.Errorf("array %s has shape %s, want %s for %s of shape %s", worldPoses,
			z.arrays[worldPoses].header.shapeString(), want, w.worldForm.list,
			z.arrays[w.worldForm.list].header.shapeString())
	}
	w.m = int(m)
	if w.wayPoints {
		w.t = int(p[1])
	}
	for i := range arrays {
		if err := arrays[i].read(z); err != nil {
			return err
		}
	}
	return nil
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

// read reads the array, if the file has it.
func (a *worldArray) read(z *npzFile) (err error) {
	found := z.arrays[a.name]
	if found == nil {
		return nil
	}
	switch to := a.to.(type) {
	case *[]int32:
		*to, err = readWhole[int32](found)
	case *[]float64:
		*to, err = readWhole[float64](found)
	}
	return err
}

// readWhole reads all values of an array, which is not nil. The slice grows with what has been
// read, since the length of a damaged array may be a lie.
func readWhole[T any](a *npyArray) ([]T, error) {
	if err := checkMemory[T](fmt.Sprintf("array %s of shape %s", a.name, a.header.shapeString()), a.left); err != nil {
		return nil, err
	}
	var all []T
	if err := growing(a.left, &all, func(part []T) error { return a.read(part) }); err != nil {
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
