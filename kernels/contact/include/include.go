// Package include holds the headers of the kernels of contacts. Packages that compile them import it, so that a change
// of a header is one of theirs.
package include

import "embed"

// Headers are those of this folder.
//
//go:embed *.h
var Headers embed.FS
