package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"clearance/engine/internal/vk"
	"clearance/shaders"
)

// DeviceVariable is the environment variable that names a device where
// [Options.Device] does not.
const DeviceVariable = "CLEARANCE_DEVICE"

// Options configure the back end. The zero value is the default.
type Options struct {
	// Device is the index of a device, as in [Devices], or part of its name in any
	// case; "" is the value of CLEARANCE_DEVICE, and without one the best device.
	Device string

	// ChunkRows is the number of rows that are computed at a time, rounded up to a
	// multiple of 64 and cut to what the device allows; 0 is 262,144, or 16,384 on
	// software devices. No answer depends on it.
	ChunkRows int

	// Validation loads the Vulkan validation layer, see [Backend.Messages].
	Validation bool

	// Timeout is how long a chunk may take before the device counts as hung; 0 is
	// two minutes.
	Timeout time.Duration

	// CacheDir is the folder in which compiled shaders are kept between runs; "" is
	// clearance in the user's cache folder. A file that is damaged or of another
	// device counts as missing, and one that cannot be written costs time only.
	CacheDir string

	// NoCache keeps compiled shaders in memory only.
	NoCache bool

	// Probe, if not empty, is a command that tries a device in a process of its own, so that a driver that
	// crashes does not take this process with it. It runs once for each device and driver, before the device is
	// opened for the first time; two arguments are appended, with which the command calls [TryDevice]. The
	// verdict is kept in the cache folder.
	Probe []string

	// Proof is the arithmetic of proofs of single precision. Answers agree within their gaps, not in every bit.
	Proof Proof

	// For tests and benchmarks.
	staged    bool       // transfer data even where the host reaches the memory of the device
	budget    uint32     // limit on loop passes of an invocation, 0: loopLimit
	unsorted  bool       // do not sort the rows
	phases    bool       // search in phases on every device, see pipelines.phased
	reduceAll bool       // omit rows even where that saves nothing
	disable   vk.Feature // features that count as missing
	slow      bool       // double precision counts as slow
	generic   bool       // shaders for all kinds of shapes, whatever a library holds

	probeTimeout time.Duration // 0: the constant of this name
}

// Default sizes of a chunk. A GPU wants some hundred thousand invocations at a time; a
// software device wants its data to stay in the processor's cache.
const (
	defaultChunkRows  = 1 << 18
	softwareChunkRows = 1 << 14
	defaultTimeout    = 2 * time.Minute
)

func (o *Options) ensureDefaults() {
	if o.Device == "" {
		o.Device = os.Getenv(DeviceVariable)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
}

func (o *Options) validate() error {
	if o.ChunkRows < 0 || o.ChunkRows > 1<<30 {
		return fmt.Errorf("engine: chunks of %d rows, want 1 to 2^30, or 0 for the default", o.ChunkRows)
	}
	if o.Timeout < 0 {
		return fmt.Errorf("engine: timeout %v, want a time above 0, or 0 for the default", o.Timeout)
	}
	return nil
}

// CheckDevice reports that the device selected by name, or where that is "" by the environment
// variable CLEARANCE_DEVICE, does not exist. Whether it can be used is another matter, which
// [Open] reports. The name "all" needs one device at least.
func CheckDevice(device string) error {
	o := Options{Device: device}
	o.ensureDefaults()
	if o.Device == "" {
		return nil
	}
	instance, err := vk.Open(vk.Options{})
	if err != nil {
		return fmt.Errorf("engine: no Vulkan device %q (from the option, flag or %s): %w", o.Device, DeviceVariable,
			err)
	}
	defer instance.Close()
	devices := instance.Devices()
	if o.Device == "all" && len(devices) > 0 {
		return nil
	}
	_, err = find(devices, o.Device)
	return err
}

// choose returns the index of the device that is asked for: the first whose index or
// name is meant, or the best one for "", of which unusable says "".
func choose(devices []vk.DeviceInfo, device string, unusable func(*vk.DeviceInfo) string) (int, error) {
	if device == "" {
		order := make([]int, len(devices))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, k int) int { return slices.Compare(rank(&devices[i]), rank(&devices[k])) })
		for _, i := range order {
			if unusable(&devices[i]) == "" {
				return i, nil
			}
		}
		return 0, fmt.Errorf("engine: no usable Vulkan device: %s", list(devices, unusable))
	}
	i, err := find(devices, device)
	if err != nil {
		return 0, err
	}
	if why := unusable(&devices[i]); why != "" {
		return 0, fmt.Errorf("engine: Vulkan device %d, %s: %s", i, devices[i].Name, why)
	}
	return i, nil
}

