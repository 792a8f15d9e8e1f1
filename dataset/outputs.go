package dataset

import (
	"os"
	"slices"
	"sync"
)

// outputs are the files and folders that this process writes and has written.
var outputs = struct {
	sync.Mutex
	temporary map[string]bool
	complete  []string
}{temporary: map[string]bool{}}

// AbandonOutputs removes all temporary files and folders, for a process that is about to exit without
// waiting for its writers, and returns those that were completed. No file is created,
// completed or removed afterwards: writers that try wait for the exit.
func AbandonOutputs() (complete []string) {
	outputs.Lock() // and never unlocked
	for path := range outputs.temporary {
		_ = os.RemoveAll(path)
	}
	return slices.Clone(outputs.complete)
}
