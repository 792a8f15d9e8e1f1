// Package folder writes a report into a folder: figures, results as JSON, and a page that
// shows them. It reads results back.
package folder

import (
	"os"
	"path/filepath"
)

// Names are those of what is written: two files, and the folder of the figures.
type Names struct {
	Page, Results, Figures string
}

// Write draws the figures, writes results as JSON, and the page. draw is handed the
// folder of the figures, which is made if need be.
func Write(dir string, n Names, draw func(dir string) error, results any, page func() ([]byte, error)) error {
	figures := filepath.Join(dir, n.Figures)
	if err := os.MkdirAll(figures, 0o755); err != nil {
		return err
	}
	if err := draw(figures); err != nil {
		return err
	}
	data, err := JSON(results)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, n.Results), data, 0o644); err != nil {
		return err
	}
	text, err := page()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, n.Page), text, 0o644)
}
