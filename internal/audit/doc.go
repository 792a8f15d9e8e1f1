// Package audit checks results of worlds and of motions from the shapes alone, with a sample that the reference solves
// again: in memory, or in files by ranges of worlds, whose reports are those of the whole. Nothing that results state
// is believed. It keeps nothing between calls, which may run at the same time; a call uses several workers.
package audit
