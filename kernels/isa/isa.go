// Package isa holds headers in C: the vectors of each instruction set (isa.h), in float32 and float64 (real32.h,
// real64.h), and algebra with them. Each unit of C begins and ends with target.h.
//
// Each package of headers embeds them: a package that compiles them imports it, and is compiled anew when a header
// changes. The packages that compile kernels export a function to C, which has no caller: go build
// -buildmode=c-shared takes a package with C from its cache only if it does (cmd/go: loadCachedCgoHdr).
package isa

import "embed"

// Headers are the files that packages of kernels include.
//
//go:embed *.h
var Headers embed.FS
