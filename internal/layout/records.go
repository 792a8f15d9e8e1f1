package layout

import "clearance/batch"

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
	Params [ParamCount]float32 // see Params; unused ones are 0. Of a hull with cells, see Packed.Cells.
	Ball   Vec4                // center x, y, z and bounding radius (+Inf for a half-space)
	Growth Vec4                // center of growth x, y, z and the radius of a ball around it in the shape

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

// ShapeRecord64 is a [ShapeRecord] in double precision, for back ends that certify
// their answers: its numbers are those of the shape, not rounded.
type ShapeRecord64 struct {
	Params   [ParamCount]float64
	Center   [3]float64
	Bounding float64 // radius of the ball around Center (+Inf for a half-space)
	Reach    float64 // radius of a ball around the origin that holds the shape (of a half-space: its margin)
	Radius   float64 // of the ball summed to the core, margin included
	Erode    float64 // of the ball by which the core can be eroded, see geom.MinCurvatureRadius

	GrowthCenter   [3]float64 // see batch.Library.GrowthCenter
	GrowthOffset   float64    // its distance from the origin of the frame
	GrowthInradius float64    // of a ball around it in the shape

	Kind         uint32
	VertexOffset uint32 // as in ShapeRecord
	VertexCount  uint32
	Unused       uint32
}

// RemainderRecord is what single precision leaves of a relative pose that was formed in sums of two floats: the rest is
// in the [PairRecord].
type RemainderRecord struct {
	Rotation         [4]float32 // low parts
	PositionRounding float32    // metres by which the translation may be off due to the positions in the world
}

// VertexRecord64 is a vertex of a shape in double precision.
type VertexRecord64 struct {
	Position [3]float64 // in the shape's own frame
}

// PoseRecord is the pose of a body in the world.
type PoseRecord struct {
	Position [3]float64
	Rotation [4]float64 // unit: w, x, y, z; zero: the pose is invalid, and so are its rows
}

// TemplateRecord is one pair of bodies that every world has. A pair list is one world
// with two bodies of its own for every pair.
type TemplateRecord struct {
	BodyA  uint32
	BodyB  uint32
	ShapeA uint32 // NoShape: the pair is invalid
	ShapeB uint32
}

// IndexRecord is one pair by indices: two poses of a chunk, two shapes of a library,
// and the row of the answer. Shaders make it from the template of the row.
type IndexRecord struct {
	PoseA  uint32
	PoseB  uint32
	ShapeA uint32 // NoShape: the row is invalid
	ShapeB uint32
	Row    uint32 // of the chunk
}

// SearchRecord is the result of the search in single precision: the directions, in the frame of A, whose support points
// are the vertices of the final simplex, or with CornersGiven the numbers of its corners of A and of B. Of up to three
// vertices, the fourth vector is their weights in the point nearest to the origin. Nothing in it is trusted.
//
// Of a growth distance it holds the triangle that the ray from the center of A to that of B crosses, or nothing but, in
// the fourth place, the normal of the best bound of the ray. BallVertex marks vertices that are not support points.
type SearchRecord struct {
	Directions [12]float32 // four vectors, Count in use
	Count      uint32      // and CornersGiven
	Iterations uint32      // evaluations of the support function so far
	State      uint32      // SearchConverged and so on
	Solver     uint32      // code of a device solver, see Solvers: the solver of the search
}

// SearchStateRecord is a search in single precision between the phases of gjk.comp: what its SearchRecord lacks to
// continue with the same bits. Of a search by the trust region method it holds the slot and the radius alone.
type SearchStateRecord struct {
	Vertices  [9]float32 // of the simplex, scaled as in gjk.comp, Count of the SearchRecord in use
	Point     [3]float32 // the point of the simplex nearest to the origin
	Slot      uint32     // of the row
	Separated uint32     // not 0: a separating plane is known
	Region    float32    // radius of the trust region
}

