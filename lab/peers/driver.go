package peers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// patience is how long a driver may take for one command. Building 256 hulls takes
// seconds, a round less than one.
const patience = 2 * time.Minute

// driver is a program that wraps a library; drivers/driver.hpp has the protocol.
type driver struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    *tail // standard error
	info    Info
	scratch string // file of answers
	dead    error
	limit   time.Duration
}

// Start runs a driver. Its files go to dir. The driver inherits the core that the
// calling thread is pinned to.
func Start(program, dir string) (Contestant, error) {
	d := &driver{command: exec.Command(program), said: &tail{}, limit: patience}
	d.scratch = filepath.Join(dir, filepath.Base(program)+".answers")
	d.command.Stderr = d.said
	// The libraries' own threads, where they have any, are not part of the question.
	d.command.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	var err error
	if d.in, err = d.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewReaderSize(out, replySize)
	if err := d.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the driver: %w; run 'make peers' to build it", err)
	}
	if err := d.ask(&d.info, "hello"); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// ask sends a command and reads the reply into v.
func (d *driver) ask(v any, fields ...string) error {
	if d.dead != nil {
		return d.dead
	}
	err := d.exchange(v, fields)
	var refused refusal
	if err != nil && !errors.As(err, &refused) {
		_ = d.command.Process.Kill()
		_ = d.command.Wait() // so that standard error is complete
		d.dead = fmt.Errorf("driver %s: %s: %w%s", filepath.Base(d.command.Path), fields[0], err, d.said)
		return d.dead
	}
	return err
}

// refusal is an error that the driver reports; it goes on answering.
type refusal string

func (r refusal) Error() string { return string(r) }

func (d *driver) exchange(v any, fields []string) error {
	for _, f := range fields {
		if strings.ContainsAny(f, "\t\n") {
			return refusal(fmt.Sprintf("field %q holds a tab or a line break", f))
		}
	}
	timer := time.AfterFunc(d.limit, func() { _ = d.command.Process.Kill() })
	defer timer.Stop()
	if _, err := io.WriteString(d.in, strings.Join(fields, "\t")+"\n"); err != nil {
		return err
	}
	line, err := d.out.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("answered with a line of more than %d bytes", replySize)
	case err != nil && !timer.Stop():
		return fmt.Errorf("no answer within %v", d.limit)
	case err != nil:
		return fmt.Errorf("ended without an answer (%w)", err)
	}
	return parseReply(line, v)
}

func (d *driver) Info() Info { return d.info }

func (d *driver) Shapes(s *Set) error {
	var reply struct{ Count int }
	if err := d.ask(&reply, "shapes", s.ShapesPath); err != nil {
		return unsupported(err)
	}
	if reply.Count != s.Library.Len() {
		return fmt.Errorf("%s read %d shapes of %d", d.info.Name, reply.Count, s.Library.Len())
	}
	return nil
}

// unsupported marks a refusal.
func unsupported(err error) error {
	var refused refusal
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

func (d *driver) Pairs(p *Part) error {
	var reply struct{ Count int }
	if err := d.ask(&reply, "pairs", p.Path); err != nil {
		return err
	}
	if reply.Count != p.Pairs.Len() {
		return fmt.Errorf("%s read %d pairs of %d", d.info.Name, reply.Count, p.Pairs.Len())
	}
	return nil
}

func (d *driver) Configurations(q *Question) ([]string, error) {
	if q.driver == "" {
		return nil, nil
	}
	var reply struct{ Configurations []string }
	err := d.ask(&reply, "configurations", q.driver)
	return reply.Configurations, err
}

func (d *driver) Run(q *Question, configuration string) (float64, error) {
	var reply struct{ Seconds float64 }
	if err := d.ask(&reply, "run", q.driver, configuration); err != nil {
		return 0, err
	}
	if !(reply.Seconds > 0) {
		return 0, fmt.Errorf("%s reports a round of %g s", d.info.Name, reply.Seconds)
	}
	return reply.Seconds, nil
}

func (d *driver) Answers() ([]Answer, error) {
	var reply struct{ Count int }
	if err := d.ask(&reply, "answers", d.scratch); err != nil {
		return nil, err
	}
	answers, err := readAnswers(d.scratch, reply.Count)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.info.Name, err)
	}
	return answers, nil
}

// Close ends the driver.
func (d *driver) Close() error {
	if d.dead != nil {
		return nil // killed and waited for
	}
	d.dead = errors.New("driver closed")
	d.in.Close() // the end of its input ends it
	timer := time.AfterFunc(5*time.Second, func() { _ = d.command.Process.Kill() })
	defer timer.Stop()
	return d.command.Wait()
}

// tail keeps the end of what a driver says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 400

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(bytes.TrimSpace(t.text)) == 0 {
		return ""
	}
	return "; it said: " + string(bytes.TrimSpace(t.text))
}
