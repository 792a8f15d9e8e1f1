package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Known are the peers that `make peers` installs or tries to.
func Known() []string {
	return []string{"coal", "MuJoCo", "FCL-libccd", "FCL-own", "parry3d", "Jolt", "openGJK"}
}

// ErrNoPeers is wrapped by the error of [Open] if no peer is there.
var ErrNoPeers = errors.New("no peer is installed")

// Open starts the drivers that `make peers` has built in a folder, and says why the
// others are missing. work is a folder for their files.
func Open(build, work string) ([]Contestant, []Missing, error) {
	var list []Contestant
	var missing []Missing
	for _, name := range Known() {
		c, err := OpenOne(name, build, work)
		if err != nil {
			missing = append(missing, Missing{name, strings.TrimPrefix(err.Error(), ErrNoPeers.Error()+": ")})
			continue
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, missing, fmt.Errorf("%w in %s; run 'make peers'", ErrNoPeers, build)
	}
	return list, missing, nil
}

// OpenOne starts the driver of one peer, or says why it is missing; the error wraps [ErrNoPeers] if it is not there.
func OpenOne(name, build, work string) (Contestant, error) {
	program := filepath.Join(build, "bin", "peer-"+strings.ToLower(name))
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoPeers, whyMissing(build, name))
	}
	return Start(program, work)
}

// whyMissing is what the installation noted about a peer that it could not install.
func whyMissing(build, name string) string {
	note, err := os.ReadFile(filepath.Join(build, "missing", strings.ToLower(name)))
	if err != nil {
		return "not installed; run 'make peers'"
	}
	return strings.TrimSpace(string(note))
}
