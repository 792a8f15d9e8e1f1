package matrix

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
)

// Names of what [Report.Write] writes into its folder.
const (
	ReportFile  = "throughput.md"
	ResultsFile = "throughput.json"
	FigureDir   = "pictures" // NAME.svg and NAME.png
)

// Write writes the results, the page and the figures into dir.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, FigureDir), 0o755); err != nil {
		return err
	}
	for _, f := range r.Figures() {
		if err := f.Draw(filepath.Join(dir, FigureDir, f.Name)); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ResultsFile), append(data, '\n'), 0o644); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := r.WriteMarkdown(&page, FigureDir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ReportFile), page.Bytes(), 0o644)
}
