package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"clearance/internal/console"

	"github.com/spf13/cobra"
)

// pythonVariable names the interpreter that has the Python package; python3 by default.
const pythonVariable = "CLEARANCE_PYTHON"

// newView returns a command of the Python package, whose page needs three.js. It is offered here as well, beside the
// other commands for files.
func newView(e *env) *cobra.Command {
	return pythonCommand(e, "view", "write an HTML page that shows pairs and their answers (Python package)")
}

// newDecompose returns a command of the Python package, for which CoACD has wheels.
func newDecompose(e *env) *cobra.Command {
	return pythonCommand(e, "decompose", "write the convex parts of a concave mesh, by CoACD (Python package)")
}

// newConvert returns a command of the Python package, which reads models. Flags --model run it.
func newConvert(e *env) *cobra.Command {
	return pythonCommand(e, "convert", "write a URDF or MJCF model, or a mesh, as a file of shapes and bodies "+
		"(Python package)")
}

// pythonCommand runs a command of the Python package with all arguments as they are.
func pythonCommand(e *env, name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short,
		DisableFlagParsing: true, // --help too is that of the package
		RunE: func(c *cobra.Command, args []string) error {
			return runPackage(c.Context(), e, name, args)
		},
	}
}

func runPackage(ctx context.Context, e *env, name string, args []string) error {
	stdout, err := callPython(ctx, name, name, args)
	if err == nil {
		_, err = e.Stdout.Write(stdout)
	}
	return err
}

// callPython returns what a command of the Python package writes to standard output. Errors begin with what the user
// asked for.
func callPython(ctx context.Context, name, asked string, args []string) ([]byte, error) {
	interpreter := os.Getenv(pythonVariable)
	if interpreter == "" {
		interpreter = "python3"
	}
	// -P: a folder clearance in the current directory is not the package.
	stdout, reason, err := runPython(ctx, interpreter, append([]string{"-P", "-m", "clearance", name}, args...)...)
	if err == nil {
		return stdout, nil
	}
	_, missing, absent := runPython(ctx, interpreter, "-P", "-c", "import clearance")
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case absent != nil:
		return nil, fmt.Errorf("%s needs the Python package clearance, which %s does not load (%s): install the wheel "+
			"that 'make wheel' builds, or name the interpreter that has it in %s",
			asked, interpreter, missing, pythonVariable)
	}
	return nil, fmt.Errorf("%s: %s", asked, reason)
}

// runPython runs the interpreter. The reason of a failure is the last line on standard error.
func runPython(ctx context.Context, interpreter string, args ...string) (stdout []byte, reason string,
	err error) {
	var out, said bytes.Buffer
	c := exec.CommandContext(ctx, interpreter, args...)
	c.Stdout, c.Stderr = &out, &said
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = console.Grace / 2
	if err = c.Run(); err == nil {
		return out.Bytes(), "", nil
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	reason = strings.TrimPrefix(lines[len(lines)-1], "clearance: ")
	var exit *exec.ExitError
	if reason == "" || !errors.As(err, &exit) {
		reason = err.Error()
	}
	return out.Bytes(), reason, err
}
