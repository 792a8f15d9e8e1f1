package papers

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"clearance/lab/folder"
)

//go:embed report.md.tmpl
var reportTemplate string

// Names of what [Results.Write] writes.
const (
	ReportFile  = "papers.md"
	ResultsFile = "papers.json"
	FigureDir   = "papers" // NAME.svg
)

// Write writes the report, the results and the figures into dir.
func (r *Results) Write(dir string) error {
	draw := func(dir string) error {
		for _, f := range r.figures() {
			if err := f.draw(dir); err != nil {
				return err
			}
		}
		return nil
	}
	page := func() ([]byte, error) {
		text, err := r.Markdown()
		return []byte(text), err
	}
	return folder.Write(dir, folder.Names{Page: ReportFile, Results: ResultsFile, Figures: FigureDir}, draw, r, page)
}

// Markdown prints the report: the words of the template around the tables and figures.
// What was not run is named as such.
func (r *Results) Markdown() (string, error) {
	tables := map[string]func() string{
		"table2": r.printTableII, "chain": r.printChain, "rules": r.printRules, "cubes": r.printCubeGap,
		"distance": r.printSweeps, "meshes": r.printMeshes, "convergence": r.printConvergence, "qp": r.printGeneric,
		"warm-start": r.printWarmStart, "sub-algorithm": r.printSubAlgorithm, "gear": r.printGear,
		"rtr": r.printRTR, "rtr-share": r.printRTRShare, "rtr-depths": r.printRTRDepths,
		"rtr-choice": r.printRTRChoice, "rtr-meshes": r.printRTRMeshes,
		"growth-times": r.printGrowthTimes, "growth-vertices": r.printGrowthVertices,
		"growth-convergence": r.printGrowthCurves, "derivative-targets": r.printDerivativeTargets,
		"derivative-causes": r.printDerivativeCauses,
		"derivative-times":  r.printDerivativeTimes, "derivative-errors": r.printDerivativeErrors,
		"contact-properties": r.printContactProperties, "contact-slides": r.printContactSlides,
		"contact-pushes": r.printContactPushes, "contact-ratios": r.printContactRatios,
		"contact-steps": r.printContactSteps, "contact-tolerances": r.printContactTolerances,
	}
	figures := r.figures()
	t, err := template.New("report").Funcs(template.FuncMap{
		"table": func(name string) (string, error) {
			p, ok := tables[name]
			if !ok {
				return "", fmt.Errorf("no table %q", name)
			}
			if !r.has(name) {
				return "(not part of this run)", nil
			}
			return strings.TrimRight(p(), "\n"), nil
		},
		"figures": func(names ...string) string {
			var b strings.Builder
			for _, name := range names {
				for _, f := range figures {
					if f.name == name {
						fmt.Fprintf(&b, "![%s: %s](%s/%s.svg)\n", f.title, f.y, FigureDir, f.name)
					}
				}
			}
			return strings.TrimRight(b.String(), "\n")
		},
	}).Parse(reportTemplate)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, r); err != nil {
		return "", err
	}
	return b.String(), nil
}

// has reports whether an experiment has results.
func (r *Results) has(name string) bool {
	return map[string]bool{
		"table2": len(r.TableII) > 0, "chain": len(r.Chain) > 0, "rules": len(r.Rules) > 0, "cubes": len(r.CubeGap) > 0,
		"distance": len(r.Sweeps) > 0, "meshes": len(r.Meshes) > 0, "convergence": len(r.Convergence) > 0,
		"qp": len(r.Generic) > 0, "warm-start": len(r.WarmStart) > 0, "sub-algorithm": len(r.SubAlgorithm) > 0,
		"gear": len(r.Gear) > 0, "rtr": r.RTR != nil, "rtr-share": r.RTR != nil, "rtr-depths": r.RTR != nil,
		"rtr-choice": r.RTR != nil, "rtr-meshes": r.RTR != nil,
		"growth-times": r.Growth != nil, "growth-vertices": r.Growth != nil, "growth-convergence": r.Growth != nil,
		"derivative-targets": r.Derivatives != nil, "derivative-times": r.Derivatives != nil,
		"derivative-errors": r.Derivatives != nil, "derivative-causes": r.Derivatives != nil,
		"contact-properties": r.Contacts != nil, "contact-slides": r.Contacts != nil,
		"contact-pushes": r.Contacts != nil, "contact-ratios": r.Contacts != nil, "contact-steps": r.Contacts != nil,
		"contact-tolerances": r.Contacts != nil,
	}[name]
}

// printTable prints a Markdown table.
func printTable(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
