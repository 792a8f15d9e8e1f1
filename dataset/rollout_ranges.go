package dataset

import (
	"errors"
	"fmt"
	"reflect"
	"sort"

	"clearance/batch"
)

// A RolloutReader reads results of a rollout by ranges of worlds, see [ReadRolloutResults].
type RolloutReader struct {
	f      *rolloutFile
	lo, hi int // the worlds that the results are of
	block  *resultBlock
	first  int64 // row of the last range
}

// resultBlock is some rows of a file, of which those before next have been passed.
type resultBlock struct {
	*batch.RolloutResults
	worlds []int32 // of the rows, nil but for all pairs
	next   int
}

// blockRows is the number of rows of all pairs that are read at a time: how many a world has, the file does not say.
const blockRows = 1 << 15

// OpenRolloutResults opens a file of [WriteRolloutResults], or a folder of parts.
func OpenRolloutResults(path string, opts ...Option) (*RolloutReader, error) {
	f, err := openRollout(path, opts)
	if err != nil {
		return nil, err
	}
	r := &RolloutReader{f: f}
	if _, stated := f.src.metadata()[MetaWorlds]; stated || r.AllPairs() {
		if r.lo, r.hi, err = worldsOfMeta(f.src.metadata()); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
	}
	return r, nil
}

// Len returns the number of rows.
func (r *RolloutReader) Len() int64 { return r.f.Len() }

// Columns returns the columns of pairs that the file has.
func (r *RolloutReader) Columns() batch.Columns { return r.f.columns }

// Precision returns the precision of the columns.
func (r *RolloutReader) Precision() batch.Precision { return r.f.precision }

// Metadata returns the metadata of the file.
func (r *RolloutReader) Metadata() map[string]string { return r.f.Metadata() }

// Close closes the file.
func (r *RolloutReader) Close() error { return r.f.Close() }

// Reduced reports whether the file has a row per world.
func (r *RolloutReader) Reduced() bool { return r.has(columnPair) }

// AllPairs reports whether the rows state their worlds, which have as many as are near one another.
func (r *RolloutReader) AllPairs() bool { return r.has(columnWorld) }

// Bodies reports whether the rows state their bodies.
func (r *RolloutReader) Bodies() bool { return r.has(columnBodyA) }

func (r *RolloutReader) has(name string) bool {
	_, ok := r.f.column(name)
	return ok
}

// Range returns the worlds [lo, hi) of a file of worlds that the results are of: 0 and their number but in results of
// some of them; 0 and 0 if the file does not say.
func (r *RolloutReader) Range() (lo, hi int) { return r.lo, r.hi }

// Worlds returns the results of worlds [lo, hi), by their numbers in the file of worlds, which have so many rows each,
// but where the rows state their worlds. Ranges ascend and do not overlap. Offsets, where there are some, are those of
// the range.
func (r *RolloutReader) Worlds(lo, hi, rows int) (*batch.RolloutResults, error) {
	if r.AllPairs() {
		return r.ofWorlds(lo, hi)
	}
	at := int64(lo-r.lo) * int64(rows)
	if n := int64(hi-lo) * int64(rows); at < r.f.next || hi < lo || at+n > r.Len() {
		return nil, beyond(r.f.path, lo, hi, rows, r.Len())
	}
	if err := r.f.skip(at - r.f.next); err != nil {
		return nil, err
	}
	b, err := r.f.block((hi - lo) * rows)
	if err != nil {
		return nil, err
	}
	r.first = at
	return b.RolloutResults, nil
}

// FirstRow returns the number of the first row of the last range.
func (r *RolloutReader) FirstRow() int64 { return r.first }

// beyond is the error of a file that does not have the results of worlds [lo, hi) of so many rows each.
func beyond(path string, lo, hi, rows int, has int64) error {
	return fmt.Errorf("dataset: %s: results of worlds %d to %d of %d rows each are asked for, the file has %d rows",
		path, lo, hi-1, rows, has)
}

// ofWorlds returns the rows whose worlds are those of a range.
func (r *RolloutReader) ofWorlds(lo, hi int) (*batch.RolloutResults, error) {
	if lo < r.lo || hi < lo || hi > r.hi {
		return nil, fmt.Errorf("dataset: %s: results of worlds %d to %d are asked for, the file has those of %d to %d",
			r.f.path, lo, hi-1, r.lo, r.hi-1)
	}
	type piece struct {
		of         *resultBlock
		begin, end int
	}
	var pieces []piece
	total := 0
	for {
		b := r.block
		if b == nil || b.next == b.N {
			n := int(min(blockRows, r.Len()-r.f.next))
			if n == 0 {
				break
			}
			var err error
			if b, err = r.f.block(n); err != nil {
				return nil, err
			}
			if err := b.ascends(r); err != nil {
				return nil, err
			}
			r.block = b
		}
		left := b.worlds[b.next:]
		begin := b.next + sort.Search(len(left), func(i int) bool { return int(left[i]) >= lo })
		end := b.next + sort.Search(len(left), func(i int) bool { return int(left[i]) >= hi })
		if b.next = end; end > begin {
			if total == 0 {
				r.first = r.f.next - int64(b.N-begin)
			}
			pieces = append(pieces, piece{b, begin, end})
			total += end - begin
		}
		if end < b.N {
			break
		}
	}
	out := r.f.newBlock(total)
	at := 0
	for _, p := range pieces {
		out.copy(at, p.of, p.begin, p.end)
		at += p.end - p.begin
	}
	for i := range out.worlds {
		out.worlds[i] -= int32(lo)
	}
	var err error
	out.Offsets, err = offsetsOf(out.worlds, hi-lo)
	return out.RolloutResults, err
}

