// Package growth holds the headers of the kernel of growth distances (growth.h). Package isa says how they are
// compiled.
package growth

import "embed"

// Headers are the files that packages of kernels include.
//
//go:embed *.h
var Headers embed.FS
