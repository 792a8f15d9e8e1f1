package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"clearance/engine/internal/vk"
)

// script returns options whose probe is a shell script. It writes one line to the file "runs" of the cache folder each
// time.
func script(t *testing.T, text string) (o Options, runs func() int) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("SKIPPED: there is no shell to act as a probe")
	}
	o.CacheDir = t.TempDir()
	log := filepath.Join(t.TempDir(), "runs")
	o.Probe = []string{shell, "-c", "echo run >>" + log + "; " + text, "probe"}
	return o, func() int {
		data, _ := os.ReadFile(log)
		return strings.Count(string(data), "\n")
	}
}

const begun, ended = "echo '" + probeBegun + "'; ", "echo '" + probeEnded + "'; "

// TestProbe: the verdict on a device is that of a process of its own, and it is asked once for a verdict on the driver.
func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		says   string // part of the reason, "": usable
		runs   int    // in two attempts
	}{
		"good":             {begun + ended, "", 1},
		"crash":            {begun + "kill -SEGV $$", "crashed a process that tried it: signal: segmentation fault", 1},
		"crash of cgo":     {begun + "echo >&2; echo SIGBUS: bus error >&2; exit 2", "exit status 2, SIGBUS: bus", 1},
		"crash at the end": {begun + ended + "kill -ABRT $$", "crashed", 1},
		"killed":           {begun + "kill -KILL $$", "was ended", 2},
		"stopped":          {begun + "kill -TERM $$", "was ended", 2},
		"does not start":   {"echo no such driver >&2; exit 3", "could not be tried", 2},
		"hangs":            {begun + "exec sleep 20", "did not end within 300ms", 1},
		"long message":     {begun + "head -c 100000 /dev/zero | tr '\\0' x >&2; kill -SEGV $$", "xxx", 1},
	} {
		t.Run(name, func(t *testing.T) {
			o, runs := script(t, c.script)
			if o.probeTimeout = 0; name == "hangs" {
				o.probeTimeout = 300 * time.Millisecond
			}
			d := vk.DeviceInfo{Name: "GPU", Features: vk.Float64, Limits: vk.Limits{MaxStorageBuffers: maxBindings()}}
			for range 2 {
				why := o.unusable(&d)
				if (why == "") != (c.says == "") || !strings.Contains(why, c.says) || len(why) > 1000 {
					t.Errorf("reason %.300q, want one with %q", why, c.says)
				}
			}
			if n := runs(); n != c.runs {
				t.Errorf("tried %d times, want %d", n, c.runs)
			}
		})
	}
}

// TestProbeRemembers: another driver and a damaged file are new; without a folder the process remembers.
func TestProbeRemembers(t *testing.T) {
	o, runs := script(t, begun+"kill -SEGV $$")
	d := vk.DeviceInfo{Name: "GPU", Features: vk.Float64, Limits: vk.Limits{MaxStorageBuffers: maxBindings()}}
	check := func(what string, want int) {
		t.Helper()
		if why := o.unusable(&d); why == "" || runs() != want {
			t.Errorf("%s: tried %d times, want %d; reason %q", what, runs(), want, why)
		}
	}
	check("new", 1)
	check("known", 1)
	d.DriverVersion++
	check("another version of the driver", 2)
	d.UUID[3]++
	check("another device", 3)
	d.CacheUUID[3]++
	check("another build of the driver", 4)

	path := filepath.Join(o.CacheDir, verdictName(&d))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for k, text := range []string{"", "good\n", "good", string(whole[:len(whole)-1]), "x" + string(whole)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		check("damaged file", 5+k)
	}
	if why := o.unusable(&d); !strings.Contains(why, "delete "+path) {
		t.Errorf("reason %q does not name the file %s", why, path)
	}

	n := runs()
	o.CacheDir = filepath.Join(path, "no folder")
	check("no folder", n+1)
	check("no folder, known", n+1)
}

// TestChooseProbed: where the best device crashes, the next one is opened.
func TestChooseProbed(t *testing.T) {
	o, runs := script(t, begun+`if [ "$1" = 1 ]; then kill -SEGV $$; fi; `+ended)
	limits := vk.Limits{MaxStorageBuffers: maxBindings()}
	devices := []vk.DeviceInfo{
		{Index: 0, Name: "llvmpipe", Type: vk.CPU, Features: vk.Float64, Limits: limits},
		{Index: 1, Name: "GeForce", Type: vk.Discrete, Features: vk.Float64, Limits: limits},
	}
	if i, err := choose(devices, "", o.unusable); err != nil || i != 0 {
		t.Errorf("device %d, %v", i, err)
	}
	if _, err := choose(devices, "geforce", o.unusable); err == nil || !strings.Contains(err.Error(), "crashed") {
		t.Errorf("named: %v", err)
	}
	if runs() != 2 {
		t.Errorf("tried %d times", runs())
	}
}

// TestTryDevice: the work of the child process on a device that works, and on arguments that name none.
func TestTryDevice(t *testing.T) {
	var out strings.Builder
	for _, args := range [][]string{nil, {"0"}, {"first", "x"}} {
		if err := TryDevice(&out, args); err == nil || out.Len() > 0 {
			t.Errorf("%q: error %v, output %q", args, err, out.String())
		}
	}
	b := open(t, Options{})
	d := b.info
	if err := TryDevice(&out, []string{"0", "probe-of-another"}); err == nil || out.Len() > 0 {
		t.Errorf("another device: error %v, output %q", err, out.String())
	}
	if err := TryDevice(&out, []string{strconv.Itoa(d.Index), verdictName(&d)}); err != nil ||
		out.String() != probeBegun+"\n"+probeEnded+"\n" {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
