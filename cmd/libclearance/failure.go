package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clearance/batch"
	"clearance/dispatch"
)

// code is a clearance_code; TestCodes compares both lists.
type code int32

const (
	codeOK code = iota
	codeRunning
	codeArgument
	codeFailed
	codeCancelled
	codeClosed
	codeNoBackend
	codeRefused
	codeFile
	codeStill
)

// failure is an error with its code.
type failure struct {
	code code
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// argument returns the error of an invalid argument.
func argument(format string, args ...any) error {
	return failure{codeArgument, fmt.Errorf(format, args...)}
}

// codeOf returns the code of an error.
func codeOf(err error) code {
	var f failure
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return codeCancelled
	case errors.Is(err, dispatch.ErrClosed), errors.Is(err, batch.ErrClosed):
		return codeClosed
	case errors.Is(err, batch.ErrNotAvailable), errors.Is(err, dispatch.ErrNoBackend) &&
		strings.Contains(err.Error(), batch.ErrNotAvailable.Error()): // the reason of each back end is text
		return codeRefused
	case errors.Is(err, dispatch.ErrNoBackend):
		return codeNoBackend
	}
	return codeFailed
}

// message is the text of an error, without the name of the package that made it.
func message(err error) string {
	text := err.Error()
	for _, name := range []string{"batch: ", "dispatch: ", "dataset: ", "engine: ", "geom: "} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = failure{codeFailed, fmt.Errorf("panic: %v", p)}
	}
}
