//go:build !unix || solaris || aix

package dataset

import "os"

// lock does nothing: on Windows a file that is open cannot be removed.
func lock(*os.File) error { return nil }
