package main

import (
	"strings"
	"testing"

	"clearance/ref"
)

// TestContact solves scenes by every solver and prints a line each.
func TestContact(t *testing.T) {
	text := command("contact", "--scene", "slide", "--worlds", "5", "--reference", "--bounds").want(t, exitGood).stdout
	names := []string{"ncp-batch", "ccp-batch"}
	for _, s := range ref.ContactSolvers() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		if strings.Count(text, name) != 1 {
			t.Errorf("no line of %s:\n%s", name, text)
		}
	}
}

// TestContactRefuses names what is wrong.
func TestContactRefuses(t *testing.T) {
	for _, args := range [][]string{{"--scene", "pile"}, {"--worlds", "0"}, {"--tolerance", "0"}, {"--relaxation", "2"},
		{"--limit", "0"}} {
		command(append([]string{"contact"}, args...)...).want(t, exitBadInput).says(t, args[0])
	}
}
