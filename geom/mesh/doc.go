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
