package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// shapeRecord is one shape as it is written; nil fields are left out.
type shapeRecord struct {
	Kind         string       `json:"kind"`
	Name         string       `json:"name,omitempty"`
	Radius       *float64     `json:"radius,omitempty"`
	RadiusBottom *float64     `json:"radius_bottom,omitempty"`
	RadiusTop    *float64     `json:"radius_top,omitempty"`
	HalfLength   *float64     `json:"half_length,omitempty"`
	HalfExtents  *[3]float64  `json:"half_extents,omitempty"`
	SemiAxes     *[3]float64  `json:"semi_axes,omitempty"`
	Exponents    *[2]float64  `json:"exponents,omitempty"`
	Vertices     [][3]float64 `json:"vertices,omitempty"`
	Profile      [][2]float64 `json:"profile,omitempty"`
	Sharpness    *float64     `json:"sharpness,omitempty"`
	Flatness     *float64     `json:"flatness,omitempty"`
	Center       *[3]float64  `json:"center,omitempty"`
	Margin       *float64     `json:"margin,omitempty"`
}

// WriteShapes writes a shape library that ReadShapes reads back bit for bit.
// names may be nil. Hulls are written with all their points, whatever file they
// came from.
func WriteShapes(path string, shapes []geom.Shape, names []string) error {
	return writeShapes(osFS{}, path, shapes, names)
}

func writeShapes(fs fileSystem, path string, shapes []geom.Shape, names []string) error {
	if names != nil && len(names) != len(shapes) {
		return fmt.Errorf("dataset: %s: %d names for %d shapes", path, len(names), len(shapes))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\": %d, \"shapes\": [", shapesVersion)
	for i, s := range shapes {
		rec, err := recordOf(s)
		if err == nil && names != nil {
			rec.Name = names[i]
		}
		var line []byte
		if err == nil {
			line, err = json.Marshal(rec)
		}
		if err != nil {
			return fmt.Errorf("dataset: %s: shape %d: %w", path, i, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return writeAtomic(fs, path, b.Bytes())
}

func recordOf(s geom.Shape) (*shapeRecord, error) {
	if s == nil {
		return nil, fmt.Errorf("shape is nil")
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	rec := &shapeRecord{Kind: s.Kind().String()}
	margin := 0.0
	for {
		r, ok := s.(geom.Rounded)
		if !ok {
			break
		}
		margin += r.Margin
		s = r.Shape
	}
	if margin != 0 {
		rec.Margin = &margin
	}
	switch s := s.(type) {
	case geom.Sphere:
		rec.Radius = &s.R
	case geom.Capsule:
		rec.Radius, rec.HalfLength = &s.R, &s.HalfLength
	case geom.Cylinder:
		rec.Radius, rec.HalfLength = &s.R, &s.HalfLength
	case geom.Cone:
		rec.Radius, rec.HalfLength = &s.R, &s.HalfLength
	case geom.Frustum:
		rec.RadiusBottom, rec.RadiusTop, rec.HalfLength = &s.RBottom, &s.RTop, &s.HalfLength
	case geom.Box:
		rec.HalfExtents = triple(s.HalfExtents)
	case geom.Ellipsoid:
		rec.SemiAxes = triple(s.SemiAxes)
	case geom.Superquadric:
		rec.SemiAxes, rec.Exponents = triple(s.SemiAxes), &[2]float64{s.Alpha1, s.Alpha2}
	case *geom.SmoothHull:
		for _, p := range s.Vertices() {
			rec.Vertices = append(rec.Vertices, *triple(p))
		}
		beta := s.Sharpness()
		rec.Sharpness, rec.Center = &beta, triple(s.Center())
	case *geom.SmoothRevolution:
		for _, p := range s.Profile() {
			rec.Profile = append(rec.Profile, [2]float64{p.X, p.Y})
		}
		beta, gamma := s.Sharpness(), s.Flatness()
		rec.Sharpness, rec.Flatness = &beta, &gamma
	case *geom.Convex:
		for _, p := range s.Points() {
			rec.Vertices = append(rec.Vertices, *triple(p))
		}
	case geom.Halfspace:
	default:
		return nil, fmt.Errorf("%T has no form in a file", s)
	}
	return rec, nil
}

func triple(v r3.Vec) *[3]float64 { return &[3]float64{v.X, v.Y, v.Z} }
