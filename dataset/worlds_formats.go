package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"clearance/dataset/npz"
	"clearance/dataset/output"
	"clearance/dataset/table"
)

// worldArray is an array of a form in an NPZ file.
type worldArray struct {
	table.Column
	dims []string // shapes that are read, such as [W,M,7]
	to   *[]int32 // of all worlds; nil of the list and the poses, which are read by ranges
}

// arrays are the arrays of the form, the list and the poses first.
func (w *worldFile) arrays() []worldArray {
	lists, poses := []string{"[M]"}, "[W,M,7]"
	if w.perWorld {
		lists = append(lists, "[W,M]")
	}
	if w.wayPoints {
		poses = "[W,T,M,7]"
	}
	cols := table.Named(table.WorldArrays, w.worldForm.list, table.Poses, table.TemplateA, table.TemplateB, table.SkipA,
		table.SkipB)
	all := []worldArray{{cols[0], lists, nil}, {cols[1], []string{poses}, nil}, {cols[2], []string{"[P]"},
		&w.templateA},
		{cols[3], []string{"[P]"}, &w.templateB}}
	if w.allPairs {
		all[2].Required, all[3].Required = false, false
		all = append(all, worldArray{cols[4], []string{"[S]"}, &w.skipA}, worldArray{cols[5], []string{"[S]"},
			&w.skipB})
	}
	return all
}

// worldsNPZ are the arrays of an open NPZ file of worlds.
type worldsNPZ struct {
	*npz.File
	list, poses *npz.Array
	all         []int32 // list of every world, nil if each has its own
	next        int     // world
}

