package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

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
		Args:  noArgs,
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
				return writeJSON(e.stdout, jsonPath, list)
			}
			return nil
		},
	}
	c.Flags().StringVar(&jsonPath, "json", "", "write the list as JSON to this file; - is standard output, in place "+
		"of the table")
	return c
}

func printDevices(e *env, list []deviceReport) error {
	tw := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
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
