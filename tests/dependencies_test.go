package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maintainedSince is the year of the oldest commit that a module without releases may be pinned at without a reason in
// docs/dependencies.md.
const maintainedSince = 2023

// TestDependenciesAreExplained: docs/dependencies.md names every direct dependency of the module and of its laboratory,
// and every linked one that is pinned at an old commit, in a row of its own.
func TestDependenciesAreExplained(t *testing.T) {
	mod := read(t, "../go.mod") + read(t, "../lab/go.mod")
	page := read(t, "../docs/dependencies.md")
	linked, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "../...",
		"../lab/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	direct, old := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (\S+)( // indirect)?$`).FindAllStringSubmatch(mod, -1) {
		why := ""
		if date := regexp.MustCompile(`-(\d{4})\d{10}-`).FindStringSubmatch(m[2]); date != nil &&
			date[1] < fmt.Sprint(maintainedSince) && strings.Contains("\n"+string(linked), "\n"+m[1]+"\n") {
			why = "a dependency pinned at a commit of " + date[1]
			old++
		}
		if m[3] == "" {
			why = "a direct dependency"
			direct++
		}
		row := regexp.MustCompile("(?m)^\\| (`[^|]*, )?`" + regexp.QuoteMeta(m[1]) + "`")
		if why != "" && m[1] != module && !row.MatchString(page) {
			t.Errorf("docs/dependencies.md lacks %s, %s", m[1], why)
		}
	}
	columns := 0
	for line := range strings.Lines(page) {
		switch n := strings.Count(line, "|"); {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = n
		case n != columns:
			t.Errorf("docs/dependencies.md: a row of %d columns in a table of %d: %s", n-1, columns-1, line)
		}
	}
	if direct < 5 || old < 1 {
		t.Errorf("only %d direct and %d old dependencies were found in go.mod", direct, old)
	}
}

// TestVulncheckIsNeverSilent: what could not be checked is a failure of its own, with the reason.
func TestVulncheckIsNeverSilent(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: there is no bash to run the script with")
	}
	dir := t.TempDir()
	fake := filepath.Join(dir, "go")
	for _, c := range []struct {
		install, check int // exit codes of the installation and of the tool
		code           int
		says           string
	}{
		{0, 0, 0, ""}, {0, 3, 1, "found"}, {0, 1, 2, "NOT CHECKED: govulncheck ended with code 1"},
		{1, 0, 2, "NOT CHECKED: golang.org/x/vuln"},
	} {
		script := fmt.Sprintf("#!/bin/sh\necho no network >&2\n"+
			"printf '#!/bin/sh\\necho found\\nexit %d\\n' >$GOBIN/govulncheck\n"+
			"chmod +x $GOBIN/govulncheck\nexit %d\n", c.check, c.install)
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		run := exec.Command(shell, filepath.Join("..", "scripts", "govulncheck.sh"))
		run.Env = append(os.Environ(), "GO="+fake)
		out, _ := run.CombinedOutput()
		if code := run.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("installation %d, tool %d: exit code %d, want %d\n%s", c.install, c.check, code, c.code, out)
		}
	}
}
