package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"clearance"
	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/internal/console"

	"github.com/spf13/cobra"
)

// vulkanName is the name of the Vulkan back end.
const vulkanName = "vulkan"

// backendNames are the simple values of --backend; a colon and a Vulkan device may follow,
// and several may be joined by "+".
var backendNames = []string{dispatch.Auto, vulkanName, "cpu", "ref"}

// checkBackend returns an error for an invalid value of --backend.
func checkBackend(value string) error {
	for name := range strings.SplitSeq(value, "+") {
		family, device, colon := strings.Cut(name, ":")
		ok := slices.Contains(backendNames, family) && (!colon || family == vulkanName && device != "")
		if !ok || family == dispatch.Auto && value != dispatch.Auto {
			return fmt.Errorf("--backend %q: want one of %s, or Vulkan devices as vulkan:0+vulkan:1; 'batchbench "+
				"devices' says which are usable", value, strings.Join(backendNames, ", "))
		}
	}
	return nil
}

// open opens the back ends. The handle owns them.
func (f *backendFlags) open() (*clearance.Handle, error) {
	return clearance.Open(clearance.WithBackend(f.backend), clearance.WithDevice(f.device),
		clearance.WithWorkers(f.workers), clearance.WithSIMD(f.simd), clearance.WithProbe(deviceProbe...))
}

// choose opens the back ends and selects those for calls with the given number of rows.
func (f *solveFlags) choose(rows int) (*clearance.Handle, *dispatch.Choice, error) {
	h, err := f.open()
	if err != nil {
		return nil, nil, err
	}
	chosen, err := h.Dispatcher().Choose(f.backend, &f.options, rows)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return h, chosen, nil
}

// besideNone is the value of --beside for no second back end.
const besideNone = "none"

// checkBeside returns an error for an invalid value of --beside.
func checkBeside(value string) error {
	if value != "cpu" && value != "ref" && value != besideNone {
		return fmt.Errorf("--beside %q: want cpu, ref or none", value)
	}
	return nil
}

// besideOf returns the second back end, which runs the same pairs as a Vulkan device, or nil.
func (f *solveFlags) besideOf(d *dispatch.Dispatcher, chosen *dispatch.Choice, name string) (*dispatch.Choice, error) {
	if name == besideNone || !strings.HasPrefix(chosen.Name(), vulkanName) {
		return nil, nil
	}
	return d.Choose(name, &f.options, dispatch.UnknownRows)
}

// devicesText describes the devices of back ends, each of them once.
func devicesText(list []batch.Device) string {
	var texts []string
	seen := map[string]int{}
	for _, d := range list {
		t := deviceText(d)
		if seen[t]++; seen[t] == 1 {
			texts = append(texts, t)
		}
	}
	for i, t := range texts {
		if n := seen[t]; n > 1 {
			texts[i] = fmt.Sprintf("%d × %s", n, t)
		}
	}
	return strings.Join(texts, " + ")
}

// deviceText describes a device in one line.
func deviceText(d batch.Device) string {
	if d.Driver == "" {
		return d.Name
	}
	return d.Name + "; " + d.Driver
}

// listDevices describes every back end, usable or not, and every Vulkan device.
func listDevices() ([]deviceReport, error) {
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		return nil, err
	}
	var list []deviceReport
	add := func(name, index string, d batch.Device) {
		r := deviceReport{Backend: name, Index: index, Kind: d.Kind.String(), Usable: d.Usable(), Why: d.Reason}
		if r.Usable {
			r.Device, r.Proof = deviceText(d), d.Proof
		} else if d.Name != "" {
			r.Why = d.Name + ": " + r.Why
		}
		list = append(list, r)
	}
	devices, err := engine.Devices(deviceProbe...)
	if err != nil {
		add(vulkanName, "", batch.Device{Kind: batch.DiscreteGPU, Reason: strings.TrimPrefix(err.Error(), "engine: ")})
	}
	for i, d := range devices {
		add(vulkanName, strconv.Itoa(i), d)
	}
	for _, b := range []dispatch.Backend{c, cpu.NewReference()} {
		add(b.Name(), "", b.Device())
	}
	return list, nil
}

// deviceReport is the entry of a back end in the list of `devices`.
type deviceReport struct {
	Backend string `json:"backend"`
	Index   string `json:"index,omitempty"` // of a Vulkan device, for --device
	Kind    string `json:"kind"`            // discrete, integrated, virtual, software or cpu
	Device  string `json:"device,omitempty"`
	Proof   string `json:"proof,omitempty"` // arithmetic that proves answers in single precision, of a Vulkan device
	Usable  bool   `json:"usable"`
	Why     string `json:"why,omitempty"` // the reason if it is not usable
}

func newDevices(e *env) *cobra.Command {
	var jsonPath string
	c := &cobra.Command{
		Use:   "devices",
		Short: "list the back ends and Vulkan devices, with the reason if one is not usable",
		Args:  console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := listDevices()
			if err != nil {
				return err
			}
			if jsonPath != "-" {
				if err := printDevices(e, list); err != nil {
					return err
				}
			}
			if jsonPath != "" {
				return console.WriteJSON(e.Stdout, jsonPath, list)
			}
			return nil
		},
	}
	c.Flags().StringVar(&jsonPath, "json", "", "write the list as JSON to this file; - is standard output, in place "+
		"of the table")
	return c
}

func printDevices(e *env, list []deviceReport) error {
	tw := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "BACK END\tINDEX\tUSABLE\tPROOF\tDEVICE")
	for _, d := range list {
		usable, text := "yes", d.Device
		if !d.Usable {
			usable, text = "no", d.Why
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", d.Backend, d.Index, usable, d.Proof, text)
	}
	return tw.Flush()
}

// deviceProbe is the command that tries a Vulkan device in a process of its own, see [engine.Options]. It is set by
// main, so that tests of commands start no processes.
var deviceProbe []string

// tryDevice is the name of the subcommand that is the child process.
const tryDevice = "try-device"

// probeCommand returns the command line of the child process. A program that does not know its own file opens devices
// directly.
func probeCommand() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, tryDevice}
}

func newTryDevice(e *env) *cobra.Command {
	return &cobra.Command{
		Use:    tryDevice + " INDEX NAME",
		Short:  "open and close a Vulkan device, to find out whether its driver survives it",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			// A signal to the group is for the parent. What it ends must not look like a crash of the driver.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return engine.TryDevice(e.Stdout, args)
		},
	}
}
