package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"clearance/dataset/output"
	"clearance/dataset/parquet"
	"clearance/dataset/table"
	"clearance/internal/meter"
)

// A folder of parts is one table in several files of one format, in the order of their names, of which numbers compare
// as numbers. Names that begin with a dot or an underscore are ignored, as by Spark and Dask.

// metaPart is the key of the metadata that says which part of how many a file is: "3/12".
const metaPart = "part"

// Keys of the metadata of results of some rows, or worlds, of a file: "lo:hi", hi not included. Parts that follow one
// another are a table of all their rows and worlds. Results of all worlds state their number.
const (
	MetaRows   = "rows"
	MetaWorlds = "worlds"
)

// ranges are the metadata that parts of a table may state of themselves, each its own range.
var ranges = [...]string{MetaRows, MetaWorlds}

// IsFolder reports whether results at a path are a folder of parts: it ends with a separator, or a folder is there.
func IsFolder(path string) bool {
	return path != "" && os.IsPathSeparator(path[len(path)-1]) || isDir(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// listParts returns the paths of the files of a folder.
func listParts(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.ContainsAny(e.Name()[:1], "._") })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return compareNames(a.Name(), b.Name()) })
	paths := make([]string, len(entries))
	var first format
	for i, e := range entries {
		paths[i] = filepath.Join(dir, e.Name())
		f, err := formatOf(paths[i])
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w, as every file of a folder of parts has, but for names that begin with . or _",
				err)
		case i == 0:
			first = f
		case f != first:
			return nil, fmt.Errorf("dataset: %s: %s and %s are of two formats; the parts of a table have one", dir,
				entries[0].Name(), e.Name())
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("dataset: %s: the folder has no .parquet or .npz file", dir)
	}
	return paths, nil
}

// CheckBeside reports an output that would lie in the folder of an input, which no reader would take with it. Names
// that begin with a dot or an underscore are not read.
func CheckBeside(in, out string) error {
	if !isDir(in) {
		return nil
	}
	folder, path := realPath(in), realPath(out)
	below, err := filepath.Rel(folder, path)
	if err != nil || below == "." || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) ||
		strings.ContainsAny(below[:1], "._") {
		return nil
	}
	return fmt.Errorf("%s lies in the folder %s, which could not be read with it; give the output another "+
		"place", out, in)
}

// realPath is an absolute path without links, whose last names need not exist.
func realPath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := path; ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return path
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
}

