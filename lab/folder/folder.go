// Package folder writes a report into a folder: figures, results as JSON, and a page that
// shows them. It reads results back.
package folder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"clearance/internal/console"
	"clearance/internal/memory"
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
	data, err := console.JSON(results)
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

// Load reads a file with the parser of its contents. Errors name the file.
func Load[T any](path string, parse func([]byte) (*T, error)) (*T, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	// The text, and what it is parsed to.
	if err := memory.Check(fmt.Sprintf("%s of %d bytes", path, info.Size()), 4*float64(info.Size())); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Decode reads JSON into a new value.
func Decode[T any](data []byte) (*T, error) {
	v := new(T)
	return v, json.Unmarshal(data, v)
}
