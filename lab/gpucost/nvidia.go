package gpucost

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// capability is an NVIDIA GPU by its compute capability.
type capability struct {
	name, architecture string
	warps              uint64 // that a scheduler holds at most
}

var capabilities = []capability{{"sm_90", "Hopper", 16}, {"sm_89", "Ada", 12}}

const (
	registersPerScheduler = 65536 / 4 // of an SM with four schedulers
	registerUnit          = 8         // registers of a thread are allocated in units of 8
	warpThreads           = 32
	sassBytes             = 16 // of one instruction
	elfVersion            = 20 // offset of e_version in the file header of ELF
)

// cuda are the compilers in one folder, where lab/gpucost/setup.sh installs the packages nvidia-cuda-nvrtc-cu12,
// nvidia-cuda-runtime-cu12, nvidia-cuda-nvcc-cu12 and slangtorch. Slang translates GLSL to CUDA, NVRTC compiles that
// to PTX, and ptxas to machine code: a proxy for the compiler of the driver, which takes SPIR-V.
type cuda struct {
	root, shaders string
	version       string
}

func openCUDA(root, shaders string) (*cuda, error) {
	c := &cuda{root: root, shaders: shaders}
	slang, err := command(filepath.Join(root, "slangtorch/bin/slangc"), "-v")
	if err != nil {
		return nil, err
	}
	ptxas, err := command(c.ptxas(), "--version")
	if err != nil {
		return nil, err
	}
	release := regexp.MustCompile(`V[\d.]+`).FindString(ptxas)
	c.version = fmt.Sprintf("Slang %s, NVRTC, ptxas %s", strings.TrimSpace(slang), release)
	return c, nil
}

func (c *cuda) ptxas() string { return filepath.Join(c.root, "nvidia/cuda_nvcc/bin/ptxas") }

// command runs a program and returns what it prints; the error has that too.
func command(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %.3000s", filepath.Base(name), err, out)
	}
	return string(out), nil
}

// report compiles the pipelines of a report of another GPU, those that calls by the method auto take.
func (c *cuda) report(like *Report) (*Report, error) {
	sources, err := hashOfSources(c.shaders)
	if err != nil {
		return nil, err
	}
	r := &Report{Shaders: hashOfShaders(), Sources: sources}
	for _, t := range capabilities {
		r.Targets = append(r.Targets, Target{t.name, t.architecture, c.version})
	}
	for i := range like.Uses {
		u := like.Uses[i]
		if u.Method != "auto" {
			continue
		}
		list := u.Pipelines
		u.Pipelines = nil
		for _, k := range list {
			u.Pipelines = append(u.Pipelines, r.pipeline(like.Pipelines[k].Stage, like.Pipelines[k].Constants))
		}
		r.Uses = append(r.Uses, u)
	}
	var wait sync.WaitGroup
	errs := make([]error, len(r.Pipelines))
	slots := make(chan struct{}, 2)
	for i := range r.Pipelines {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = c.compile(&r.Pipelines[i])
		})
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s %v: %w", r.Pipelines[i].Stage, r.Pipelines[i].Constants, err)
		}
	}
	return r, nil
}

// compile sets the costs of a pipeline for every capability.
func (c *cuda) compile(p *Pipeline) error {
	dir, err := os.MkdirTemp("", "gpucost")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, p.source()+".cu")
	if err := c.translate(p, dir, source); err != nil {
		return err
	}
	for _, t := range capabilities {
		ptx, cubin := filepath.Join(dir, t.name+".ptx"), filepath.Join(dir, t.name+".cubin")
		if err := c.ptx(t.name, source, ptx); err != nil {
			return err
		}
		said, err := command(c.ptxas(), "-arch="+t.name, "-v", "-o", cubin, ptx)
		if err != nil {
			return err
		}
		if p.Costs[t.name], err = t.cost(said, cubin); err != nil {
			return err
		}
	}
	return nil
}

// translate writes a pipeline as CUDA.
func (c *cuda) translate(p *Pipeline, dir, out string) error {
	if err := specialise(c.shaders, dir, p.Constants); err != nil {
		return err
	}
	_, err := command(filepath.Join(c.root, "slangtorch/bin/slangc"), filepath.Join(dir, p.source()+".comp"), "-lang",
		"glsl", "-allow-glsl", "-stage", "compute", "-entry", "main", "-target", "cuda", "-ignore-capabilities",
		"-warnings-disable", "30082,30081", "-o", out)
	return err
}

// ptx compiles CUDA to PTX for a compute capability.
func (c *cuda) ptx(name, source, out string) error {
	architecture := strings.Replace(name, "sm_", "compute_", 1)
	_, err := command("python3", "lab/gpucost/nvrtc.py", c.root, architecture, source, out)
	return err
}

var ptxasSays = regexp.MustCompile(`(?s)(\d+) bytes stack frame, (\d+) bytes spill stores.*Used (\d+) registers`)

// cost reads what ptxas says, and the size of the code.
func (t *capability) cost(said, cubin string) (c Cost, err error) {
	m := ptxasSays.FindStringSubmatch(said)
	if m == nil {
		return c, fmt.Errorf("ptxas says no registers: %.500s", said)
	}
	var n [3]uint64
	for i := range n {
		if n[i], err = strconv.ParseUint(m[i+1], 10, 64); err != nil {
			return c, err
		}
	}
	c.Scratch, c.Spills, c.Registers = n[0]*warpThreads, n[1]/4, n[2]
	unit := (c.Registers + registerUnit - 1) / registerUnit * registerUnit
	c.Waves = min(t.warps, registersPerScheduler/(unit*warpThreads))
	data, err := os.ReadFile(cubin)
	if err != nil || len(data) < elfVersion+4 {
		return c, fmt.Errorf("%s: %d bytes: %w", cubin, len(data), err)
	}
	binary.LittleEndian.PutUint32(data[elfVersion:], uint32(elf.EV_CURRENT)) // ptxas writes a version of its own
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return c, err
	}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".text") {
			c.Code += s.Size
		}
	}
	c.Instructions = c.Code / sassBytes
	return c, nil
}
