// Package mesh reads triangle and polygon meshes: Wavefront OBJ, STL (ASCII and
// binary) and PLY (ASCII, binary little- and big-endian).
//
// It reads geometry only: vertices in the unit and frame of the file, as
// float64, and faces; normals, colours and textures are skipped. [Read] picks the
// format by the extension of the path.
//
// The readers are the project's own: no Go package was found that reads these formats
// with float64 coordinates and errors that name the line (github.com/udhos/gwob, for
// one, keeps float32).
//
// # Errors
//
// A file that cannot be read as what it claims to be gives an [*Error] that says
// where: the line of a text, the byte offset of a binary. Nothing panics, and
// nothing is allocated on the word of a header: counts are checked against the bytes
// that are there. A coordinate that is not finite, an index out of range, a wrong
// count, and a file without vertices are errors.
//
// # Layers and threads
//
// mesh imports geom/hull, for [Part.CheckConvex]. The functions keep no state; a Part
// belongs to the caller.
package mesh

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/internal/poll"
)

// MaxFileSize is the size of the largest file that is read, in bytes.
const MaxFileSize = 1 << 30

// Part is one mesh of a file.
type Part struct {
	Name     string    // of the group or solid, else of the file
	Vertices []r3.Vec  // unit and frame of the file [V]
	Faces    [][]int32 // corners of each face as indices of Vertices; nil for a point cloud

	// Rounding bounds how far the format of the file rounds a coordinate, see [Part.CheckConvex]; 0 if it is not known.
	Rounding float64
}

// Error says what is wrong with a file, and where.
type Error struct {
	File   string
	Line   int   // 1-based; 0 in a binary file and for the file as a whole
	Offset int64 // byte offset in a binary file; -1 otherwise
	Msg    string
}

func (e *Error) Error() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	case e.Offset >= 0:
		return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Msg)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Msg)
}

// Read reads the meshes of a regular file with the extension .obj, .stl or .ply, in any case.
func Read(path string) ([]Part, error) { return ReadContext(context.Background(), path) }

// ReadContext is [Read]; it ends soon after the context, with the error of that.
func ReadContext(ctx context.Context, path string) ([]Part, error) {
	parts, err := readFile(ctx, path)
	if ctx.Err() != nil {
		return nil, ctx.Err() // what was read is not the whole
	}
	return parts, err
}

func readFile(ctx context.Context, path string) ([]Part, error) {
	var read func(*source) ([]Part, error)
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".obj":
		read = readOBJ
	case ".stl":
		read = readSTL
	case ".ply":
		read = readPLY
	default:
		return nil, wholeFile(path, "unknown mesh format %q, want .obj, .stl or .ply", ext)
	}
	// Before it is opened: opening a FIFO waits for its writer.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, wholeFile(path, "not a regular file")
	}
	if err == nil && info.Size() > MaxFileSize {
		return nil, tooLarge(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err // which names the file
	}
	defer f.Close()
	return read(&source{f, path, poll.Of(ctx)})
}

// source is a file that is read, by its name in errors. Once its poll is stopped, what follows is read as if the file
// ended there.
type source struct {
	io.Reader
	name string
	poll poll.Poll
}

func (s *source) Read(b []byte) (int, error) {
	if s.poll.Stopped() {
		return 0, io.EOF
	}
	return s.Reader.Read(b)
}

// readAll returns the bytes of a file, at most MaxFileSize.
func (s *source) readAll() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(s, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	if len(data) > MaxFileSize {
		return nil, tooLarge(s.name)
	}
	return data, nil
}

func tooLarge(name string) *Error {
	return wholeFile(name, "more than %d bytes; split the mesh", MaxFileSize)
}

func wholeFile(name, format string, args ...any) *Error {
	return &Error{File: name, Offset: -1, Msg: fmt.Sprintf(format, args...)}
}