// ascends returns an error if the worlds of a block are not in order, or not those of the results.
func (b *resultBlock) ascends(r *RolloutReader) error {
	last := int32(r.lo)
	if r.block != nil {
		last = r.block.worlds[r.block.N-1]
	}
	for i, w := range b.worlds {
		if w < last || int(w) >= r.hi {
			return fmt.Errorf("dataset: %s: column %s, row %d: world %d, want one in ascending order from %d to %d",
				r.f.path, columnWorld, r.f.next-int64(b.N)+int64(i), w, r.lo, r.hi-1)
		}
		last = w
	}
	return nil
}

// copy sets the rows from at on to rows [begin, end) of another block.
func (b *resultBlock) copy(at int, from *resultBlock, begin, end int) {
	for i := begin; i < end; i++ {
		b.CopyRow(at+i-begin, from.Results, i, b.Columns)
	}
	of := from.others()
	for name, to := range b.others() {
		if v := reflect.ValueOf(to).Elem(); !v.IsNil() {
			reflect.Copy(v.Slice(at, v.Len()), reflect.ValueOf(of[name]).Elem().Slice(begin, end))
		}
	}
}

// others are the columns of a block besides those of pairs, by name: pointers to slices, of those that the file lacks
// to nil.
func (b *resultBlock) others() map[string]any {
	return map[string]any{columnPartA: &b.PartA, columnPartB: &b.PartB, columnPair: &b.Pair,
		columnContacts: &b.Contacts, columnFailed: &b.Failed, columnAny: &b.Any, columnBodyA: &b.BodyA,
		columnBodyB: &b.BodyB, columnWorld: &b.worlds}
}

// column points to the slice of column i of a file; others are those of the block.
func (b *resultBlock) column(f *rolloutFile, i int, others map[string]any) any {
	if to := others[f.cols[i].name]; to != nil {
		return to
	}
	return resultColumn(b.Results, i)
}

// newBlock returns room for n rows.
func (f *rolloutFile) newBlock(n int) *resultBlock {
	o := &batch.Options{Columns: f.columns, Precision: f.precision}
	b := &resultBlock{RolloutResults: &batch.RolloutResults{Results: batch.NewResults(n, o)}}
	for name, to := range b.others() {
		if _, ok := f.column(name); ok {
			v := reflect.ValueOf(to).Elem()
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
	}
	return b
}

// block reads the next n rows.
func (f *rolloutFile) block(n int) (*resultBlock, error) {
	b, first := f.newBlock(n), f.next
	others := b.others()
	dst := make([]any, len(f.cols))
	for i := range f.cols {
		if _, ok := f.src.typeOf(i); !ok {
			continue
		}
		dst[i] = reflect.ValueOf(b.column(f, i, others)).Elem().Interface()
	}
	if err := notEnd(f.src.read(dst)); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", f.path, err)
	}
	f.next += int64(n)
	return b, f.translate(b.Method(), first)
}

// skip passes over n rows.
func (f *rolloutFile) skip(n int64) error {
	if n == 0 {
		return nil
	}
	if err := f.src.skip(n); err != nil {
		return fmt.Errorf("dataset: %s: %w", f.path, notEnd(err))
	}
	f.next += n
	return nil
}

// A SweepReader reads results of a sweep by ranges of worlds, see [ReadSweepResults].
type SweepReader struct {
	path   string
	src    source
	lo, hi int
	next   int64
}

// OpenSweepResults opens a file of [WriteSweepResults], or a folder of parts.
func OpenSweepResults(path string, opts ...Option) (*SweepReader, error) {
	cols, _ := sweepColumns(&batch.SweepResults{})
	src, err := openTable(path, cols, true, opts)
	if err != nil {
		return nil, err
	}
	r := &SweepReader{path: path, src: src}
	if _, stated := src.metadata()[MetaWorlds]; stated {
		if r.lo, r.hi, err = worldsOfMeta(src.metadata()); err != nil {
			return nil, errors.Join(fmt.Errorf("dataset: %s: %w", path, err), src.Close())
		}
	}
	return r, nil
}

// Len returns the number of rows.
func (r *SweepReader) Len() int64 { return r.src.rows() }

// Metadata returns the metadata of the file.
func (r *SweepReader) Metadata() map[string]string { return r.src.metadata() }

// Range is that of [RolloutReader.Range].
func (r *SweepReader) Range() (lo, hi int) { return r.lo, r.hi }

// Close closes the file.
func (r *SweepReader) Close() error { return r.src.Close() }

// Worlds returns the results of worlds [lo, hi), by their numbers in the file of motions, which have so many rows each.
// Ranges ascend and do not overlap.
func (r *SweepReader) Worlds(lo, hi, rows int) (*batch.SweepResults, error) {
	at, n := int64(lo-r.lo)*int64(rows), (hi-lo)*rows
	if at < r.next || n < 0 || at+int64(n) > r.Len() {
		return nil, beyond(r.path, lo, hi, rows, r.Len())
	}
	out := batch.NewSweepResults(n)
	_, columns := sweepColumns(out)
	dst := make([]any, len(columns))
	for i, to := range columns {
		dst[i] = reflect.ValueOf(to).Elem().Interface()
	}
	err := r.src.skip(at - r.next)
	if err == nil {
		err = r.src.read(dst)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", r.path, notEnd(err))
	}
	r.next = at + int64(n)
	return out, nil
}
