package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Parquet file of worlds has one row per body of a world, or per body of a world at a way point, in the order of
// world, way point and body. The pairs that all worlds share are metadata: JSON arrays of pairs of places in a world.
const (
	columnShape    = "shape"
	columnBody     = "body"
	columnWayPoint = "way_point"
	columnPosition = "position"
	columnRotation = "rotation"
	metaTemplate   = "template"
	metaSkip       = "skip"
)

// blockOfWorlds is the number of rows that are read, and written, at a time.
const blockOfWorlds = 1 << 14

// table are the columns of the form.
func (f *worldForm) table() []column {
	index, reals := []dtype{typeInt32, typeInt64}, []dtype{typeFloat64, typeFloat32}
	cols := []column{{columnWorld, 1, index}, {f.index, 1, index}, {columnPosition, 3, reals},
		{columnRotation, 4, reals}}
	if f.wayPoints {
		cols = append(cols, column{columnWayPoint, 1, index})
	}
	return cols
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
	source
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
	src, err := openTable(path, w.table(), true, opts)
	if err != nil {
		return nil, 0, err
	}
	s.source = src
	if w.m == 0 { // the pairs would be of no bodies
		w.templateA, w.templateB, w.skipA, w.skipB = w.templateA[:0], w.templateB[:0], nil, nil
		return s, 0, nil
	}
	per := int64(w.m) * int64(w.t)
	return s, int((src.rows() + per - 1) / per), nil
}

// measure reads the pairs, and so many rows as tell the list of the first world and its way points.
func (s *worldsParquet) measure(path string, w *worldFile, opts []Option) error {
	src, err := openTable(path, w.table(), true, opts)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := w.readPairs(src.metadata()); err != nil {
		return err
	}
	if !w.wayPoints {
		s.at.t = 1
	}
	s.block = newWorldBlock(int(min(src.rows(), blockOfWorlds)))
	at, dst := s.at, make([]any, len(w.table()))
	for left := src.rows(); left > 0 && (at.m == 0 || at.t == 0); {
		n := int(min(left, int64(len(s.block.world))))
		for i, c := range w.table() {
			if c.width == 1 {
				dst[i] = s.block.column(i, n)
			}
		}
		if err := src.read(dst); err != nil {
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
		return fmt.Errorf("column %s: 1 way point, want at least 2", columnWayPoint)
	}
	w.m, w.t, s.at.m, s.at.t = at.m, at.t, at.m, at.t
	return nil
}

func (s *worldsParquet) read(w *worldFile, lo, hi int) error {
	per := int64(w.m) * int64(w.t)
	end := min(int64(hi)*per, s.rows())
	if pass := int64(lo)*per - int64(s.at.row); pass > 0 {
		if err := s.skip(pass); err != nil {
			return notEnd(err)
		}
		s.at.row += int(pass)
		s.at.world, s.at.way, s.at.at = lo-1, w.t-1, w.m-1
	}
	left := end - int64(s.at.row)
	if err := checkMemory[[8]float64](fmt.Sprintf("%d rows of bodies", left), left); err != nil {
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
		if err := s.source.read(dst); err != nil {
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
	if end == s.rows() {
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
			at.row-1, w.index, index, s.list[at.at], columnBody)
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
	out, err := createTable(osFS{}, path, w.table(), int64(n))
	if err != nil {
		return err
	}
	t := &tableWriter{path: path, out: out, n: int64(n)}
	defer t.Abort()
	switch {
	case !w.allOf():
		out.describe(metaTemplate, pairsText(w.templateA, w.templateB))
	case len(w.skipA) > 0:
		out.describe(metaSkip, pairsText(w.skipA, w.skipB))
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