// DepthRecord is a row that certify.comp leaves to depth.glsl, as its cores could not be separated: the final simplex,
// in the frame of A. For a row that trust_region.comp leaves, it is the support point at a local minimum, see
// DepthStationary.
type DepthRecord struct {
	Vertices   [12]float64 // of A - B, Count in use
	Points     [12]float64 // their points of A
	Weights    [4]float64  // of the point nearest to the origin
	Slot       uint32      // of the row
	Count      uint32
	Iterations uint32 // evaluations of the support function so far
	Declined   uint32 // the reason if the row is declined

	// The result of epa_float32.comp.
	// of its nearest faces: corner of A | corner of B << 16, or SimplexCorners | vertex of the simplex
	Corners      [3 * Float32Faces]uint32
	LeastOffset  float32 // the least offset of these faces, in metres
	Rounding     float32 // bound of its rounding error
	OtherOffsets float32 // lower bound of the offsets of all other faces, in metres
	Faces        uint32  // 0: there is no result
}

// States of a search.
const (
	SearchConverged  = iota // as far as single precision can tell
	SearchInside            // the cores seem to intersect
	SearchStalled           // no step made progress
	SearchLimited           // the limit on steps was reached
	SearchStart             // not begun: direction 0 is the initial direction
	SearchStationary        // the support function is stationary along minus direction 0, from A to B
)

// QueryRecord holds what is the same for all rows of a submission.
type QueryRecord struct {
	Rows          uint32
	Query         uint32 // code of batch.Query
	Flags         uint32 // FlagCutOff and so on
	MaxIterations uint32 // limit on evaluations of the support function
	LoopLimit     uint32 // limit on the loop passes of one invocation

	Columns uint32 // codes of those of Columns that are in the output

	Tolerance float32   // gap to aim at, relative to the size of the pair
	CutOff    float32   // metres
	Exact     [6]uint32 // Tolerance, CutOff and the tolerance of depths of curved shapes as float64, low word first

	// How rows are made: row r is template (First + r) mod Templates of world
	// (First + r) / Templates, whose bodies begin at pose world·Bodies.
	First     uint32
	Templates uint32
	Bodies    uint32

	FirstDepth uint32 // index of the DepthRecord of the first invocation of a dispatch

	// The DepthRecords that a dispatch of depth.glsl takes. Each dispatch has the ListWords words of a list, one after
	// the other from ListDepths on, with the number of work groups; those of the first one have the number of rows.
	DepthRows uint32
}

// ReductionRecord is what reduce.comp is told. Its input is the bounds: the first set of each portion and the end of
// the last one, then the first row of each set and the end of the last one. Its output is ReducedHeader words, then
// PortionWords words for each portion, one more with FlagIterations, then entries.
type ReductionRecord struct {
	Portions uint32
	Room     uint32 // entries that there is room for
	Entry    uint32 // words of an entry: the row, its status, and its other columns in their order
	Flags    uint32 // FlagDouble, FlagPacked, FlagIterations and FlagTouchAtOne
	Rows     uint32
	Columns  uint32 // as in a QueryRecord
}

// The output of reduce.comp. The header counts the entries of all portions, then what is known of omitted rows: the
// sum of iterations, the low word first; rows by status; rows by mark, Refined, ByDepth and FromFloat32; rows by
// solver. The words of a portion are the index of its first entry, the number of its entries | contacts << 16, and with
// FlagIterations the sum of the iterations of its omitted rows.
const (
	ReducedIterations = 1
	ReducedStatuses   = 3
	ReducedMarks      = 6
	ReducedSolvers    = 9
	ReducedHeader     = ReducedSolvers + SolverMask + 1

	PortionWords = 2
	PortionRows  = 512 // at most; 16 bits hold their number
)

// Lists of rows that one shader makes for a later one. Each has ListWords words in the buffer of counts: the numbers of
// work groups that its rows take, as an indirect dispatch reads them, and the number of its rows in word ListRows.
const (
	ListContinue   = iota // slots that certify.comp continues
	ListSearch            // SearchStateRecords: searches in single precision that gjk.comp continues
	ListStationary        // slots that trust_region.comp refines
	ListUnproved          // slots that two floats do not prove, for prove.comp
	ListAxes              // slots of pairs of boxes, which box_axes.comp takes
	ListDepths            // DepthRecords: rows that need a depth; it is the last, see DepthRows
	ListCount

	ListWords = 4
	ListRows  = 3
)

// GroupSize is the number of invocations of a work group: two subgroups of most GPUs, one of those with the largest.
const GroupSize = 64

