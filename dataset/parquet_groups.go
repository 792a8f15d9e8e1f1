package dataset

// This file gathers row groups and lays them out in the file.

// write appends rows. Values of row groups that these rows end are written before it returns, others are copied, so the
// caller may reuse them.
func (s *parquetSink) write(vals []any, rows int) (err error) {
	defer caught(&err)
	for at := 0; at < rows; {
		var whole []*groupWriter
		var tasks []func() error
		for at < rows && len(whole) < maxGroups {
			g, err := s.group()
			if err != nil {
				return err
			}
			n := min(rows-at, s.groupRows-g.rows)
			if s.extra != nil {
				if n, err = g.copyExtra(s.extra, n); err != nil {
					return err
				}
			}
			last := g.rows+n == s.groupRows || g.bytes >= maxGroupBytes
			for i, c := range s.cols {
				tasks = append(tasks, g.chunks[i].tasks(sliceOf(vals[i], at*c.width, (at+n)*c.width), n, last)...)
			}
			at, g.rows = at+n, g.rows+n
			if last {
				whole, s.open = append(whole, g), nil
			}
		}
		if err := s.parallel(tasks); err != nil {
			return err
		}
		if err := s.flush(whole); err != nil {
			return err
		}
	}
	return nil
}

func (s *parquetSink) parallel(tasks []func() error) error {
	return parallel(workersOr(s.workers), len(tasks), func(i int) error { return tasks[i]() })
}

// maxGroups is the number of row groups that are encoded at a time.
const maxGroups = 4

// groupWriter encodes one row group.
type groupWriter struct {
	chunks []chunkWriter
	extra  []*extraWriter // columns that are copied
	rows   int
	bytes  int // of those
}

// group returns the row group that takes the next rows.
func (s *parquetSink) group() (*groupWriter, error) {
	if s.open != nil {
		return s.open, nil
	}
	g := &groupWriter{}
	if n := len(s.free); n > 0 {
		g, s.free = s.free[n-1], s.free[:n-1]
	} else {
		for i := range s.cols {
			c, err := newChunkWriter(&s.cols[i], s.props)
			if err != nil {
				return nil, err
			}
			g.chunks = append(g.chunks, c)
		}
	}
	if s.extra != nil {
		for i := range s.extra.leaves {
			w, err := newExtraWriter(s.props, s.schema.Column(len(s.cols)+i))
			if err != nil {
				return nil, err
			}
			g.extra = append(g.extra, w)
		}
	}
	s.open = g
	return g, nil
}

// flush writes row groups.
func (s *parquetSink) flush(groups []*groupWriter) error {
	var tasks []func() error
	for _, g := range groups {
		for _, c := range g.chunks {
			tasks = append(tasks, c.finish)
		}
		for _, w := range g.extra {
			tasks = append(tasks, w.finish)
		}
	}
	if err := s.parallel(tasks); err != nil {
		return err
	}
	// What a page takes is known now, and so where each stands in the file.
	tasks = tasks[:0]
	for _, g := range groups {
		m := s.meta.AppendRowGroup()
		m.SetNumRows(g.rows)
		put := func(pages [][]byte, err error) error {
			for _, p := range pages {
				at := s.at
				tasks = append(tasks, func() error { _, err := s.file.WriteAt(p, at); return err })
				s.at += int64(len(p))
			}
			return err
		}
		for _, c := range g.chunks {
			if err := put(c.pages(s.at, m.NextColumnChunk())); err != nil {
				return err
			}
		}
		for _, w := range g.extra {
			if err := put(w.pages(s.at, m.NextColumnChunk())); err != nil {
				return err
			}
		}
		if err := m.Finish(0, int16(s.groups)); err != nil {
			return err
		}
		s.groups++
	}
	if err := s.parallel(tasks); err != nil {
		return err
	}
	for _, g := range groups {
		for _, c := range g.chunks {
			c.reset()
		}
		g.extra, g.rows, g.bytes = nil, 0, 0
	}
	s.free = append(s.free, groups...)
	return nil
}
