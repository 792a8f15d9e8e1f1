// Package shape holds headers in C: shapes as the kernels read them (api.h, classes.h), their cores, support functions
// and Hessians. Package isa says how they are compiled.
package shape

import "embed"

// Headers are the files that packages of kernels include.
//
//go:embed *.h
var Headers embed.FS
