package matrix

import (
	"bytes"
	"path/filepath"

	"clearance/lab/folder"
)

// Names of what [Report.Write] writes into its folder.
const (
	ReportFile  = "throughput.md"
	ResultsFile = "throughput.json"
	FigureDir   = "pictures" // NAME.svg
)

// Write writes the results, the page and the figures into dir.
func (r *Report) Write(dir string) error {
	draw := func(dir string) error {
		for _, f := range r.Figures() {
			if err := f.Draw(filepath.Join(dir, f.Name)); err != nil {
				return err
			}
		}
		return nil
	}
	page := func() ([]byte, error) {
		var b bytes.Buffer
		err := r.WriteMarkdown(&b, FigureDir)
		return b.Bytes(), err
	}
	return folder.Write(dir, folder.Names{Page: ReportFile, Results: ResultsFile, Figures: FigureDir}, draw, r, page)
}
