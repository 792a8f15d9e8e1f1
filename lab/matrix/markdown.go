package matrix

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"clearance/batch"
	"clearance/verify"
)

// WriteMarkdown writes the report as a page. Figures are linked below dir, relative to
// the page; dir is not touched.
func (r *Report) WriteMarkdown(w io.Writer, dir string) error {
	var b strings.Builder
	r.writeHead(&b)
	figures := r.Figures()
	picture := func(table string) {
		for _, f := range figures {
			if f.Table == table {
				fmt.Fprintf(&b, "![%s](%s/%s.svg)\n\n", f.Title, dir, f.Name)
			}
		}
	}
	for _, d := range r.Devices {
		if list := r.find(Questions, d.Backend); len(list) > 0 {
			r.writeQuestions(&b, &d, list)
		}
	}
	picture(Questions)
	if list := r.find(Threads, CPU); len(list) > 0 {
		writeThreads(&b, list)
		picture(Threads)
	}
	for _, d := range r.Devices {
		if list := r.find(Sizes, d.Backend); len(list) > 0 {
			writeSizes(&b, &d, list)
		}
	}
	picture(Sizes)
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func (r *Report) writeHead(b *strings.Builder) {
	fmt.Fprintf(b, "# Throughput\n\n")
	fmt.Fprintf(b, "`%s`, version %s, %s: %s, %s, %s. Seed %d, medians of %d rounds.\n\n",
		r.Program, r.Version, r.Date, r.Processor, count(r.Cores, "core"), r.Platform, r.Seed, r.Rounds)
	fmt.Fprintf(b, "Rates are million pairs a second, %s. Pairs of each separation are measured alone: ", r.Clock)
	for i, g := range regimes {
		if i > 0 {
			fmt.Fprint(b, "; ")
		}
		fmt.Fprintf(b, "%s: %s", g.name, g.text)
	}
	fmt.Fprintf(b, ". Calls of more than %d pairs repeat that many. Columns asked for are the default of the query: "+
		"status for collide, else distance, gap, normal, both witness points, status and iterations.\n\n", r.Distinct)
	fmt.Fprintf(b, "Accuracy is of the answers that were timed: the worst gap is the largest bound that came with an "+
		"answer, over the size of the pair; every answer is audited from the shapes alone, and the reference solves "+
		"up to %d of a case again; wrong is what either refutes.\n\n", r.Sample)
	wrong, undecided := r.Faults()
	audited, compared := 0, 0
	for i := range r.Points {
		audited += r.Points[i].Accuracy.Audited
		compared += r.Points[i].Accuracy.Compared
	}
	fmt.Fprintf(b, "All in all %s, %d answers audited, %d solved again: **%d wrong, %d undecided**.\n\n",
		count(len(r.Points), "case"), audited, compared, wrong, undecided)
	fmt.Fprintf(b, "| back end | device |\n|---|---|\n")
	for _, d := range r.Devices {
		text := d.Device
		if d.Software {
			text += " (emulated on the CPU: its figures say that it works, not how fast a GPU is)"
		}
		fmt.Fprintf(b, "| %s | %s |\n", d.Backend, text)
	}
	fmt.Fprintf(b, "\n| set | shapes | vertices |\n|---|---|---|\n")
	for _, s := range r.Sets {
		vertices := "–"
		if s.Vertices > 0 {
			vertices = fmt.Sprintf("%.4g", s.Vertices)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.Name, strings.Join(s.Kinds, ", "), vertices)
	}
	fmt.Fprintln(b)
}

// find returns the points of a table and a back end, in order.
func (r *Report) find(table, backend string) []*Point {
	var list []*Point
	for i := range r.Points {
		if p := &r.Points[i]; p.Table == table && p.Backend == backend {
			list = append(list, p)
		}
	}
	return list
}

// values lists what the points have, each once, in order.
func values[T comparable](list []*Point, of func(*Point) T) []T {
	var out []T
	for _, p := range list {
		if v := of(p); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// filter returns the points that a condition holds for.
func filter(list []*Point, want func(*Point) bool) []*Point {
	return slices.DeleteFunc(slices.Clone(list), func(p *Point) bool { return !want(p) })
}

// writeQuestions writes a table a query: sets and precisions by separation.
func (r *Report) writeQuestions(b *strings.Builder, d *Device, all []*Point) {
	for _, query := range values(all, func(p *Point) string { return p.Query }) {
		list := filter(all, func(p *Point) bool { return p.Query == query })
		fmt.Fprintf(b, "## %s, %s\n\n%s pairs per call, %s.\n\n", strings.ToUpper(query[:1])+query[1:], d.Backend,
			join(values(list, func(p *Point) int { return p.Pairs })), workersText(list))
		var present []string
		for _, name := range Regimes() {
			if slices.ContainsFunc(list, func(p *Point) bool { return p.Regime == name }) {
				present = append(present, name)
			}
		}
		kernel := slices.ContainsFunc(list, func(p *Point) bool { return p.KernelRate > 0 })
		head := []string{"million pairs/s", "precision"}
		head = append(head, present...)
		if kernel {
			for _, name := range present {
				head = append(head, "kernel, "+name)
			}
			head = append(head, "left to the CPU")
		}
		head = append(head, "spread", "worst gap/size", "worst error/size", "undecided", "wrong")
		row(b, head)
		row(b, slices.Repeat([]string{"---"}, len(head)))
		for _, set := range values(list, func(p *Point) string { return p.Set }) {
			for _, precision := range values(list, func(p *Point) string { return p.Precision }) {
				cells := filter(list, func(p *Point) bool { return p.Set == set && p.Precision == precision })
				if len(cells) > 0 {
					row(b, append([]string{set, precision}, questionCells(cells, present, kernel)...))
				}
			}
		}
		fmt.Fprintln(b)
	}
}

func questionCells(list []*Point, regimes []string, kernel bool) (cells []string) {
	var total Accuracy
	var spread verify.Number
	var declined []string
	for _, p := range list {
		a := &p.Accuracy
		// Where the cut-off is at contact, separated pairs are only proved to be separated.
		if queryOf(p.Query).Info().CutOff != batch.CutOffAtTouch || p.Regime == "overlapping" {
			total.WorstGap, total.WorstError = max(total.WorstGap, a.WorstGap), max(total.WorstError, a.WorstError)
		}
		total.Undecided += a.Undecided + a.Invalid
		total.Refuted += a.Wrong()
		spread = max(spread, p.Spread)
		if p.Declined > 0 {
			declined = append(declined, fmt.Sprintf("%.3g %% of %s", 100*float64(p.Declined)/float64(p.Pairs),
				p.Regime))
		}
	}
	each := func(of func(*Point) verify.Number) {
		for _, name := range regimes {
			text := "–"
			for _, p := range list {
				if p.Regime == name && of(p) > 0 {
					text = million(of(p))
				}
			}
			cells = append(cells, text)
		}
	}
	each(func(p *Point) verify.Number { return p.Rate })
	if kernel {
		each(func(p *Point) verify.Number { return p.KernelRate })
		cells = append(cells, cmp.Or(strings.Join(declined, ", "), "none"))
	}
	relative := func(v verify.Number) string {
		if queryOf(list[0].Query).Info().Boolean() { // which asks for no distance
			return "–"
		}
		return fmt.Sprintf("%.1e", float64(v))
	}
	return append(cells, fmt.Sprintf("±%.0f %%", 100*float64(spread)), relative(total.WorstGap),
		relative(total.WorstError),
		fmt.Sprint(total.Undecided), fmt.Sprint(total.Refuted))
}

// writeThreads writes a table of sets and separations by threads.
func writeThreads(b *strings.Builder, list []*Point) {
	fmt.Fprintf(b, "## Threads\n\n%s, %s precision, %s pairs per call, back end %s.\n\n", list[0].Query,
		list[0].Precision,
		join(values(list, func(p *Point) int { return p.Pairs })), CPU)
	workers := values(list, func(p *Point) int { return p.Workers })
	slices.Sort(workers)
	head := []string{"million pairs/s", "separation"}
	for _, n := range workers {
		head = append(head, count(n, "thread"))
	}
	if len(workers) > 1 {
		head = append(head, "gain")
	}
	row(b, append(head, "spread", "undecided", "wrong"))
	row(b, slices.Repeat([]string{"---"}, len(head)+3))
	for _, set := range values(list, func(p *Point) string { return p.Set }) {
		for _, regime := range Regimes() {
			cells := filter(list, func(p *Point) bool { return p.Set == set && p.Regime == regime })
			if len(cells) == 0 {
				continue
			}
			line := []string{set, regime}
			for _, n := range workers {
				line = append(line, cell(cells, func(p *Point) bool { return p.Workers == n }))
			}
			if len(workers) > 1 {
				gain := "–"
				if lo, hi := cells[0], cells[len(cells)-1]; lo != hi {
					gain = fmt.Sprintf("%.2f ×", float64(hi.Rate/lo.Rate))
				}
				line = append(line, gain)
			}
			row(b, append(line, faultCells(cells)...))
		}
	}
	fmt.Fprintln(b)
}

// writeSizes writes a table of sets by pairs of a call.
func writeSizes(b *strings.Builder, d *Device, list []*Point) {
	fmt.Fprintf(b, "## Pairs of a call, %s\n\n%s, %s precision, pairs %s, %s.\n\n", d.Backend, list[0].Query,
		list[0].Precision, regimes[1].text, workersText(list))
	sizes := values(list, func(p *Point) int { return p.Pairs })
	slices.Sort(sizes)
	head := []string{"million pairs/s"}
	for _, n := range sizes {
		head = append(head, fmt.Sprint(n))
	}
	row(b, append(head, "spread", "undecided", "wrong"))
	row(b, slices.Repeat([]string{"---"}, len(head)+3))
	for _, set := range values(list, func(p *Point) string { return p.Set }) {
		cells := filter(list, func(p *Point) bool { return p.Set == set })
		for _, kernel := range []bool{false, true} {
			line := []string{set}
			if kernel {
				line = []string{set + ", kernel"}
				if !slices.ContainsFunc(cells, func(p *Point) bool { return p.KernelRate > 0 }) {
					continue
				}
			}
			for _, n := range sizes {
				text := "–"
				for _, p := range cells {
					rate := p.Rate
					if kernel {
						rate = p.KernelRate
					}
					if p.Pairs == n && rate > 0 {
						text = million(rate)
					}
				}
				line = append(line, text)
			}
			row(b, append(line, faultCells(cells)...))
		}
	}
	fmt.Fprintln(b)
}

// faultCells are the cells of spread, undecided and wrong.
func faultCells(list []*Point) []string {
	var spread verify.Number
	undecided, wrong := 0, 0
	for _, p := range list {
		spread = max(spread, p.Spread)
		undecided += p.Accuracy.Undecided + p.Accuracy.Invalid
		wrong += p.Accuracy.Wrong()
	}
	return []string{fmt.Sprintf("±%.0f %%", 100*float64(spread)), fmt.Sprint(undecided), fmt.Sprint(wrong)}
}

// cell is the rate of the first point that a condition holds for.
func cell(list []*Point, want func(*Point) bool) string {
	for _, p := range list {
		if want(p) {
			return million(p.Rate)
		}
	}
	return "–"
}

func row(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// million writes a rate in millions a second with three digits that matter.
func million(rate verify.Number) string {
	v := float64(rate) / 1e6
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func workersText(list []*Point) string {
	return join(values(list, func(p *Point) int { return p.Workers })) + " thread(s) of the CPU"
}

func join(list []int) string {
	var texts []string
	for _, n := range list {
		texts = append(texts, fmt.Sprint(n))
	}
	return strings.Join(texts, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
