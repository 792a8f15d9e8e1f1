package batch

import (
	"fmt"
	"reflect"
	"strings"

	"clearance/geom"
)

//go:generate go run ../cmd/genlayout -glsl ../shaders/layout.glsl -c ../cpu/layout.h

// Vec4 is four float32 aligned to 16 bytes in a storage buffer: vec4 in GLSL,
// float[4] in C.
type Vec4 [4]float32

// ParamCount is the number of parameters of a shape record.
const ParamCount = 8

// ShapeRecord is one shape of a packed library.
//
// Numbers are rounded to the nearest float32. A back end that solves on them
// accounts for that: each is off by up to 2⁻²⁴ of its magnitude.
type ShapeRecord struct {
	Params [ParamCount]float32 // see Params; unused ones are 0
	Ball   Vec4                // centre x, y, z and bounding radius (+Inf for a half-space)

	Kind         uint32  // code of geom.Kind
	VertexOffset uint32  // first vertex, of kinds that have vertices
	VertexCount  uint32  // 0 for the others
	Radius       float32 // of the ball summed to the core, margin included
}

// PairRecord is one pair with its relative pose, formed in float64.
type PairRecord struct {
	Rotation       Vec4       // of B in the frame of A: w, x, y, z
	Translation    [3]float32 // origin of B in the frame of A, rounded to nearest
	ShapeA         uint32     // index of a shape record
	TranslationLow [3]float32 // what rounding the translation left over
	ShapeB         uint32
}

// AnswerRecord is the answer of one pair in the frame of A.
type AnswerRecord struct {
	Normal     [3]float32 // unit, from A to B
	Distance   float32    // signed
	WitnessA   [3]float32
	Gap        float32 // what moving the answer to the world and to columns adds is not in it
	WitnessB   [3]float32
	Status     uint32
	Iterations uint32
}

// Record is a record of the layout with its name in generated code.
type Record struct {
	Name string
	Type reflect.Type
	Doc  string
}

// Records returns the records that Go, GLSL and C share. Their layout is that of
// std430 and of C at once; tests hold both.
func Records() []Record {
	return []Record{
		{"ShapeRecord", reflect.TypeFor[ShapeRecord](), "one shape of a packed library"},
		{"PairRecord", reflect.TypeFor[PairRecord](), "one pair with its relative pose"},
		{"AnswerRecord", reflect.TypeFor[AnswerRecord](), "the answer of one pair in the frame of A"},
	}
}

// Constant is a code or limit of the layout with its name in generated code.
type Constant struct {
	Name  string
	Value uint32
}

// ConstantGroup is a list of constants that belong together.
type ConstantGroup struct {
	Doc       string
	Constants []Constant
}

// Constants returns the codes and limits that Go, GLSL and C share.
func Constants() []ConstantGroup {
	return []ConstantGroup{
		{"Shape kinds.", codes("KIND", uint8(geom.KindCount), func(c uint8) string { return geom.Kind(c).String() })},
		{"Index of each parameter of a shape record.", paramConstants()},
		{"Statuses of an answer.", codes("STATUS", uint8(StatusCount), func(c uint8) string { return Status(c).String() })},
		{"Queries.", codes("QUERY", uint8(QueryCount), func(c uint8) string { return Query(c).String() })},
		{"Limits.", []Constant{
			{"PARAM_COUNT", ParamCount},
			{"MAX_SHAPES", MaxShapes},
			{"MAX_VERTICES", MaxVertices},
			{"MAX_TOTAL_VERTICES", MaxTotalVertices},
			{"MAX_ITERATIONS", MaxIterations},
			{"MAX_LENGTH", MaxLength},
			{"BITS_PER_WORD", BitsPerWord},
		}},
	}
}

func codes(prefix string, count uint8, name func(uint8) string) (out []Constant) {
	for c := range count {
		out = append(out, Constant{prefix + "_" + strings.ToUpper(name(c)), uint32(c)})
	}
	return append(out, Constant{prefix + "_COUNT", uint32(count)})
}

// paramNames gives the parameters of each kind in the order in which a shape
// record holds them; kinds that are not there have none, or have vertices.
var paramNames = [geom.KindCount][]string{
	geom.KindSphere:       {"radius"},
	geom.KindCapsule:      {"radius", "half_length"},
	geom.KindCylinder:     {"radius", "half_length"},
	geom.KindCone:         {"radius", "half_length"},
	geom.KindFrustum:      {"radius_bottom", "radius_top", "half_length"},
	geom.KindBox:          {"half_extents_x", "half_extents_y", "half_extents_z"},
	geom.KindEllipsoid:    {"semi_axes_x", "semi_axes_y", "semi_axes_z"},
	geom.KindSuperquadric: {"semi_axes_x", "semi_axes_y", "semi_axes_z", "exponents_0", "exponents_1"},
}

// Params returns the names of a kind's parameters, in the order in which a
// [ShapeRecord] holds them.
func Params(k geom.Kind) []string {
	if k >= geom.KindCount {
		return nil
	}
	return paramNames[k]
}

func paramConstants() (out []Constant) {
	for k := range geom.KindCount {
		for i, p := range paramNames[k] {
			out = append(out, Constant{strings.ToUpper(fmt.Sprintf("%s_%s", k, p)), uint32(i)})
		}
	}
	return out
}
