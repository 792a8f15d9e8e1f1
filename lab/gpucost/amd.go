package gpucost

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/engine"
	"clearance/shaders"
)

// families are the GPUs that RADV compiles for: names of RADV_FORCE_FAMILY, with what reports call them.
var families = []struct{ name, architecture string }{
	{"navi21", "RDNA2"}, {"gfx1100", "RDNA3"}, {"vega20", "GCN5"},
}

// Variables of the process that compiles for a family.
const (
	childVariable  = "GPUCOST_FAMILY" // its name
	driverVariable = "GPUCOST_DRIVER" // set where only the target is asked for, with the version of the driver
	setVariable    = "GPUCOST_SET"    // the set of which it compiles the calls, of all sets if empty
)

// errNoRADV is wrapped by the error that says that there is no RADV on this machine.
var errNoRADV = errors.New("no RADV, Mesa's driver for AMD; install it (Debian and Ubuntu: mesa-vulkan-drivers)")

// compileAMD compiles for every family.
func compileAMD() (*Report, error) {
	all := new(Report)
	for _, f := range families {
		one, err := inChild(f.name, "", false)
		if err != nil {
			return nil, err
		}
		one.Targets[0].Architecture = f.architecture
		if err := all.add(one); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// radvManifest returns the file that tells the Vulkan loader where RADV is.
func radvManifest() (string, error) {
	for _, dir := range []string{"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"} {
		files, err := filepath.Glob(filepath.Join(dir, "radeon_icd*.json"))
		if err != nil {
			return "", err
		}
		if file := manifestFor(runtime.GOARCH, files); file != "" {
			return file, nil
		}
	}
	return "", errNoRADV
}

// machines are the names of architectures in the names of manifests.
var machines = map[string]string{"amd64": "x86_64", "386": "i686", "arm64": "aarch64", "ppc64le": "ppc64le"}

// manifestFor returns the manifest of the driver for an architecture, or one that names none; "" if there is neither.
// A process cannot load the driver of another architecture.
func manifestFor(arch string, files []string) string {
	for _, name := range []string{"radeon_icd." + machines[arch] + ".json", "radeon_icd.json"} {
		for _, file := range files {
			if filepath.Base(file) == name {
				return file
			}
		}
	}
	return ""
}

// inChild compiles for one family in a process of its own, the calls of one set or, if that is empty, of all. With
// driverOnly it compiles nothing, and the report has only the target.
func inChild(family, set string, driverOnly bool) (*Report, error) {
	manifest, err := radvManifest()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childVariable+"="+family, "RADV_FORCE_FAMILY="+family, "VK_ICD_FILENAMES="+manifest,
		"VK_DRIVER_FILES="+manifest, "MESA_SHADER_CACHE_DISABLE=true", setVariable+"="+set)
	if driverOnly {
		c.Env = append(c.Env, driverVariable+"=1")
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", family, err, strings.TrimSpace(stderr.String()))
	}
	r := new(Report)
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("%s: %w", family, err)
	}
	return r, nil
}

// askDriver fails where RADV is not that of the committed results, before anything is compiled.
func askDriver(committed *Report) error {
	now, err := inChild(families[0].name, "", true)
	if err != nil {
		return err
	}
	return sameCompilers(committed, now)
}

// Child is the process that compiles for the family of childVariable: it writes a report of that one.
func Child(stdout, stderr io.Writer) int {
	r, err := compile(os.Getenv(childVariable))
	if err == nil {
		err = json.NewEncoder(stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// twoFloats names the precision of calls in single precision that two floats prove.
const twoFloats = "single by two floats"

// compile compiles the pipelines of all uses with the only driver of this process.
func compile(target string) (*Report, error) {
	r := &Report{Shaders: hashOfShaders(), Targets: []Target{{Name: target}}}
	for _, proof := range []engine.Proof{engine.ProofFloat64, engine.ProofTwoFloats} {
		if err := r.compile(target, proof); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// compile adds the pipelines of a proof. With two floats they differ for signed distances in single precision alone.
func (r *Report) compile(target string, proof engine.Proof) error {
	c, err := engine.OpenCompiler(engine.Options{Device: "0", Proof: proof})
	if err != nil {
		return err
	}
	defer c.Close()
	r.Targets[0].Compiler = c.Device().Driver
	if os.Getenv(driverVariable) != "" {
		return nil
	}
	return calls(c.Serves(), os.Getenv(setVariable), func(set string, lib *batch.Library, o *batch.Options) error {
		u := Use{Library: set, Query: o.Query.String(), Method: o.Method.String(), Precision: o.Precision.String()}
		if proof == engine.ProofTwoFloats {
			if o.Precision != batch.Single || !o.Query.Info().SignedDistance || o.Method != batch.Auto {
				return nil
			}
			u.Precision = twoFloats
		}
		compiled, err := c.Compile(lib, o)
		if err != nil {
			return err
		}
		for _, p := range compiled {
			at := r.pipeline(p.Stage, p.Constants)
			if r.Pipelines[at].Costs[target], err = costOf(p.Statistics); err != nil {
				return err
			}
			u.Pipelines = append(u.Pipelines, at)
		}
		r.Uses = append(r.Uses, u)
		return nil
	})
}

// hashOfShaders is of the code of all shaders.
func hashOfShaders() string {
	h := sha256.New()
	for _, s := range shaders.All() {
		h.Write(s.Code)
	}
	return fmt.Sprintf("%.8x", h.Sum(nil))
}

// calls visits every kind of call on one set, or on all if only is empty: each query and precision by the method auto,
// and the distance by the other methods.
func calls(serves batch.Serves, only string, visit func(string, *batch.Library, *batch.Options) error) error {
	for _, set := range generate.Names() {
		if set == "mesh" || only != "" && set != only {
			continue // mesh takes files; its shapes are hulls
		}
		g, err := generate.New(set, 1, generate.Options{Shapes: 32})
		if err != nil {
			return err
		}
		for _, s := range serves {
			for _, m := range s.Methods {
				for _, p := range s.Precisions {
					if m != batch.Auto && (s.Query != batch.Distance || p != batch.Single) {
						continue
					}
					o := batch.Options{Query: s.Query, Method: m, Precision: p}
					if err := visit(set, g.Library(), &o); err != nil {
						return fmt.Errorf("%s, %v %v, %v: %w", set, p, s.Query, m, err)
					}
				}
			}
		}
	}
	return nil
}

// costOf reads the statistics of RADV.
func costOf(statistics map[string]uint64) (c Cost, err error) {
	for name, to := range map[string]*uint64{
		"VGPRs": &c.Registers, "Spilled VGPRs": &c.Spills, "Spilled SGPRs": &c.ScalarSpills,
		"Scratch size": &c.Scratch, "Subgroups per SIMD": &c.Waves, "Instructions": &c.Instructions,
		"Code size": &c.Code,
	} {
		v, ok := statistics[name]
		if !ok {
			return c, fmt.Errorf("the driver has no statistic %q", name)
		}
		*to = v
	}
	return c, nil
}
