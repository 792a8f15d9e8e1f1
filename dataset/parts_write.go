package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"clearance/internal/meter"
)

// partRows is the number of rows of a part, 16 row groups: of results some 100 MB.
const partRows = 16 * rowGroup

// partsBehind is the number of parts that are completed, which takes a wait for the disk, while the next one takes
// rows.
const partsBehind = 4

// partsSink writes a table as a folder of Parquet files. The folder has a temporary name until all of them are
// complete: under its own name it appears with all parts.
type partsSink struct {
	fs          fileSystem
	temp, final string
	lock        io.Closer // of the temporary folder
	cols        []column
	extra       *Extra
	n, per      int64 // rows of the table, or UnknownRows, and of a part

	text    [][2]string
	workers int
	open    sink  // takes the next rows, nil between parts
	left    int64 // rows that it still takes
	begun   int   // parts
	next    int64 // row of the table

	behind sync.WaitGroup
	slots  chan struct{}
	mu     sync.Mutex
	err    error // the first of a part

	whole, done bool
}

// createOutput creates a table of n rows of the given columns: a file, or a folder of parts if the path is that of one.
// n may be [UnknownRows] but for a file of [formatNPZ].
func createOutput(fs fileSystem, path string, cols []column, n int64, extra *Extra) (sink, error) {
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

func createParts(fs fileSystem, path string, cols []column, n, per int64, extra *Extra) (*partsSink, error) {
	final, err := folderPlace(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot write %s: %w", path, err)
	}
	if err := checkDisk(final, cols, max(n, 0), formatParquet); err != nil {
		return nil, err
	}
	sweep(final)
	s := &partsSink{fs: fs, temp: tempPath(final), final: final, cols: cols, extra: extra, n: n, per: per,
		slots: make(chan struct{}, partsBehind)}
	if s.lock, err = fs.mkdir(s.temp); err != nil {
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

func (s *partsSink) describe(key, value string) {
	if s.begun > 0 {
		s.fail(fmt.Errorf("metadata %s: described after rows", key))
	}
	s.text = append(s.text, [2]string{key, value})
}

func (s *partsSink) setWorkers(n int) {
	s.workers = n
	if s.open != nil {
		s.open.setWorkers(n)
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
	open.setWorkers(s.workers)
	for _, kv := range s.text {
		open.describe(kv[0], kv[1])
	}
	return nil
}

func (s *partsSink) write(vals []any, rows int) error {
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
			part[i] = sliceOf(vals[i], at*c.width, (at+n)*c.width)
		}
		if err := s.open.write(part, n); err != nil {
			return err
		}
		at, s.left, s.next = at+n, s.left-int64(n), s.next+int64(n)
	}
	return nil
}

// leave has the open part completed while the next one, if there is one, is written.
func (s *partsSink) leave(last bool) {
	s.open.describe(metaPart, s.ofParts(last))
	p := s.open
	s.open = nil
	s.slots <- struct{}{}
	s.behind.Go(func() {
		defer func() { <-s.slots }()
		defer meter.Worker().End()
		commit := func() (err error) {
			defer caught(&err)
			return p.commit()
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

// complete completes all parts. Their folder keeps its temporary name.
func (s *partsSink) complete() (path string, err error) {
	switch {
	case s.done:
		return "", fmt.Errorf("dataset: %s: %w", s.final, errDone)
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
		s.abort()
		return "", fmt.Errorf("dataset: cannot write %s: %w", s.final, err)
	}
	s.whole = true
	return s.temp, nil
}

func (s *partsSink) commit() error {
	if _, err := s.complete(); err != nil {
		return err
	}
	if err := s.fs.rename(s.temp, s.final); err != nil {
		s.abort()
		return fmt.Errorf("dataset: cannot write %s: %w", s.final, err)
	}
	s.done = true
	_ = s.lock.Close()
	return nil
}

func (s *partsSink) abort() {
	if s.done {
		return
	}
	s.done = true
	s.behind.Wait()
	if s.open != nil {
		s.open.abort()
	}
	_ = s.fs.removeAll(s.temp)
	_ = s.lock.Close()
}
