package peers

import (
	"fmt"
	"io"
	"math"
	"strings"

	"clearance/batch"
	"clearance/verify"
)

// DerivativeGoal is the ratio that the project set out for: differences of a peer over our query with derivatives.
const DerivativeGoal = 100

// DerivativeReport is the outcome of [MeasureDerivatives]. Its JSON form is stable.
type DerivativeReport struct {
	Setting
	Contestants []Info            `json:"contestants"` // ours, and the peer
	Tables      []DerivativeTable `json:"tables"`
}

// DerivativeTable is the comparison on one set.
type DerivativeTable struct {
	Set    string            `json:"set"`
	Apart  int               `json:"apart"` // pairs clear of contact
	Rows   int               `json:"rows"`  // of these with all derivatives, which are compared
	Times  []DerivativeTime  `json:"times"`
	Errors []DerivativeError `json:"errors"`
}

// DerivativeTime is the time of some work, ns a pair.
type DerivativeTime struct {
	Name          string  `json:"name"`
	Peer          bool    `json:"peer"`            // DifferenceCalls calls of the peer
	Warm          bool    `json:"warm,omitempty"`  // from the last answer
	Tight         bool    `json:"tight,omitempty"` // to 1e-12, not 1e-6
	Configuration string  `json:"configuration,omitempty"`
	Tried         []Tried `json:"tried,omitempty"`
	Timing
}

// DerivativeError is the error of derivatives, relative, by what is differentiated.
type DerivativeError struct {
	Name      string        `json:"name"`
	Step      verify.Number `json:"step,omitempty"` // of differences, metres and radians
	Failed    int           `json:"failed"`         // pairs without derivatives
	Distance  Spread        `json:"distance"`
	Normal    Spread        `json:"normal"`
	Witnesses Spread        `json:"witnesses"`
}

// Spread is the middle and the end of a list of errors.
type Spread struct {
	Median verify.Number `json:"median"`
	Worst  verify.Number `json:"worst"`
}

// calls is the median time of the calls of the peer to a tolerance of 1e-6, NaN if it has none of the kind.
func (t *DerivativeTable) calls(warm bool) float64 {
	for i := range t.Times {
		if e := &t.Times[i]; e.Peer && e.Warm == warm && !e.Tight {
			return float64(e.Median)
		}
	}
	return math.NaN()
}

// ours is the median time of our work.
func (t *DerivativeTable) ours(name string) float64 {
	for i := range t.Times {
		if t.Times[i].Name == name {
			return float64(t.Times[i].Median)
		}
	}
	return math.NaN()
}

