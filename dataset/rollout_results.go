package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"clearance/batch"
	"clearance/rollout"
)

// Keys of the metadata of results of rollouts.
const (
	metaReduce      = "reduce"
	metaMaxDistance = "max_distance"
	metaWorlds      = "worlds" // number of worlds
)

// rolloutColumns are the columns of results of rollouts that those of pairs lack.
func rolloutColumns(r *rollout.Results) (cols []column, values []any) {
	add := func(name string, typ dtype, present bool, v any) {
		if present {
			cols, values = append(cols, column{name, 1, []dtype{typ}}), append(values, v)
		}
	}
	add("part_a", typeInt32, true, r.PartA)
	add("part_b", typeInt32, true, r.PartB)
	add("pair", typeInt32, r.Pair != nil, r.Pair)
	add("contacts", typeInt32, r.Contacts != nil, r.Contacts)
	add("failed", typeInt32, r.Failed != nil, r.Failed)
	add("any", typeUint8, r.Any != nil, r.Any)
	add("body_a", typeInt32, r.BodyA != nil, r.BodyA)
	add("body_b", typeInt32, r.BodyB != nil, r.BodyB)
	add(columnWorld, typeInt32, r.Offsets != nil, worldsOf(r.Offsets))
	return cols, values
}

// columnWorld is the world of each row of all pairs.
const columnWorld = "world"

// worldsOf returns the world of each row.
func worldsOf(offsets []int64) []int32 {
	var worlds []int32
	for w := 1; w < len(offsets); w++ {
		for range offsets[w] - offsets[w-1] {
			worlds = append(worlds, int32(w-1))
		}
	}
	return worlds
}

// offsetsOf is the inverse of worldsOf.
func offsetsOf(worlds []int32, n int) ([]int64, error) {
	offsets := make([]int64, n+1)
	last := int32(0)
	for i, w := range worlds {
		if w < last || int(w) >= n {
			return nil, fmt.Errorf("column %s, row %d: world %d, want one in ascending order below %d", columnWorld, i,
				w, n)
		}
		last = w
		offsets[w+1]++
	}
	for w := range n {
		offsets[w+1] += offsets[w]
	}
	return offsets, nil
}

// WriteRolloutResults writes the results of a rollout of W worlds to a Parquet or NPZ file: the columns of
// [CreateResults] that r has but bits, and part_a, part_b; of worlds also pair, contacts, failed and any; of all
// pairs body_a, body_b and the world of each row. The metadata states the query, the reduction, the largest distance
// and W, and has the given entries.
func WriteRolloutResults(path string, r *rollout.Results, o *rollout.Options, worlds int,
	meta map[string]string) error {
	var cols []column
	var values []any
	for i, c := range resultColumns(precisionType(r.Precision)) {
		if v := resultValues(r.Results, i, r.N); v != nil {
			cols, values = append(cols, c), append(values, v)
		}
	}
	others, more := rolloutColumns(r)
	cols, values = append(cols, others...), append(values, more...)
	out, err := createTable(osFS{}, path, cols, int64(r.N))
	if err != nil {
		return err
	}
	w := &tableWriter{path: path, out: out, n: int64(r.N)}
	defer w.Abort()
	out.describe("status", codesText(batch.StatusCount))
	out.describe(metaSolvers, batch.SolverNames())
	out.describe(metaPrecision, r.Precision.String())
	out.describe(metaQuery, o.Query.String())
	out.describe(metaValue, o.Query.Info().Value)
	out.describe(metaReduce, o.Reduce.String())
	out.describe(metaWorlds, fmt.Sprint(worlds))
	if o.HasMaxDistance {
		out.describe(metaMaxDistance, fmt.Sprint(o.MaxDistance))
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		out.describe(key, meta[key])
	}
	if err := w.append(values, r.N); err != nil {
		return err
	}
	return w.Close()
}

// ReadRolloutResults reads a file of [WriteRolloutResults], and its metadata.
func ReadRolloutResults(path string, opts ...Option) (*rollout.Results, map[string]string, error) {
	all := &rollout.Results{Pair: []int32{}, Contacts: []int32{}, Failed: []int32{}, Any: []uint8{}, BodyA: []int32{},
		BodyB: []int32{}, Offsets: []int64{0}}
	others, _ := rolloutColumns(all)
	cols := append(resultColumns(typeFloat32, typeFloat64), others...)
	src, err := openTable(path, cols, false, opts)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	reader := ResultReader{tableReader: tableReader{path: path, src: src}}
	if err := reader.describe(cols); err != nil {
		return nil, nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	n := int(src.rows())
	r := &rollout.Results{Results: batch.NewResults(n, &batch.Options{Columns: reader.columns,
		Precision: reader.precision})}
	var worlds []int32
	ints := []*[]int32{&r.PartA, &r.PartB, &r.Pair, &r.Contacts, &r.Failed, nil, &r.BodyA, &r.BodyB, &worlds}
	for i := range cols {
		if _, ok := src.typeOf(i); !ok {
			continue
		}
		var to any
		switch k := i - len(columnBits); {
		case k < 0:
			to = resultValues(r.Results, i, n)
		case ints[k] == nil:
			r.Any = make([]uint8, n)
			to = r.Any
		default:
			*ints[k] = make([]int32, n)
			to = *ints[k]
		}
		if err := src.read(i, to); err != nil {
			return nil, nil, notEnd(err)
		}
	}
	meta := src.metadata()
	if worlds != nil {
		count, err := strconv.Atoi(meta[metaWorlds])
		if err == nil && (count < 0 || count > 1<<30) {
			err = fmt.Errorf("%d worlds", count)
		}
		if err == nil {
			r.Offsets, err = offsetsOf(worlds, count)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
	}
	return r, meta, nil
}
