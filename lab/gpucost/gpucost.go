// Package gpucost compiles the pipelines of the Vulkan back end with compilers of real GPUs, on a machine that has
// none, and writes what these say of the code: registers, spills, waves, instructions. Nothing runs on a GPU, and no
// figure is a measurement of one.
//
// # Compilers
//
//   - Mesa's RADV compiles for an AMD GPU that is not there if RADV_FORCE_FAMILY names one. The pipelines are those
//     that package engine creates, with its specialisation constants; VK_KHR_pipeline_executable_properties describes
//     the code.
//
//   - NVIDIA's compilers of CUDA, which make gpu-cost installs with NVIDIA=1. Slang translates the sources to CUDA,
//     with the values of the constants. They are a proxy for the compiler of the driver.
//
// A driver aborts the process on a family that it does not know, so each family is compiled in a process of its own.
//
// An interpreter of the PTX runs the stages before the depths on generated rows, and counts what a row and a warp
// execute. A roofline of data-sheet figures makes estimates of throughput from these counts.
//
// # Results
//
// lab/results/gpu-cost.json holds, for every pipeline and every GPU, the figures of the compiler, and for every
// library, query, method and precision the pipelines that rows pass; gpu-cost-nvidia.json does so for NVIDIA.
// gpu-cost.md is both as tables. A check compares with the files, and finds pipelines that spill more, or are larger,
// by more than a tenth, and calls that have appeared or vanished.
package gpucost

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names of the results in their folder.
const (
	resultsFile = "gpu-cost.json"
	nvidiaFile  = "gpu-cost-nvidia.json"
	pageFile    = "gpu-cost.md"
)

// Options say what is compiled, and where the results are.
type Options struct {
	Out              string // folder of the results
	Check, PrintOnly bool
	NVIDIA           string // folder of NVIDIA's compilers; "": AMD's
}

// InChild reports whether the process is one that compiles for a family; it is to call [Child] and to end.
func InChild() bool { return os.Getenv(childVariable) != "" }

// Run compiles and writes the results, or compares them with those of the folder and prints a line a difference, of
// which it returns the number.
func Run(o *Options, stdout io.Writer) (found int, err error) {
	if o.PrintOnly {
		return 0, writePage(o.Out)
	}
	return measure(o.Out, o.NVIDIA, o.Check, stdout)
}

// measure compiles everything for AMD's GPUs, or with the compilers in the folder nvidia if that is not "", and writes
// the results or compares them with those of the folder dir.
func measure(dir, nvidia string, check bool, stdout io.Writer) (int, error) {
	file, compileAll := filepath.Join(dir, resultsFile), compileAMD
	if nvidia != "" {
		file, compileAll = filepath.Join(dir, nvidiaFile), func() (*Report, error) {
			c, err := openCUDA(nvidia, "shaders")
			if err != nil {
				return nil, err
			}
			like, err := read(filepath.Join(dir, resultsFile))
			if err != nil {
				return nil, err
			}
			r, err := c.report(like)
			if err == nil {
				r.Executed, err = c.simulate(like)
			}
			return r, err
		}
	}
	var committed *Report
	if check {
		var err error
		if committed, err = read(file); err != nil {
			return 0, err
		}
		if nvidia == "" {
			if err := askDriver(committed); err != nil {
				return 0, err
			}
		}
	}
	now, err := compileAll()
	if err != nil {
		return 0, err
	}
	if !check {
		if err := now.write(file); err != nil {
			return 0, err
		}
		return 0, writePage(dir)
	}
	found, err := compare(committed, now)
	if err != nil {
		return 0, err
	}
	for _, line := range found {
		fmt.Fprintln(stdout, line)
	}
	return len(found), nil
}
