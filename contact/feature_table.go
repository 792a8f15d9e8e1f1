package contact

import (
	"sync"

	"clearance/batch"
)

// FeatureTable has the features of the shapes of a library, each made at its first use. Goroutines may share it.
type FeatureTable struct {
	library *batch.Library
	shapes  []featureEntry
}

type featureEntry struct {
	once     sync.Once
	features *Features
	err      error
}

// NewFeatureTable returns the table of a library.
func NewFeatureTable(l *batch.Library) *FeatureTable {
	return &FeatureTable{library: l, shapes: make([]featureEntry, l.Len())}
}

// Library returns the library.
func (t *FeatureTable) Library() *batch.Library { return t.library }

// Of returns the features of shape i.
func (t *FeatureTable) Of(i int) (*Features, error) {
	e := &t.shapes[i]
	e.once.Do(func() { e.features, e.err = NewFeatures(t.library.Shape(int32(i))) })
	return e.features, e.err
}
