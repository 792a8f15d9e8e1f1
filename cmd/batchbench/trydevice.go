package main

import (
	"os"
	"os/signal"
	"syscall"

	"clearance/engine"

	"github.com/spf13/cobra"
)

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
			return engine.TryDevice(e.stdout, args)
		},
	}
}
