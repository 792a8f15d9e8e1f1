package mesh

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"clearance/geom/hull"
	"clearance/internal/poll"
)

// ballFiles are a mesh of a sphere by rings of corners, convex, as OBJ, ASCII and binary STL, and PLY.
func ballFiles(rings int) map[string][]byte {
	type vec = [3]float64
	at := func(i, j int) vec {
		a, b := math.Pi*float64(i)/float64(rings), 2*math.Pi*float64(j%rings)/float64(rings)
		if i == 0 || i == rings {
			b = 0
		}
		return vec{math.Sin(a) * math.Cos(b), math.Sin(a) * math.Sin(b), math.Cos(a)}
	}
	var triangles [][3]vec
	for i := range rings {
		for j := range rings {
			p, q, r, s := at(i, j), at(i, j+1), at(i+1, j+1), at(i+1, j)
			if i > 0 {
				triangles = append(triangles, [3]vec{p, r, q})
			}
			if i < rings-1 {
				triangles = append(triangles, [3]vec{p, s, r})
			}
		}
	}
	var obj, ascii, stl, ply, text bytes.Buffer
	stl.Write(make([]byte, 80))
	_ = binary.Write(&stl, binary.LittleEndian, uint32(len(triangles)))
	fmt.Fprintf(&text, "element vertex %d\nproperty float x\nproperty float y\nproperty float z\nelement face %d\n"+
		"property list uchar int vertex_indices\nend_header\n", 3*len(triangles), len(triangles))
	fmt.Fprintf(&ply, "ply\nformat binary_little_endian 1.0\n%s", text.String())
	ascii.WriteString("solid s\n")
	var faces bytes.Buffer
	for k, t := range triangles {
		_ = binary.Write(&stl, binary.LittleEndian, [3]float32{})
		ascii.WriteString("facet normal 0 0 0\nouter loop\n")
		for _, v := range t {
			fmt.Fprintf(&obj, "v %g %g %g\n", float32(v[0]), float32(v[1]), float32(v[2]))
			fmt.Fprintf(&ascii, "vertex %g %g %g\n", float32(v[0]), float32(v[1]), float32(v[2]))
			for _, b := range []io.Writer{&stl, &ply} {
				_ = binary.Write(b, binary.LittleEndian, [3]float32{float32(v[0]), float32(v[1]), float32(v[2])})
			}
		}
		stl.Write(make([]byte, 2))
		ascii.WriteString("endloop\nendfacet\n")
		fmt.Fprintf(&obj, "f %d %d %d\n", 3*k+1, 3*k+2, 3*k+3)
		faces.WriteByte(3)
		_ = binary.Write(&faces, binary.LittleEndian, [3]int32{int32(3 * k), int32(3*k + 1), int32(3*k + 2)})
	}
	ascii.WriteString("endsolid\n")
	ply.Write(faces.Bytes())
	return map[string][]byte{"s.obj": obj.Bytes(), "a.stl": ascii.Bytes(), "b.stl": stl.Bytes(), "s.ply": ply.Bytes()}
}

// ending is a file whose end ends a context.
type ending struct {
	io.Reader
	cancel context.CancelFunc
}

func (e ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if err == io.EOF {
		e.cancel()
	}
	return n, err
}

// late is a context that ends after its channel was asked for once.
type late struct {
	context.Context
	asked int
}

func (l *late) Done() <-chan struct{} {
	if l.asked++; l.asked == 1 {
		return nil
	}
	return l.Context.Done()
}

// TestInterrupted ends reading, the hull, the check and the components with the context, at each of their stages, and
// has the answers of the calls without one where it does not end.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	readers := map[string]func(*source) ([]Part, error){".obj": readOBJ, ".stl": readSTL, ".ply": readPLY}
	for name, data := range ballFiles(40) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if parts, err := ReadContext(ended, path); parts != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: read as %d parts after the end of the context: %v", name, len(parts), err)
		}
		whole, err := Read(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Parsing begins when the bytes are there: it does not go on to the last of them.
		ctx, cancel := context.WithCancel(context.Background())
		s := &source{Reader: ending{bytes.NewReader(data), cancel}, name: path, poll: poll.Of(ctx)}
		if parts, err := readers[filepath.Ext(name)](s); err == nil && len(parts) > 0 &&
			len(parts[0].Faces) == len(whole[0].Faces) {
			t.Errorf("%s: parsed to its end after that of the context", name)
		}
		if _, err := hull.BuildContext(ended, whole[0].Vertices); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a hull after the end of the context: %v", name, err)
		}
		if _, err := ConvexPartsContext(ended, whole, FormatTolerance); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: parts after the end of the context: %v", name, err)
		}
		if _, err := whole[0].dent(&late{Context: ended}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: faces are looked at after the end of the context: %v", name, err)
		}
		if c := whole[0].components(ended); c != nil {
			t.Errorf("%s: %d components after the end of the context", name, len(c))
		}
		live, stop := context.WithCancel(context.Background())
		parts, err := ConvexPartsContext(live, whole, FormatTolerance)
		stop()
		if err != nil || len(parts) != 1 || parts[0].Dent > 1e-6 {
			t.Fatalf("%s: %d parts, %v", name, len(parts), err)
		}
		h, err := hull.Build(whole[0].Vertices)
		if err != nil || parts[0].Hull == nil || len(parts[0].Hull.Facets) != len(h.Facets) {
			t.Errorf("%s: the hull of the part is not that of its vertices: %v", name, err)
		}
	}
}
