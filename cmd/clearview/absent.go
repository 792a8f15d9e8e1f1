//go:build !clearview || !cgo

package main

import "errors"

// run says how the command is built.
func run(*options) error {
	return errors.New("this build has no window: build it with 'make viewer', or go build -tags clearview " +
		"./cmd/clearview, with cgo and the headers of OpenGL and X11 (docs/clearview.md)")
}