// WriteMarkdown writes the report as a page of Markdown.
func (r *DerivativeReport) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	peer := r.Contestants[1]
	fmt.Fprintf(&b, "# Derivatives and finite differences on one core\n\n")
	fmt.Fprintf(&b, "`%s`, version %s, %s, %s: %s, core %d, shared with other work. %s with %s; %s %s, %s. "+
		"Sets of %d pairs, seed %d; compared are those at least %g m apart for which all derivatives exist. "+
		"Medians of %d rounds, quartiles in brackets.\n\n",
		r.Program, r.Version, r.Date, r.Platform, r.Processor, r.Core,
		r.Contestants[0].Name, r.Contestants[0].Flags, peer.Name, peer.Version, peer.Flags, r.Rows, r.Seed,
		ClearOfContact, r.Rounds)
	fmt.Fprintf(&b, "%s has no derivatives. Finite differences take %d calls a pair, one for each number of "+
		"both poses, beside the call at the pose itself; central ones take %d. The clock holds the %d calls "+
		"alone, with poses that were moved before; that the differences have to be formed, and the call at "+
		"the pose itself, is left out in favor of the peer. From scratch and from the last answer, which is "+
		"that of the step before, its fastest configuration takes part. The clock of Clearance holds the "+
		"query itself and the derivatives. CPU time of the solving thread, one pinned core, and all "+
		"alternate within each round.\n\n",
		peer.Name, DifferenceCalls, 2*DifferenceCalls, DifferenceCalls)
	fmt.Fprintf(&b, "The derivative of the distance alone needs no differences: it follows from normal and witnesses "+
		"of one answer of any library. The calls are the price of the derivatives of normal and witnesses.\n\n")
	r.writeTimes(&b)
	r.writeErrors(&b)
	fmt.Fprintf(&b, "## dgd\n\ndgd, the library of the differentiable growth distance, took no part. Peers are "+
		"installed by package name only: the package dgd of PyPI is another library, for gestures, and "+
		"crates.io and Debian have none of that name.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// head writes the head of a table with a column a set.
func (r *DerivativeReport) head(b *strings.Builder, corner string) {
	fmt.Fprintf(b, "| %s", corner)
	for i := range r.Tables {
		fmt.Fprintf(b, " | %s", r.Tables[i].Set)
	}
	fmt.Fprintf(b, " |\n|---%s|\n", strings.Repeat("|---", len(r.Tables)))
}

func (r *DerivativeReport) line(b *strings.Builder, name string, cell func(t *DerivativeTable) string) {
	fmt.Fprintf(b, "| %s", name)
	for i := range r.Tables {
		fmt.Fprintf(b, " | %s", cell(&r.Tables[i]))
	}
	fmt.Fprintln(b, " |")
}

func (r *DerivativeReport) writeTimes(b *strings.Builder) {
	fmt.Fprintf(b, "## Time\n\n")
	r.head(b, "ns a pair")
	r.line(b, "pairs compared, of those apart", func(t *DerivativeTable) string {
		return fmt.Sprintf("%d of %d", t.Rows, t.Apart)
	})
	for i := range r.Tables[0].Times {
		e := &r.Tables[0].Times[i]
		name := e.Name
		if e.Peer {
			name = fmt.Sprintf("%s: %d calls", e.Name, DifferenceCalls)
		}
		r.line(b, name, func(t *DerivativeTable) string { return t.Times[i].cell() })
	}
	fmt.Fprintf(b, "\n%d calls to a tolerance of 1e-6 over ours: from scratch, and from the last answer.\n\n",
		DifferenceCalls)
	r.head(b, fmt.Sprintf("%d calls over ours", DifferenceCalls))
	for i := range r.Tables[0].Times {
		if e := &r.Tables[0].Times[i]; !e.Peer {
			r.line(b, e.Name, func(t *DerivativeTable) string {
				ns := float64(t.Times[i].Median)
				return fmt.Sprintf("%.0f, %.0f", t.calls(false)/ns, t.calls(true)/ns)
			})
		}
	}
	fmt.Fprintf(b, "\n%s\n\n", r.verdict())
	fmt.Fprintf(b, "Configurations of the peer: ")
	var list []string
	for i := range r.Tables {
		for k := range r.Tables[i].Times {
			if e := &r.Tables[i].Times[k]; e.Peer {
				list = append(list, r.Tables[i].Set+": "+e.Configuration)
			}
		}
	}
	fmt.Fprintf(b, "%s.\n\n", strings.Join(list, "; "))
}

// verdict says where the goal is met, by medians, and why not elsewhere.
func (r *DerivativeReport) verdict() string {
	var bounds, added []string
	for i := range r.Tables {
		t := &r.Tables[i]
		query, all := t.ours(ourWork(batch.Single, queryAlone)), t.ours(ourWork(batch.Single, allDerivatives))
		bounds = append(bounds, fmt.Sprintf("%.0f and %.0f on %s", t.calls(false)/query, t.calls(true)/query, t.Set))
		added = append(added, fmt.Sprintf("%.1f on %s", all/query-1, t.Set))
	}
	return fmt.Sprintf("Goal: the query with derivatives is %d times as fast as %d calls. From scratch: %s. "+
		"From the last answer: %s.\n\nWhat bounds the ratio, in single precision: every row includes our "+
		"query, whose own ratio, from scratch and from the last answer, is %s; no derivative after it can "+
		"exceed that. The other cost is that of all derivatives, %d numbers, in units of "+
		"the query: %s.",
		DerivativeGoal, DifferenceCalls, r.met(false), r.met(true),
		strings.Join(bounds, ", "), len(jacobianOf{})*DifferenceCalls, strings.Join(added, ", "))
}

// met counts the cases that meet the goal, and says what the ratios of the others are.
func (r *DerivativeReport) met(warm bool) string {
	var met []string
	total, low, high := 0, math.Inf(1), 0.0
	for i := range r.Tables {
		t := &r.Tables[i]
		for k := range t.Times {
			e := &t.Times[k]
			if e.Peer || strings.HasSuffix(e.Name, queryAlone) {
				continue
			}
			total++
			if ratio := t.calls(warm) / float64(e.Median); ratio >= DerivativeGoal {
				met = append(met, t.Set+", "+strings.TrimPrefix(e.Name, "Clearance, "))
			} else {
				low, high = min(low, ratio), max(high, ratio)
			}
		}
	}
	text := fmt.Sprintf("met in %d of %d cases", len(met), total)
	if len(met) > 0 {
		text += " (" + strings.Join(met, "; ") + ")"
	}
	if len(met) < total {
		text += fmt.Sprintf(", %.0f to %.0f times in the others", low, high)
	}
	return text
}

func (r *DerivativeReport) writeErrors(b *strings.Builder) {
	fmt.Fprintf(b, "## Error\n\nThe truth is our derivative in double precision: exact, of a normal that "+
		"Newton's method has polished and whose residual is verified. The error of a pair is the largest "+
		"difference of numbers relative to the largest number: median and, behind the slash, worst of all "+
		"pairs. The step of differences, of %s m or rad, is the one with the least median error of the "+
		"normal; forward differences take %d calls, central ones %d. Differences divide by the step what an "+
		"answer is off within its tolerance, and on boxes and hulls, whose answers are smooth in pieces, a step "+
		"may cross the end of a piece: both can show in the worst errors.\n",
		stepsText(), DifferenceCalls, 2*DifferenceCalls)
	for i := range r.Tables {
		t := &r.Tables[i]
		fmt.Fprintf(b, "\n| %s | step | distance | normal | witnesses | no answer |\n", t.Set)
		fmt.Fprintln(b, "|---|---|---|---|---|---|")
		for k := range t.Errors {
			e := &t.Errors[k]
			step := "–"
			if e.Step != 0 {
				step = lengthText(float64(e.Step))
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |\n", e.Name, step, e.Distance, e.Normal, e.Witnesses,
				e.Failed)
		}
	}
	fmt.Fprintln(b)
}

func stepsText() string {
	var list []string
	for _, s := range differenceSteps {
		list = append(list, lengthText(s))
	}
	return strings.Join(list, ", ")
}

func (s Spread) String() string {
	return lengthText(float64(s.Median)) + " / " + lengthText(float64(s.Worst))
}
