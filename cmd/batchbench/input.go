package main

import (
	"errors"
	"fmt"
	"io"

	"clearance/batch"
	"clearance/dataset"
)

// inputFlags name the input files.
type inputFlags struct {
	shapes string
	pairs  string // or worlds
	worlds string
}

// check returns an error if a file is missing from the command line or redundant.
func (f *inputFlags) check() error {
	switch {
	case f.pairs == "" && f.worlds == "":
		return needFlags("shapes", f.shapes, "pairs", f.pairs)
	case f.pairs != "" && f.worlds != "" && f.pairs != allPairs:
		return errors.New("--pairs and --worlds are two forms of the same input; give one of them")
	}
	return needFlags("shapes", f.shapes)
}

// files lists the files of the question; those of meshes, which the shapes name, only where a report is written, since
// results have other extensions.
func (f *inputFlags) files(report string) []namedFile {
	pairs := f.pairs
	if f.worlds != "" {
		pairs = "" // all
	}
	list := []namedFile{{"shapes", f.shapes}, {"pairs", pairs}, {"worlds", f.worlds}}
	if report != "" && report != "-" {
		for _, mesh := range dataset.MeshFiles(f.shapes) {
			list = append(list, namedFile{"shapes", mesh})
		}
	}
	return list
}

// path is the path of the file of the rows.
func (f *inputFlags) path() string {
	if f.worlds != "" {
		return f.worlds
	}
	return f.pairs
}

// pairStream yields pairs in order, for any form of input.
type pairStream interface {
	Len() int // number of pairs
	Next(dst *batch.Pairs) (int, error)
	Close() error
}

// open opens the rows.
func (f *inputFlags) open() (pairStream, error) {
	if f.worlds != "" {
		w, err := dataset.ReadWorlds(f.worlds)
		if err != nil {
			return nil, err
		}
		return &worldStream{worlds: w}, nil
	}
	r, err := dataset.OpenPairs(f.pairs)
	if err != nil {
		return nil, err
	}
	if r.Len() > maxRows {
		r.Close()
		return nil, fmt.Errorf("%s declares %d pairs, more than %d", f.pairs, r.Len(), int64(maxRows))
	}
	return fileStream{r}, nil
}

// maxRows is the largest number of rows that fits an int.
const maxRows = int64(^uint(0) >> 1)

// fileStream is a file of pairs.
type fileStream struct{ *dataset.PairReader }

func (s fileStream) Len() int { return int(s.PairReader.Len()) }

// worldStream expands the rows of a rollout, a chunk at a time.
type worldStream struct {
	worlds *batch.Worlds
	next   int
	row    batch.Row
}

func (s *worldStream) Len() int     { return s.worlds.Len() }
func (s *worldStream) Close() error { return nil }

func (s *worldStream) Next(dst *batch.Pairs) (int, error) {
	n := min(dst.Len(), s.Len()-s.next)
	if n == 0 && dst.Len() > 0 {
		return 0, io.EOF
	}
	for i := range n {
		s.worlds.Row(s.next+i, &s.row)
		dst.SetRow(i, &s.row)
	}
	s.next += n
	return n, nil
}