// Flags of a QueryRecord.
const (
	FlagCutOff      = 1 << iota // there is a cut-off
	FlagDouble                  // columns of numbers are float64
	FlagWarm                    // there are directions to start with
	FlagOrder                   // rows are worked on in the order of a list
	FlagPacked                  // the status column holds PackedBits a row, see PackedStatus
	FlagStatusAlone             // rows end with their status, see batch.Options.StatusAlone

	FlagIterations // of a ReductionRecord: iterations are summed by portion
	FlagTouchAtOne // of a ReductionRecord: shapes touch at the value 1, else at 0
)

// Why a device declined a row: bits 8 to 15 of its status word, for statistics.
const (
	DeclinedKind         = 1 + iota // no shader for a kind of shape
	DeclinedIntersecting            // the cores intersect, and the depth was not proved
	DeclinedGap                     // the bounds stayed too wide
	DeclinedLoops                   // the support functions exceed the limit on loop passes
	DeclinedPrecision               // sums of two floats did not prove it, and the device has no double precision
	DeclinedCount
)

// Marks in records.
const (
	NoShape  = 0xffffffff // in TemplateRecord and IndexRecord
	Declined = 0xff       // status of a row that a device leaves to another back end
	Refined  = 1          // bit 8 of the status word of an answered row for which double precision continued the search
	ByDepth  = 2          // bit 9 of the status word of a row that depth.glsl answered, and not as Separated

	FromFloat32 = 4 // bit 10 of the status word of a row whose depth epa_float32.comp found and depth.glsl proved

	Float32Faces   = 8          // the largest number of faces that epa_float32.comp hands on
	SimplexCorners = 0xffff0000 // in DepthRecord; MaxVertices is less

	// Faces of a DepthRecord of trust_region.comp: vertex 1 is the direction of a local minimum
	DepthStationary = 0xffffffff // corners[0] are the steps after which depth_certificate.comp gave up
	DepthAnswered   = 0xfffffffe // it proved that the minimum is global

	// In the count of a SearchRecord of a growth distance: vertex k is the point of the inscribed ball of D along
	// direction k, not a support point, if bit BallVertex + k is set.
	BallVertex = 2

	// In the count of a SearchRecord of a distance: the vectors are numbers of corners, not directions.
	CornersGiven = 1 << 8

	SolverShift = 12  // bits 12 to 15 of the status word of an answered row: its solver, an index into Solvers
	SolverMask  = 0xf // of these bits, once shifted
)

// A packed status takes PackedBits a row, eight rows a word, the first in the lowest bits:
// Separated, Touching or Penetrating, with PackedRefined added where the status word would
// say Refined, or PackedByDepth where Touching or Penetrating is ByDepth; PackedInvalid; or
// PackedDeclined with the reason added, or none for DeclinedPrecision. All bits set: no shader answered.
const (
	PackedBits     = 4
	PackedInvalid  = 3
	PackedRefined  = 4
	PackedDeclined = 8
	PackedByDepth  = 12
)

// Solvers are the solvers that shaders can name in a status word, which has four bits for
// them: the code on the device is the index in this list, so that codes of [batch.Solver], which
// have eight bits in files, may grow.
var Solvers = [...]batch.Solver{
	batch.SolverNone, batch.SolverGJK, batch.SolverNesterov, batch.SolverPolyak, batch.SolverRTR,
	batch.SolverClosedForm, batch.SolverAxes, batch.SolverEPA, batch.SolverGrowth,
}

// A list that the mask does not hold does not compile.
var _ [SolverMask + 1 - len(Solvers)]struct{}

// SolverOf is the solver of the status word of an answered row; ok is false for a code that no shader writes.
func SolverOf(word uint32) (s batch.Solver, ok bool) {
	if code := word >> SolverShift & SolverMask; int(code) < len(Solvers) {
		return Solvers[code], true
	}
	return batch.SolverNone, false
}

// UnpackStatus turns a packed status into the status word that it stands for.
func UnpackStatus(code uint32) uint32 {
	switch {
	case code == PackedByDepth|uint32(batch.Touching) || code == PackedByDepth|uint32(batch.Penetrating):
		return code - PackedByDepth | (Refined|ByDepth)<<8
	case code == PackedDeclined:
		return Declined | DeclinedPrecision<<8
	case code >= PackedDeclined:
		return Declined | (code-PackedDeclined)<<8
	case code&^PackedRefined == PackedInvalid:
		return uint32(batch.Invalid)
	case code >= PackedRefined:
		return code - PackedRefined | Refined<<8
	}
	return code
}
