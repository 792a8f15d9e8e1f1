// Package include holds the headers of the kernels of derivatives; kernel.h lists them. Packages that compile them
// import it, so that a change of a header compiles them anew.
package include

import "embed"

// Headers are those of this folder.
//
//go:embed *.h
var Headers embed.FS