func openWorldsNPZ(path string, w *worldFile) (worldSource, int, error) {
	z, err := npz.Open(path, nil, table.DefaultLimits())
	if err != nil {
		return nil, 0, err
	}
	s := &worldsNPZ{File: z}
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
	cols := make([]table.Column, len(arrays))
	for i := range arrays {
		cols[i] = arrays[i].Column
	}
	for _, name := range s.Names() {
		if err := table.CheckName(name, cols); err != nil {
			return 0, err
		}
	}
	for i := range arrays {
		if err := arrays[i].check(s.File); err != nil {
			return 0, err
		}
	}
	s.list, s.poses = s.Arrays[w.worldForm.list], s.Arrays[table.Poses]
	list, p := s.list.Header.Shape, s.poses.Header.Shape
	m := list[len(list)-1]
	k := len(p) - 2 // the dimension of the bodies
	if p[k] != m || p[k+1] != 7 || len(list) == 2 && list[0] != p[0] || w.wayPoints && (p[1] < 2 || p[1] > 1<<30) {
		want := fmt.Sprintf("[W,%d,7]", m)
		if w.wayPoints {
			want = fmt.Sprintf("[W,T,%d,7] with at least 2 way points", m)
		}
		return 0, fmt.Errorf("array %s has shape %s, want %s for %s of shape %s", table.Poses,
			s.poses.Header.ShapeString(), want, w.worldForm.list, s.list.Header.ShapeString())
	}
	w.m = int(m)
	if w.wayPoints {
		w.t = int(p[1])
	}
	var err error
	if len(list) == 1 {
		if s.all, err = npz.ReadValues[int32](s.list, m); err != nil {
			return 0, err
		}
	}
	for i := range arrays[2:] {
		if err := arrays[2+i].read(s.File); err != nil {
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
		if err := s.list.Skip(pass * int64(w.m)); err != nil {
			return fmt.Errorf("array %s: %w", s.list.Name, err)
		}
		if w.list, err = npz.ReadValues[int32](s.list, n*int64(w.m)); err != nil {
			return err
		}
	}
	poses := 7 * int64(w.m) * int64(w.t) // of a world
	if err := s.poses.Skip(pass * poses); err != nil {
		return fmt.Errorf("array %s: %w", s.poses.Name, err)
	}
	w.poses, err = npz.ReadValues[float64](s.poses, n*poses)
	s.next = hi
	return err
}

// check reports a missing array, or one of another type or number of dimensions.
func (a *worldArray) check(z *npz.File) error {
	found, dims := z.Arrays[a.Name], strings.Join(a.dims, " or ")
	switch {
	case found == nil && !a.Required:
		return nil
	case found == nil:
		return fmt.Errorf("array %s is missing, want %s %s: %s", a.Name, a.Column.Types[0], dims, a.Meaning)
	case !a.Accepts(found.Header.Type):
		return fmt.Errorf("array %s is %s, want %s", a.Name, found.Header.Type, a.TypeNames())
	}
	rank := func(dims string) bool { return strings.Count(dims, ",")+1 == len(found.Header.Shape) }
	if !slices.ContainsFunc(a.dims, rank) || len(found.Header.Shape) == 0 {
		return fmt.Errorf("array %s has shape %s, want %s", a.Name, found.Header.ShapeString(), dims)
	}
	return nil
}

// read reads the array, which is one of indices, if the file has it.
func (a *worldArray) read(z *npz.File) (err error) {
	if found := z.Arrays[a.Name]; found != nil {
		*a.to, err = npz.ReadValues[int32](found, found.Left)
	}
	return err
}

func (w *worldFile) writeNPZ(path string) error {
	m, worlds := int64(w.m), int64(w.worlds())
	var specs []npz.Spec
	var values []any
	add := func(name string, typ table.Type, v any, shape ...int64) {
		specs, values = append(specs, npz.Spec{Name: name, Type: typ, Shape: shape}), append(values, v)
	}
	if len(w.list) == w.m {
		add(w.worldForm.list, table.Int32, w.list, m)
	} else {
		add(w.worldForm.list, table.Int32, w.list, worlds, m)
	}
	if w.wayPoints {
		add(table.Poses, table.Float64, w.poses, worlds, int64(w.t), m, 7)
	} else {
		add(table.Poses, table.Float64, w.poses, worlds, m, 7)
	}
	if w.allOf() {
		add(table.SkipA, table.Int32, w.skipA, int64(len(w.skipA)))
		add(table.SkipB, table.Int32, w.skipB, int64(len(w.skipB)))
	} else {
		add(table.TemplateA, table.Int32, w.templateA, int64(len(w.templateA)))
		add(table.TemplateB, table.Int32, w.templateB, int64(len(w.templateB)))
	}
	z, err := npz.Create(output.Disk{}, path, specs)
	if err != nil {
		return err
	}
	if err := z.AppendAll(values); err != nil {
		z.Abort()
		return fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return z.Commit()
}

// A Parquet file of worlds has one row per body of a world, or per body of a world at a way point, in the order of
// world, way point and body. The pairs that all worlds share are metadata: JSON arrays of pairs of places in a world.
const (
	metaTemplate = "template"
	metaSkip     = "skip"
)

// blockOfWorlds is the number of rows that are read, and written, at a time.
const blockOfWorlds = 1 << 14

// table are the columns of the form.
func (f *worldForm) table() []table.Column {
	names := []string{table.World, f.index, table.Position, table.Rotation}
	if f.wayPoints {
		names = append(names, table.WayPoint)
	}
	return table.Named(table.Worlds, names...)
}

// worldBlock holds rows of a table.
type worldBlock struct {
	world, index, wayPoint []int32
	position, rotation     []float64
}

func newWorldBlock(rows int) *worldBlock {
	return &worldBlock{make([]int32, rows), make([]int32, rows), make([]int32, rows), make([]float64, 3*rows),
		make([]float64, 4*rows)}
}

// column is the first n rows of column i of the table.
func (b *worldBlock) column(i, n int) any {
	return []any{b.world[:n], b.index[:n], b.position[:3*n], b.rotation[:4*n], b.wayPoint[:n]}[i]
}

// places checks the order of the rows. The first world tells the number of bodies, and that of way points.
type places struct {
	row            int // number of rows so far
	world, way, at int // of the last one; at is the place of its body
	m, t           int // bodies and way points of a world; 0 until known
}

// next notes a row.
func (p *places) next(world, way int) error {
	last := *p
	p.world, p.way, p.at = world, way, 0
	p.row++
	switch {
	case last.row == 0:
		if world == 0 && way == 0 {
			return nil
		}
		return fmt.Errorf("row 0: world %d, way point %d, want 0", world, way)
	case world == last.world && way == last.way:
		if p.at = last.at + 1; last.m == 0 || p.at < last.m {
			return nil
		}
	case last.m == 0 || last.at == last.m-1:
		p.m = last.at + 1
		if world == last.world && way == last.way+1 && (last.t == 0 || way < last.t) {
			return nil
		}
		if world == last.world+1 && way == 0 && (last.t == 0 || last.way == last.t-1) {
			p.t = last.way + 1
			return nil
		}
	}
	return fmt.Errorf("row %d: world %d, way point %d behind body %d of world %d, way point %d; want ascending order, "+
		"and as many rows in each world as in the first", last.row, world, way, last.at, last.world, last.way)
}

// done notes the end.
func (p *places) done() error {
	if p.row == 0 {
		return nil
	}
	if p.m == 0 {
		p.m = p.at + 1
	}
	if p.t == 0 {
		p.t = p.way + 1
	}
	if p.at != p.m-1 || p.way != p.t-1 {
		return fmt.Errorf("row %d is missing: the file ends behind body %d of world %d, way point %d", p.row, p.at,
			p.world, p.way)
	}
	return nil
}

// worldsParquet is an open Parquet file of worlds.
type worldsParquet struct {
	table.Source
	at       places
	list     []int32 // of world 0
	perWorld bool    // others may have lists of their own
	block    *worldBlock
}

func (s *worldsParquet) shared() []int32 {
	if s.perWorld {
		return nil
	}
	return s.list
}

func openWorldsParquet(path string, w *worldFile, opts []Option) (worldSource, int, error) {
	s := &worldsParquet{perWorld: w.perWorld}
	if err := s.measure(path, w, opts); err != nil {
		return nil, 0, err
	}
	src, err := openTable(path, w.table(), opts)
	if err != nil {
		return nil, 0, err
	}
	s.Source = src
	if w.m == 0 { // the pairs would be of no bodies
		w.templateA, w.templateB, w.skipA, w.skipB = w.templateA[:0], w.templateB[:0], nil, nil
		return s, 0, nil
	}
	per := int64(w.m) * int64(w.t)
	return s, int((src.Rows() + per - 1) / per), nil
}

// measure reads the pairs, and so many rows as tell the list of the first world and its way points.
func (s *worldsParquet) measure(path string, w *worldFile, opts []Option) error {
	src, err := openTable(path, w.table(), opts)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := w.readPairs(src.Metadata()); err != nil {
		return err
	}
	if !w.wayPoints {
		s.at.t = 1
	}
	s.block = newWorldBlock(int(min(src.Rows(), blockOfWorlds)))
	at, dst := s.at, make([]any, len(w.table()))
	for left := src.Rows(); left > 0 && (at.m == 0 || at.t == 0); {
		n := int(min(left, int64(len(s.block.world))))
		for i, c := range w.table() {
			if c.Width == 1 {
				dst[i] = s.block.column(i, n)
			}
		}
		if err := src.Read(dst); err != nil {
			return notEnd(err)
		}
		for i := range n {
			if err := at.next(int(s.block.world[i]), int(s.block.wayPoint[i])); err != nil {
				return err
			}
			if at.m != 0 && at.t != 0 {
				break
			}
			if at.way == 0 && at.world == 0 && at.m == 0 {
				s.list = append(s.list, s.block.index[i])
			}
		}
		left -= int64(n)
	}
	if at.m == 0 || at.t == 0 { // a single world
		if err := at.done(); err != nil {
			return err
		}
	}
	if w.wayPoints && at.t < 2 && at.row > 0 {
		return fmt.Errorf("column %s: 1 way point, want at least 2", table.WayPoint)
	}
	w.m, w.t, s.at.m, s.at.t = at.m, at.t, at.m, at.t
	return nil
}

func (s *worldsParquet) read(w *worldFile, lo, hi int) error {
	per := int64(w.m) * int64(w.t)
	end := min(int64(hi)*per, s.Rows())
	if pass := int64(lo)*per - int64(s.at.row); pass > 0 {
		if err := s.Skip(pass); err != nil {
			return notEnd(err)
		}
		s.at.row += int(pass)
		s.at.world, s.at.way, s.at.at = lo-1, w.t-1, w.m-1
	}
	left := end - int64(s.at.row)
	if err := table.CheckMemory[[8]float64](fmt.Sprintf("%d rows of bodies", left), left); err != nil {
		return err
	}
	b, dst := s.block, make([]any, len(w.table()))
	same := true // all of these worlds have one list
	w.list = nil
	for left > 0 {
		n := int(min(left, int64(len(b.world))))
		for i := range dst {
			dst[i] = b.column(i, n)
		}
		if err := s.Source.Read(dst); err != nil {
			return notEnd(err)
		}
		for i := range n {
			err := s.at.next(int(b.world[i]), int(b.wayPoint[i]))
			if err == nil {
				err = s.addBody(w, lo, b.index[i], &same)
			}
			if err != nil {
				return err
			}
			w.poses = append(append(w.poses, b.position[3*i:3*i+3]...), b.rotation[4*i:4*i+4]...)
		}
		left -= int64(n)
	}
	if end == s.Rows() {
		if err := s.at.done(); err != nil {
			return err
		}
	}
	if same && lo < hi {
		w.list = slices.Clone(w.list[:w.m])
	}
	if lo == hi {
		w.list = slices.Clone(s.list)
	}
	return nil
}

// addBody adds the body at the place of the last row, which has been checked, to the list of worlds from lo on.
func (s *worldsParquet) addBody(w *worldFile, lo int, index int32, same *bool) error {
	at := &s.at
	switch {
	case at.way > 0:
		if first := w.list[(at.world-lo)*at.m+at.at]; index != first {
			return fmt.Errorf("row %d: column %s is %d, want %d as at way point 0", at.row-1, w.index, index, first)
		}
		return nil
	case !w.perWorld && index != s.list[at.at]:
		return fmt.Errorf("row %d: column %s is %d, want %d as in world 0; worlds that differ have the column %s",
			at.row-1, w.index, index, s.list[at.at], table.Body)
	case at.world > lo && w.list[at.at] != index:
		*same = false
	}
	w.list = append(w.list, index)
	return nil
}

// readPairs reads the pairs of places in a world.
func (w *worldFile) readPairs(meta map[string]string) (err error) {
	template, has := meta[metaTemplate]
	skip, skips := meta[metaSkip]
	switch {
	case skips && !w.allPairs:
		return fmt.Errorf("metadata %s: pairs to skip apply to all pairs of bodies", metaSkip)
	case skips && has:
		return fmt.Errorf("metadata %s and %s: want one or the other", metaTemplate, metaSkip)
	case !has && !w.allPairs:
		return fmt.Errorf("metadata %s is missing, want the pairs of bodies as JSON, [[a, b], ...]", metaTemplate)
	case has:
		w.templateA, w.templateB, err = parsePairs(metaTemplate, template)
	case skips:
		w.skipA, w.skipB, err = parsePairs(metaSkip, skip)
	}
	return err
}

// parsePairs reads a JSON array of pairs. It takes memory in proportion to the text, which counts in the budget of the
// file.
func parsePairs(key, text string) (a, b []int32, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	fail := func(err error) ([]int32, []int32, error) {
		return nil, nil, fmt.Errorf("metadata %s, pair %d: %w", key, len(a), err)
	}
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fail(errors.New("want a JSON array, [[a, b], ...]"))
	}
	a, b = []int32{}, []int32{}
	for d.More() {
		var pair []int32
		if err := d.Decode(&pair); err != nil {
			return fail(err)
		}
		if len(pair) != 2 {
			return fail(fmt.Errorf("%d numbers, want 2", len(pair)))
		}
		a, b = append(a, pair[0]), append(b, pair[1])
	}
	if _, err := d.Token(); err != nil {
		return fail(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fail(errors.New("more text behind the array"))
	}
	return a, b, nil
}

// pairsText is the inverse of parsePairs.
func pairsText(a, b []int32) string {
	pairs := make([][2]int32, len(a))
	for i := range a {
		pairs[i] = [2]int32{a[i], b[i]}
	}
	text, _ := json.Marshal(pairs) // numbers alone do not fail
	return string(text)
}

func (w *worldFile) writeParquet(path string) error {
	n := len(w.poses) / 7
	out, err := createTable(output.Disk{}, path, w.table(), int64(n))
	if err != nil {
		return err
	}
	t := &tableWriter{path: path, out: out, n: int64(n)}
	defer t.Abort()
	switch {
	case !w.allOf():
		out.Describe(metaTemplate, pairsText(w.templateA, w.templateB))
	case len(w.skipA) > 0:
		out.Describe(metaSkip, pairsText(w.skipA, w.skipB))
	}
	b := newWorldBlock(min(n, blockOfWorlds))
	vals := make([]any, len(w.table()))
	for first := 0; first < n; first += blockOfWorlds {
		rows := min(n-first, blockOfWorlds)
		for i := range rows {
			w.row(first+i, b, i)
		}
		for i := range vals {
			vals[i] = b.column(i, rows)
		}
		if err := t.append(vals, rows); err != nil {
			return err
		}
	}
	return t.Close()
}

// row puts a row of the file into row i of a block.
func (w *worldFile) row(row int, b *worldBlock, i int) {
	world, k := row/(w.m*w.t), row%w.m
	b.world[i], b.wayPoint[i] = int32(world), int32(row/w.m%w.t)
	if b.index[i] = w.list[k]; len(w.list) > w.m {
		b.index[i] = w.list[world*w.m+k]
	}
	copy(b.position[3*i:3*i+3], w.poses[7*row:])
	copy(b.rotation[4*i:4*i+4], w.poses[7*row+3:])
}
