package dataset

import "fmt"

// The arrays of files of worlds, see batch.Worlds and batch.Motions.
const (
	worldShapes    = "shapes"
	worldBodies    = "bodies"
	worldPoses     = "poses"
	worldTemplateA = "template_a"
	worldTemplateB = "template_b"
	worldSkipA     = "skip_a"
	worldSkipB     = "skip_b"
)

// worldForm is one of the forms of files of worlds.
type worldForm struct {
	list      string // array of the shapes or bodies
	index     string // the column that holds them
	perWorld  bool   // worlds may have lists of their own
	wayPoints bool   // poses are [W,T,M,7]
	allPairs  bool   // without templates, all pairs but those to skip
}

var (
	formShapes  = worldForm{list: worldShapes, index: columnShape}
	formBodies  = worldForm{list: worldBodies, index: columnBody, perWorld: true, allPairs: true}
	formMotions = worldForm{list: worldBodies, index: columnBody, perWorld: true, wayPoints: true}
)

// worldFile is the content of a file of worlds.
type worldFile struct {
	*worldForm
	m, t  int       // bodies of a world, and way points: 1 where the form has none
	list  []int32   // [M], or [W,M]
	poses []float64 // [W,M,7], or [W,T,M,7]

	templateA, templateB, skipA, skipB []int32
}

// allOf reports whether all pairs are asked for: the file has no templates.
func (w *worldFile) allOf() bool { return w.allPairs && w.templateA == nil && w.templateB == nil }

// readWorldFile reads a file of worlds and checks its shapes, but not its values.
func readWorldFile(path string, form *worldForm, opts []Option) (*worldFile, error) {
	f, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	w := &worldFile{worldForm: form, t: 1}
	if f == formatParquet {
		err = w.readParquet(path, opts)
	} else {
		err = w.readNPZ(path)
	}
	return w, err
}

// write writes the file, whose shapes have been checked.
func (w *worldFile) write(path string) error {
	f, err := formatOf(path)
	if err != nil {
		return err
	}
	if f == formatParquet {
		return w.writeParquet(path)
	}
	return w.writeNPZ(path)
}

// worlds is the number of worlds.
func (w *worldFile) worlds() int {
	if n := 7 * w.m * w.t; n > 0 {
		return len(w.poses) / n
	}
	return 0
}

// checked is what has been read, unless its check failed.
func checked[T any](path string, v *T, err error) (*T, error) {
	if err != nil {
		return nil, wrong(path, err)
	}
	return v, nil
}

// wrong is an error of a file of worlds.
func wrong(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("dataset: %s: %w", path, err)
}