// rank orders devices, the best first: hardware before software, then those with double precision, then by type.
func rank(d *vk.DeviceInfo) []int {
	return []int{int(constant(d.Type == vk.CPU)), int(constant(!d.Features.Has(vk.Float64))), int(d.Type)}
}

// find returns the index of the device with this index or a name that holds it.
func find(devices []vk.DeviceInfo, device string) (int, error) {
	i, err := strconv.Atoi(device)
	if err != nil {
		i = slices.IndexFunc(devices, func(d vk.DeviceInfo) bool {
			return strings.Contains(strings.ToLower(d.Name), strings.ToLower(device))
		})
	}
	if i < 0 || i >= len(devices) {
		return 0, fmt.Errorf("engine: no Vulkan device %q (from the option, flag or %s); there are: %s", device,
			DeviceVariable, list(devices, reason))
	}
	return i, nil
}

// reason says why a device cannot be used, "" if it can.
func reason(d *vk.DeviceInfo) string {
	switch {
	case d.Unusable != "":
		return d.Unusable
	case d.Limits.MaxStorageBuffers < maxBindings():
		return fmt.Sprintf("its shaders see %d buffers, %d are needed", d.Limits.MaxStorageBuffers, maxBindings())
	}
	return ""
}

func list(devices []vk.DeviceInfo, unusable func(*vk.DeviceInfo) string) string {
	var b strings.Builder
	for i := range devices {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%d: %s", i, devices[i].Name)
		if why := unusable(&devices[i]); why != "" {
			fmt.Fprintf(&b, " (%s)", why)
		}
	}
	return b.String()
}

// A faulty driver may crash the process that opens its device, and no process can recover from that. So a program may
// name a command that tries a device in a process of its own ([Options.Probe]). Its verdict, whether that process
// survived, is kept in the cache folder, one file for each device, driver and version of the self-test.

// Lines that the child process writes: before it opens the device, and after it has closed it.
const (
	probeBegun = "clearance: device opened"
	probeEnded = "clearance: device closed"
)

// probeTimeout is how long the child process may take. It compiles one short shader.
const probeTimeout = time.Minute

// verdictGood is the verdict on a device that can be opened and closed. Whether it also computes correctly is found by
// the self-test of every [Open].
const verdictGood = "good"

// verdictBytes bounds a verdict file, and the messages of a child process that are kept.
const verdictBytes = 4096

// TryDevice is the work of the child process that [Options.Probe] starts: it opens the device, which runs the
// self-test, and closes it. It returns nil if the device failed in an orderly way, because the process survived. The
// arguments are those that the parent appends to the command: an index and the name of the verdict.
func TryDevice(w io.Writer, args []string) error {
	if len(args) != 2 {
		return errors.New("engine: want the index of a device and the name of its verdict")
	}
	index, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("engine: device %q is not an index", args[0])
	}
	instance, err := vk.Open(vk.Options{})
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	devices := instance.Devices()
	if err := instance.Close(); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if index < 0 || index >= len(devices) || verdictName(&devices[index]) != args[1] {
		return fmt.Errorf("engine: Vulkan device %d is another one in this process", index)
	}
	// Should the parent end first, this process does not outlive the limit.
	defer time.AfterFunc(probeTimeout, func() { os.Exit(1) }).Stop()
	if _, err := fmt.Fprintln(w, probeBegun); err != nil {
		return err
	}
	if b, err := Open(Options{Device: args[0], NoCache: true}); err == nil {
		b.Close()
	}
	_, err = fmt.Fprintln(w, probeEnded)
	return err
}