// baseName is the name of a part that the file does not name.
func baseName(name string) string {
	base := filepath.Base(name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// text walks the lines of a file and splits them into fields.
type text struct {
	name   string
	poll   *poll.Poll
	rest   []byte
	line   int // number of the current line
	fields [][]byte
	digits digits
}

// next moves to the next line that has fields and is not a comment that starts with
// the given byte (0 for no comments). Line ends may be \n, \r\n or \r. join makes a
// backslash at the end of a line continue it.
func (t *text) next(comment byte, join bool) bool {
	for len(t.rest) > 0 && !t.poll.Stopped() {
		t.fields = t.fields[:0]
		for again := true; again; {
			line := t.take()
			if again = join && bytes.HasSuffix(line, []byte{'\\'}) && len(t.rest) > 0; again {
				line = line[:len(line)-1]
			}
			if comment != 0 {
				if i := bytes.IndexByte(line, comment); i >= 0 {
					line = line[:i]
				}
			}
			t.split(line)
		}
		if len(t.fields) > 0 {
			return true
		}
	}
	return false
}

// take cuts one line off the rest, without its end.
func (t *text) take() []byte {
	t.line++
	i := bytes.IndexAny(t.rest, "\r\n")
	if i < 0 {
		line := t.rest
		t.rest = nil
		return line
	}
	line := t.rest[:i]
	if t.rest[i] == '\r' && i+1 < len(t.rest) && t.rest[i+1] == '\n' {
		i++
	}
	t.rest = t.rest[i+1:]
	return line
}

func (t *text) split(line []byte) {
	for {
		line = bytes.TrimLeft(line, " \t\v\f")
		if len(line) == 0 {
			return
		}
		i := bytes.IndexAny(line, " \t\v\f")
		if i < 0 {
			i = len(line)
		}
		t.fields = append(t.fields, line[:i])
		line = line[i:]
	}
}

// joined returns the fields from i on with single spaces between them.
func (t *text) joined(i int) string { return string(bytes.Join(t.fields[i:], []byte{' '})) }

func (t *text) errorf(format string, args ...any) *Error {
	return &Error{File: t.name, Line: t.line, Offset: -1, Msg: fmt.Sprintf(format, args...)}
}

// number parses field i as a finite number.
func (t *text) number(i int, what string) (float64, error) {
	x, err := strconv.ParseFloat(string(t.fields[i]), 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, t.errorf("%s %q is not a number", what, short(t.fields[i]))
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, t.errorf("%s %q is not finite", what, short(t.fields[i]))
	}
	t.digits.note(t.fields[i])
	return x, nil
}

// vec parses fields i, i+1, i+2 as a point.
func (t *text) vec(i int) (v r3.Vec, err error) {
	if v.X, err = t.number(i, "x"); err != nil {
		return v, err
	}
	if v.Y, err = t.number(i+1, "y"); err != nil {
		return v, err
	}
	v.Z, err = t.number(i+2, "z")
	return v, err
}

// short returns at most 40 bytes of a field for a message.
func short(field []byte) string {
	if len(field) > 40 {
		return string(field[:40]) + "…"
	}
	return string(field)
}

// usedBy returns the vertices that faces use, ascending, each once.
func usedBy(faces [][]int32) []int32 {
	var all []int32
	for _, face := range faces {
		all = append(all, face...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func anyUsed(vertices []int32, used []bool) bool {
	return slices.ContainsFunc(vertices, func(v int32) bool { return used[v] })
}

// welder collects triangles whose corners are given by value, as in STL, and joins
// corners with the same coordinates.
type welder struct {
	part   Part
	number map[r3.Vec]int32
}

func newWelder(name string) *welder {
	return &welder{part: Part{Name: name}, number: map[r3.Vec]int32{}}
}

func (w *welder) add(corners [3]r3.Vec) {
	face := make([]int32, 3)
	for i, v := range corners {
		v = r3.Vec{X: v.X + 0, Y: v.Y + 0, Z: v.Z + 0} // -0 is 0
		k, ok := w.number[v]
		if !ok {
			k = int32(len(w.part.Vertices))
			w.number[v] = k
			w.part.Vertices = append(w.part.Vertices, v)
		}
		face[i] = k
	}
	w.part.Faces = append(w.part.Faces, face)
}