// compareNames orders names by their characters, but runs of digits by their numbers.
func compareNames(a, b string) int {
	digits := func(s string) int {
		n := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if n < 0 {
			return len(s)
		}
		return n
	}
	x, y := a, b
	for x != "" && y != "" {
		if i, k := digits(x), digits(y); i > 0 && k > 0 {
			p, q := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:k], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[i:], y[k:]
			continue
		}
		if c := cmp.Compare(x[0], y[0]); c != 0 {
			return c
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// partsSource is a folder of parts as one table. Files are open from their first row to their last.
type partsSource struct {
	parts []tablePart
	total int64
	types []table.Type
	has   []bool
	meta  map[string]string
	at    []partPlace // of each column

	open func(path string) (table.Source, error)
	cols []table.Column
	sub  []any // of a read
}

type tablePart struct {
	path string
	rows int64
	of   [len(ranges)]string // what it states of itself, "" if it does not
	part bool                // whether it says which part it is
	src  table.Source        // nil while it is closed
}

// partPlace is the next row of a column.
type partPlace struct {
	part int
	row  int64
}

// openParts opens a folder. Every part is looked at: all have the same columns of the same types and say the same of
// the query, and none is missing of those that the writer made.
func openParts(dir string, workers int, cols []table.Column,
	open func(path string) (table.Source, error)) (*partsSource, error) {
	paths, err := listParts(dir)
	if err != nil {
		return nil, err
	}
	s := &partsSource{parts: make([]tablePart, len(paths)), cols: cols, open: open, sub: make([]any, len(cols)),
		types: make([]table.Type, len(cols)), has: make([]bool, len(cols)), at: make([]partPlace, len(cols))}
	if err := s.look(0, paths[0]); err != nil {
		return nil, err
	}
	err = table.Parallel(table.WorkersOr(workers), len(paths)-1, func(i int) error { return s.look(i+1, paths[i+1]) })
	if err != nil {
		return nil, err
	}
	for i, key := range ranges {
		if err := s.join(i); err != nil {
			return nil, fmt.Errorf("dataset: %s: metadata %s: %w", dir, key, err)
		}
	}
	delete(s.meta, metaPart)
	for _, p := range s.parts {
		s.total += p.rows
	}
	return s, nil
}

// look reads the description of part i. Those of the others have to agree with the first.
func (s *partsSource) look(i int, path string) error {
	src, err := s.open(path)
	if err != nil {
		return err
	}
	defer src.Close()
	wrong := func(err error) error { return fmt.Errorf("dataset: %s: %w", path, err) }
	meta := src.Metadata()
	p := &s.parts[i]
	*p = tablePart{path: path, rows: src.Rows()}
	for k, key := range ranges {
		p.of[k] = meta[key]
	}
	if text, ok := meta[metaPart]; ok {
		p.part = true
		if err := checkPart(text, i, len(s.parts)); err != nil {
			return wrong(err)
		}
	}
	for k := range s.cols {
		t, has := src.TypeOf(k)
		if i > 0 && (t != s.types[k] || has != s.has[k]) {
			return wrong(fmt.Errorf("column %s is not as in %s: the parts of a table have the same columns of the "+
				"same types", s.cols[k].Name, filepath.Base(s.parts[0].path)))
		}
		if i == 0 {
			s.types[k], s.has[k] = t, has
		}
	}
	if i == 0 {
		s.meta = meta
		return nil
	}
	for _, m := range []map[string]string{s.meta, meta} {
		for key := range m {
			if key != metaPart && !slices.Contains(ranges[:], key) && s.meta[key] != meta[key] {
				return wrong(fmt.Errorf("metadata %s: %.60q, but %.60q in %s: the parts of a table say the same", key,
					meta[key], s.meta[key], filepath.Base(s.parts[0].path)))
			}
		}
	}
	return nil
}

// join sets a range of the table: each part answers its own, one after the other, or all are parts of one result, which
// say the same.
func (s *partsSource) join(key int) error {
	first := s.parts[0].of[key]
	lo, end, found := strings.Cut(first, ":")
	for i := range s.parts[1:] {
		before, p := &s.parts[i], &s.parts[i+1]
		begin, hi, isRange := strings.Cut(p.of[key], ":")
		switch {
		case p.of[key] == first && (p.part || !isRange): // the metadata of the first part have it
		case found && isRange && begin == end && !p.part:
			end = hi
			s.meta[ranges[key]] = lo + ":" + end
		default:
			return fmt.Errorf("%s has %.60q after %.60q of %s, and the parts of a table follow one another",
				filepath.Base(p.path), p.of[key], before.of[key], filepath.Base(before.path))
		}
	}
	return nil
}

// checkPart reports a folder that lacks parts, given what part i of n says of itself.
func checkPart(text string, i, n int) error {
	number, of, total := strings.Cut(text, "/")
	k, err := strconv.Atoi(number)
	count := n
	if total && err == nil {
		count, err = strconv.Atoi(of)
	}
	if err != nil {
		return fmt.Errorf("metadata %s: %.60q, want a number, or one, a slash and the number of parts", metaPart, text)
	}
	if k != i+1 || count != n || !total && i == n-1 { // the last part states how many there are
		return fmt.Errorf("it is part %s, and file %d of %d in the folder: parts are missing, or of another table",
			text, i+1, n)
	}
	return nil
}

func (s *partsSource) Rows() int64                     { return s.total }
func (s *partsSource) TypeOf(i int) (table.Type, bool) { return s.types[i], s.has[i] }
func (s *partsSource) Metadata() map[string]string     { return s.meta }

// Read reads part after part.
func (s *partsSource) Read(dst []any) error {
	left := make([]int64, len(dst)) // rows of each column
	done := make([]int64, len(dst))
	for i, v := range dst {
		if v != nil {
			left[i] = int64(table.Len(v) / s.cols[i].Width)
		}
	}
	for {
		k := -1 // the part of the columns that are farthest behind
		for i := range left {
			if left[i] == 0 {
				continue
			}
			for s.at[i].part < len(s.parts) && s.at[i].row == s.parts[s.at[i].part].rows {
				s.at[i] = partPlace{part: s.at[i].part + 1}
			}
			if k < 0 || s.at[i].part < k {
				k = s.at[i].part
			}
		}
		switch {
		case k < 0:
			return nil
		case k == len(s.parts):
			return errors.New("dataset: read beyond the last part")
		}
		p := &s.parts[k]
		if err := p.ready(s.open); err != nil {
			return err
		}
		clear(s.sub)
		for i, v := range dst {
			if left[i] == 0 || s.at[i].part != k {
				continue
			}
			n := min(left[i], p.rows-s.at[i].row)
			w := int64(s.cols[i].Width)
			s.sub[i] = table.Slice(v, int(w*done[i]), int(w*(done[i]+n)))
			s.at[i].row += n
			left[i], done[i] = left[i]-n, done[i]+n
		}
		if err := p.src.Read(s.sub); err != nil {
			return err
		}
		if err := s.closeRead(k); err != nil {
			return err
		}
	}
}

// ready opens a part.
func (p *tablePart) ready(open func(path string) (table.Source, error)) error {
	if p.src != nil {
		return nil
	}
	src, err := open(p.path)
	if err != nil {
		return err
	}
	p.src = src
	if src.Rows() != p.rows {
		return fmt.Errorf("dataset: %s: the file has changed while the folder was read", p.path)
	}
	return nil
}

// Skip passes over whole parts without opening them. All columns have to be at the same row.
func (s *partsSource) Skip(rows int64) error {
	at := s.at[max(slices.Index(s.has, true), 0)]
	for rows > 0 && at.part < len(s.parts) {
		p := &s.parts[at.part]
		if at.row == p.rows {
			at = partPlace{part: at.part + 1}
			continue
		}
		n := min(rows, p.rows-at.row)
		if n < p.rows || p.src != nil { // else it is passed whole
			if err := p.ready(s.open); err != nil {
				return err
			}
			if err := p.src.Skip(n); err != nil {
				return err
			}
		}
		rows, at.row = rows-n, at.row+n
		for i := range s.at {
			s.at[i] = at
		}
		if at.row < p.rows {
			return nil
		}
		if p.src != nil {
			if err := s.closeRead(at.part); err != nil {
				return err
			}
		}
		at = partPlace{part: at.part + 1}
	}
	for i := range s.at {
		s.at[i] = at
	}
	return nil
}

// closeRead closes part k if every column that a reader has begun has passed it.
func (s *partsSource) closeRead(k int) error {
	for i, at := range s.at {
		if s.has[i] && (at.part < k || at.part == k && at.row < s.parts[k].rows) {
			return nil
		}
	}
	src := s.parts[k].src
	s.parts[k].src = nil
	return src.Close()
}

// Close closes the files that are open.
func (s *partsSource) Close() error {
	var errs []error
	for i := range s.parts {
		if p := &s.parts[i]; p.src != nil {
			errs = append(errs, p.src.Close())
			p.src = nil
		}
	}
	return errors.Join(errs...)
}

// partRows is the number of rows of a part, 16 row groups: of results some 100 MB.
const partRows = 16 * parquet.RowGroup

// partsBehind is the number of parts that are completed, which takes a wait for the disk, while the next one takes
// rows.
const partsBehind = 4

// partsSink writes a table as a folder of Parquet files. The folder has a temporary name until all of them are
// complete: under its own name it appears with all parts.
type partsSink struct {
	fs          output.FS
	temp, final string
	lock        io.Closer // of the temporary folder
	cols        []table.Column
	extra       *Extra
	n, per      int64 // rows of the table, or UnknownRows, and of a part

	text    [][2]string
	workers int
	open    table.Sink // takes the next rows, nil between parts
	left    int64      // rows that it still takes
	begun   int        // parts
	next    int64      // row of the table

	behind sync.WaitGroup
	slots  chan struct{}
	mu     sync.Mutex
	err    error // the first of a part

	whole, done bool
}

// createOutput creates a table of n rows of the given columns: a file, or a folder of parts, see [IsFolder].
// n may be [UnknownRows] but for a file of [formatNPZ].
func createOutput(fs output.FS, path string, cols []table.Column, n int64, extra *Extra) (table.Sink, error) {
	if !IsFolder(path) {
		return createTableWith(fs, path, cols, max(n, 0), extra)
	}
	return createParts(fs, path, cols, n, partRows, extra)
}

// outputFormat is the format of results at a path.
func outputFormat(path string) (format, error) {
	if IsFolder(path) {
		return formatParquet, nil
	}
	return formatOf(path)
}

func createParts(fs output.FS, path string, cols []table.Column, n, per int64, extra *Extra) (*partsSink, error) {
	final, err := folderPlace(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	if err := checkDisk(final, cols, max(n, 0), formatParquet); err != nil {
		return nil, err
	}
	output.RemoveStale(final)
	s := &partsSink{fs: fs, temp: output.TempPath(final), final: final, cols: cols, extra: extra, n: n, per: per,
		slots: make(chan struct{}, partsBehind)}
	if s.lock, err = fs.Mkdir(s.temp); err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	return s, nil
}

// folderPlace is the path at which a folder of parts will be: it follows links, since an empty folder is replaced.
func folderPlace(path string) (string, error) {
	place := filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(place); err == nil {
		place = real
	}
	place, err := filepath.Abs(place)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(place)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(place); err == nil { // which no folder can replace
			return "", errors.New("it is a link to nothing")
		}
		return place, nil
	case err != nil:
		return "", err
	case len(entries) > 0:
		return "", errors.New("the folder is not empty; name another one, or remove what it has")
	}
	return place, nil
}

func (s *partsSink) Describe(key, value string) {
	if s.begun > 0 {
		s.fail(fmt.Errorf("metadata %s: described after rows", key))
	}
	s.text = append(s.text, [2]string{key, value})
}

func (s *partsSink) SetWorkers(n int) {
	s.workers = n
	if s.open != nil {
		s.open.SetWorkers(n)
	}
}

// ofParts says which part the open one is, and of how many: one at least, for the columns. Where the number of rows is
// not known, the last part says it.
func (s *partsSink) ofParts(last bool) string {
	switch {
	case s.n >= 0:
		return fmt.Sprintf("%d/%d", s.begun, max(1, (s.n+s.per-1)/s.per))
	case last:
		return fmt.Sprintf("%d/%d", s.begun, s.begun)
	}
	return fmt.Sprint(s.begun)
}

// begin creates the next part.
func (s *partsSink) begin() error {
	path := filepath.Join(s.temp, fmt.Sprintf("part-%05d.parquet", s.begun))
	if s.left = s.per; s.n >= 0 {
		s.left = min(s.per, s.n-s.next)
	}
	open, err := createTableWith(s.fs, path, s.cols, s.left, s.extra)
	if err != nil {
		return err
	}
	s.open = open
	s.begun++
	open.SetWorkers(s.workers)
	for _, kv := range s.text {
		open.Describe(kv[0], kv[1])
	}
	return nil
}

func (s *partsSink) Write(vals []any, rows int) error {
	part := make([]any, len(vals))
	for at := 0; at < rows; {
		if err := s.failed(); err != nil {
			return err
		}
		if s.open != nil && s.left == 0 {
			s.leave(false)
		}
		if s.open == nil {
			if err := s.begin(); err != nil {
				return err
			}
		}
		n := int(min(int64(rows-at), s.left))
		for i, c := range s.cols {
			part[i] = table.Slice(vals[i], at*c.Width, (at+n)*c.Width)
		}
		if err := s.open.Write(part, n); err != nil {
			return err
		}
		at, s.left, s.next = at+n, s.left-int64(n), s.next+int64(n)
	}
	return nil
}

// leave has the open part completed while the next one, if there is one, is written.
func (s *partsSink) leave(last bool) {
	s.open.Describe(metaPart, s.ofParts(last))
	p := s.open
	s.open = nil
	s.slots <- struct{}{}
	s.behind.Go(func() {
		defer func() { <-s.slots }()
		defer meter.Worker().End()
		commit := func() (err error) {
			defer table.Caught(&err)
			return p.Commit()
		}
		if err := commit(); err != nil {
			s.fail(err)
		}
	})
}

// fail keeps the first error.
func (s *partsSink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *partsSink) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Complete completes all parts. Their folder keeps its temporary name.
func (s *partsSink) Complete() (path string, err error) {
	switch {
	case s.done:
		return "", fmt.Errorf("dataset: %s: %w", s.final, output.ErrDone)
	case s.whole:
		return s.temp, nil
	case s.begun == 0:
		err = s.begin()
	}
	if err == nil && s.open != nil {
		s.leave(true)
	}
	s.behind.Wait()
	if err == nil {
		err = s.failed()
	}
	if err != nil {
		s.Abort()
		return "", fmt.Errorf("dataset: cannot write %s: %w", s.final, err)
	}
	s.whole = true
	return s.temp, nil
}

func (s *partsSink) Commit() error {
	if _, err := s.Complete(); err != nil {
		return err
	}
	if err := s.fs.Rename(s.temp, s.final); err != nil {
		s.Abort()
		return fmt.Errorf("dataset: cannot write %s: %w", s.final, err)
	}
	s.done = true
	_ = s.lock.Close()
	return nil
}

func (s *partsSink) Abort() {
	if s.done {
		return
	}
	s.done = true
	s.behind.Wait()
	if s.open != nil {
		s.open.Abort()
	}
	_ = s.fs.RemoveAll(s.temp)
	_ = s.lock.Close()
}

// CheckTable is output.Check of results, which may be a folder of parts.
func CheckTable(path string) error {
	if !IsFolder(path) {
		return output.Check(path)
	}
	s, err := createParts(output.Disk{}, path, nil, 0, partRows, nil)
	if err == nil {
		s.Abort()
	}
	return err
}