// unusable says why a device is not to be opened, "" if it may be: [reason], or the verdict of the probe.
func (o *Options) unusable(d *vk.DeviceInfo) string {
	if why := reason(d); why != "" || len(o.Probe) == 0 {
		return why
	}
	name := verdictName(d)
	path := ""
	if dir := cacheDir(o); dir != "" {
		path = filepath.Join(dir, name)
	}
	verdict, known := readVerdict(path, name)
	if !known {
		keep := false
		if verdict, keep = o.probe(d.Index, name); keep {
			keepVerdict(path, name, verdict)
		}
	}
	if verdict == verdictGood {
		return ""
	}
	if _, known := readVerdict(path, name); known && path != "" {
		verdict += "; delete " + path + " to have it tried again"
	}
	return verdict
}

// probe runs the child process. keep says that the verdict is one on the driver, rather than on this attempt.
func (o *Options) probe(index int, name string) (verdict string, keep bool) {
	limit := o.probeTimeout
	if limit == 0 {
		limit = probeTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := append(o.Probe[1:len(o.Probe):len(o.Probe)], strconv.Itoa(index), name)
	c := exec.CommandContext(ctx, o.Probe[0], args...)
	var stdout, stderr limited
	c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, time.Second
	err := c.Run()
	text := stdout.String()
	begun, ended := strings.Contains(text, probeBegun), strings.Contains(text, probeEnded)
	switch {
	case ended && err == nil:
		return verdictGood, true
	case !begun:
		return fmt.Sprintf("it could not be tried in a process of its own: %v%s", err, firstLine(&stderr)), false
	case ctx.Err() != nil:
		return fmt.Sprintf("its driver did not end within %v, tried in a process of its own", limit), true
	case interrupted(c.ProcessState):
		return fmt.Sprintf("the process that tried it was ended: %v", err), false
	}
	return fmt.Sprintf("its driver crashed a process that tried it: %v%s", err, firstLine(&stderr)), true
}

// interrupted reports that another process ended the child.
func interrupted(s *os.ProcessState) bool {
	w, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return false
	}
	switch w.Signal() {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL:
		return true
	}
	return false
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

func (c *limited) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), verdictBytes-c.Len())])
	return len(p), nil
}

// firstLine returns the line in which the Go runtime names the signal, or else the first one.
func firstLine(c *limited) string {
	lines := strings.Split(strings.TrimSpace(c.String()), "\n")
	line := lines[0]
	for _, l := range lines {
		if strings.HasPrefix(l, "SIG") {
			line = l
			break
		}
	}
	if line = strings.TrimSpace(line); line == "" {
		return ""
	}
	return ", " + line[:min(len(line), 200)]
}

// verdictName is the name of the verdict on a device: its file in the cache folder.
func verdictName(d *vk.DeviceInfo) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %v %x\n", d.Name, d.DriverName, d.DriverInfo, d.API, d.CacheUUID)
	h.Write(shaders.Get("selftest").Code)
	return fmt.Sprintf("probe-%x-%x-%.8x", d.UUID, d.DriverVersion, h.Sum(nil))
}

// verdicts are those of this process, for processes without a cache folder.
var verdicts sync.Map // string to string

// readVerdict returns a verdict of before. A file that is damaged counts as missing.
func readVerdict(path, name string) (verdict string, known bool) {
	if v, ok := verdicts.Load(path + name); ok {
		return v.(string), true
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, verdictBytes))
	if err != nil {
		return "", false
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	verdict, whole := strings.CutSuffix(rest, "\n")
	return verdict, first == name && whole && verdict != ""
}

// keepVerdict stores a verdict. A folder that cannot be written costs time only: the next process tries again.
func keepVerdict(path, name, verdict string) {
	verdict = strings.Join(strings.Fields(verdict), " ")
	if path == "" || writeVerdict(path, name, verdict) != nil {
		verdicts.Store(path+name, verdict)
	}
}

func writeVerdict(path, name, verdict string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, name+"-*.tmp")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\n%s\n", name, verdict)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
