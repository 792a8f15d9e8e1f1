package gpucost

import (
	"errors"
	"fmt"
)

// growth is how much larger than committed a pipeline may become before the check fails: by a tenth. One that spills
// no register may not begin to.
const growth = 1.1

// errOtherCompiler is wrapped by the error that says that figures of different compilers are not compared.
var errOtherCompiler = errors.New("the committed figures are those of another compiler")

// sameCompilers fails where a target of the new report has another compiler in the committed one.
func sameCompilers(committed, now *Report) error {
	for _, t := range now.Targets {
		if was := committed.target(t.Name); was != nil && was.Compiler != t.Compiler {
			return fmt.Errorf("%s: %w: %s, here %s", t.Name, errOtherCompiler, was.Compiler, t.Compiler)
		}
	}
	return nil
}

// compare returns what the new report has that is worse than in the committed one, on the targets of the new one: a
// stage of a call that has more spilled registers, registers, instructions or bytes by more than a tenth; and calls or
// stages that one of both reports lacks. A stage is compared by the call that it is part of, so that other
// specialisation constants do not hide a difference.
func compare(committed, now *Report) (found []string, err error) {
	if err := sameCompilers(committed, now); err != nil {
		return nil, err
	}
	for _, t := range now.Targets {
		if committed.target(t.Name) == nil {
			found = append(found, fmt.Sprintf("%s: not in the committed results", t.Name))
			continue
		}
		seen := map[[2]int]bool{}
		for i := range now.Uses {
			u := &now.Uses[i]
			old := committed.use(u)
			if old == nil {
				found = append(found, fmt.Sprintf("%s: %v: not in the committed results", t.Name, u))
				continue
			}
			for _, k := range u.Pipelines {
				p := &now.Pipelines[k]
				before := committed.stage(old, p.Stage)
				if before < 0 {
					found = append(found, fmt.Sprintf("%s: %v: stage %s is not in the committed results", t.Name, u,
						p.Stage))
					continue
				}
				if pair := [2]int{before, k}; !seen[pair] {
					seen[pair] = true
					for _, line := range worse(committed.Pipelines[before].Costs[t.Name], p.Costs[t.Name]) {
						found = append(found, fmt.Sprintf("%s: %v: stage %s: %s", t.Name, u, p.Stage, line))
					}
				}
			}
		}
	}
	return append(found, gone(committed, now)...), nil
}

// gone returns the calls and the stages of calls that only the committed report has.
func gone(committed, now *Report) (found []string) {
	for i := range committed.Uses {
		old := &committed.Uses[i]
		u := now.use(old)
		if u == nil {
			found = append(found, fmt.Sprintf("%v: only in the committed results", old))
			continue
		}
		for _, k := range old.Pipelines {
			if stage := committed.Pipelines[k].Stage; now.stage(u, stage) < 0 {
				found = append(found, fmt.Sprintf("%v: stage %s is only in the committed results", old, stage))
			}
		}
	}
	return found
}

// stage returns the index of the pipeline of a stage of a use, -1 if there is none.
func (r *Report) stage(u *Use, stage string) int {
	for _, p := range u.Pipelines {
		if r.Pipelines[p].Stage == stage {
			return p
		}
	}
	return -1
}

// worse lists the figures of a pipeline that have become worse.
func worse(was, is Cost) (found []string) {
	for _, f := range []struct {
		what    string
		was, is uint64
	}{
		{"spilled registers", was.Spills + was.ScalarSpills, is.Spills + is.ScalarSpills},
		{"registers", was.Registers, is.Registers},
		{"instructions", was.Instructions, is.Instructions},
		{"bytes of code", was.Code, is.Code},
	} {
		if float64(f.is) > float64(f.was)*growth {
			found = append(found, fmt.Sprintf("%d %s, %d before", f.is, f.what, f.was))
		}
	}
	return found
}
