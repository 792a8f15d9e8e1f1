// Command gpucost compiles the pipelines of the Vulkan back end with compilers of real GPUs, on a machine that has
// none, and writes what these say of the code: registers, spills, waves, instructions. Nothing runs on a GPU, and no
// figure is a measurement of one.
//
// # Compilers
//
//   - Mesa's RADV compiles for an AMD GPU that is not there if RADV_FORCE_FAMILY names one. The pipelines are those
//     that package engine creates, with its specialisation constants; VK_KHR_pipeline_executable_properties describes
//     the code.
//
//   - NVIDIA's compilers of CUDA, by -nvidia, which scripts/gpu-cost.sh installs. Slang translates the sources to CUDA,
//     with the values of the constants. They are a proxy for the compiler of the driver.
//
// A driver aborts the process on a family that it does not know, so each family is compiled in a process of its own.
//
// An interpreter of the PTX runs the stages before the depths on generated rows, and counts what a row and a warp
// execute. A roofline of data-sheet figures makes estimates of throughput from these counts.
//
// # Results
//
// docs/results/gpu-cost.json holds, for every pipeline and every GPU, the figures of the compiler, and for every
// library, query, method and precision the pipelines that rows pass; gpu-cost-nvidia.json does so for NVIDIA.
// gpu-cost.md is both as tables. -check compares with the files, and fails where a pipeline spills more, or is larger,
// by more than a tenth, or where a call has appeared or vanished.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names of the results in the folder of -out.
const (
	resultsFile = "gpu-cost.json"
	nvidiaFile  = "gpu-cost-nvidia.json"
	pageFile    = "gpu-cost.md"
)

func main() {
	if os.Getenv(childVariable) != "" {
		os.Exit(child(os.Stdout, os.Stderr))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its arguments and outputs as parameters. It returns the exit code: 0, 1 if something failed or
// -check found something, 2 on wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gpucost", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "docs/results", "`folder` of "+resultsFile+" and "+pageFile)
	check := flags.Bool("check", false, "compare with the results in the folder, and write nothing")
	printOnly := flags.Bool("print-only", false, "write the page from the results in the folder, without compiling")
	nvidia := flags.String("nvidia", "", "compile with NVIDIA's compilers in this `folder`, in place of RADV; for the "+
		"pipelines of "+resultsFile+", in the root of the repository")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "gpucost: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	var err error
	if *printOnly {
		err = writePage(*out)
	} else {
		err = measure(*out, *nvidia, *check, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "gpucost:", err)
		return 1
	}
	return 0
}

// measure compiles everything for AMD's GPUs, or with the compilers in the folder nvidia if that is not "", and writes
// the results or compares them with those of the folder dir.
func measure(dir, nvidia string, check bool, stdout io.Writer) error {
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
			return err
		}
		if nvidia == "" {
			if err := askDriver(committed); err != nil {
				return err
			}
		}
	}
	now, err := compileAll()
	if err != nil {
		return err
	}
	if !check {
		if err := now.write(file); err != nil {
			return err
		}
		return writePage(dir)
	}
	found, err := compare(committed, now)
	if err != nil {
		return err
	}
	for _, line := range found {
		fmt.Fprintln(stdout, line)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d differences from %s; where they are meant, run 'make gpu-cost' and commit the results",
			len(found), file)
	}
	return nil
}
