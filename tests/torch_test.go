package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakePython stands for the interpreter of scripts/torch.sh: pip leaves one library of PyTorch, and a file half
// written.
const fakePython = `#!/bin/sh
case "$*" in
*find_spec*) exit 1 ;;
*version_info*) echo cp311 ;;
*"-m pip"*)
	while [ "$1" != --target ]; do shift; done
	mkdir -p "$2/torch/lib" && cp "$LIBRARY" "$2/torch/lib/libtorch.so" && echo half >"$2/torch/__init__.py"
	echo "$SAYS" && exit "$PIP" ;;
*"import torch"*) echo "$SAYS" && exit "$IMPORT" ;;
*) exit 7 ;;
esac
`

// TestTorchIsWholeOrAbsent: an installation of PyTorch that fails leaves no folder that a later run would take, and
// says why; one that succeeds is kept, with the libraries in place of those of CUDA.
func TestTorchIsWholeOrAbsent(t *testing.T) {
	for _, tool := range []string{"bash", "cc", "nm", "flock"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: there is no %s for scripts/torch.sh", tool)
		}
	}
	dir := t.TempDir()
	python, source, library := filepath.Join(dir, "python"), filepath.Join(dir, "a.c"), filepath.Join(dir, "a.so")
	code := "int ncclInit(void); int f(void) { return ncclInit(); }\n"
	if err := os.WriteFile(python, []byte(fakePython), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", source, "-o", library).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cache := filepath.Join(dir, "cache")
	folders := func() (found []string) {
		all, _ := filepath.Glob(filepath.Join(cache, "clearance", "torch-*"))
		return all
	}
	for _, c := range []struct {
		pip, load string // exit codes of pip and of the first import
		says      string
		kept      bool
	}{
		{"1", "0", "No space left on device", false}, {"0", "1", "libcublas.so.13", false}, {"0", "0", "", true},
		{"1", "1", "it is there, and pip is not called", true},
	} {
		run := exec.Command("bash", filepath.Join("..", "scripts", "torch.sh"), python)
		run.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "LIBRARY="+library, "PIP="+c.pip, "IMPORT="+c.load,
			"SAYS="+c.says)
		var out, reason strings.Builder
		run.Stdout, run.Stderr = &out, &reason
		if err := run.Run(); err != nil {
			t.Fatalf("%+v: %v\n%s", c, err, reason.String())
		}
		got := folders()
		if !c.kept {
			if len(got) != 0 || out.String() != "" || !strings.Contains(reason.String(), c.says) {
				t.Errorf("%+v: folders %q, output %q, reason %q", c, got, out.String(), reason.String())
			}
			continue
		}
		if len(got) != 1 || out.String() != got[0]+"\n" || reason.String() != "" {
			t.Fatalf("%+v: folders %q, output %q, reason %q", c, got, out.String(), reason.String())
		}
		nccl := filepath.Join(got[0], "torch", "lib", "libnccl.so.2")
		names, err := exec.Command("nm", "-D", "--defined-only", nccl).Output()
		if err != nil || !strings.Contains(string(names), "ncclInit") {
			t.Errorf("%v: libnccl.so.2 has %q", err, names)
		}
	}
}
