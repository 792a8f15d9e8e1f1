package peers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"clearance/tests/reread"
)

// page prints a report as Markdown.
func page(r *Report) (string, error) {
	var b strings.Builder
	err := r.WriteMarkdown(&b)
	return b.String(), err
}

// A report is refused, and the file is named, or it is printed, and comes back from its
// own JSON as it was.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(peersJSON))
	f.Add([]byte(strings.Replace(peersJSON, `"rows": 1`,
		`"rows": 3, "judged": 0, "off": 1, "wrong": -1, "worst_wrong": "NaN", "max_error": "+Inf"`, 1)))
	f.Add([]byte(strings.Replace(peersJSON, `[2]`, `[0, -0, 1e-320, "-Inf"]`, 1)))
	f.Add([]byte(strings.ReplaceAll(peersJSON, `"c"`, `"c|\n\ud800"`)))
	f.Add([]byte(strings.Replace(peersJSON, `[2]`, `null`, 1)))
	f.Add([]byte(peersJSON[:len(peersJSON)/2]))
	f.Fuzz(func(t *testing.T, data []byte) {
		reread.Report(t, "peers.json", data, Load, page)
	})
}

// packAnswers is what drivers write.
func packAnswers(answers []Answer) (data []byte) {
	for _, a := range answers {
		for _, v := range []float64{a.Distance, a.A[0], a.A[1], a.A[2], a.B[0], a.B[1], a.B[2], float64(a.Verdict)} {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
	}
	return data
}

// A file of answers is refused, and named, or holds as many answers as the driver says.
// Written again they are the same bits, but for verdicts that are none.
func FuzzAnswers(f *testing.F) {
	two := packAnswers([]Answer{{Distance: 1, B: [3]float64{0, 0, 1}}, {Distance: math.NaN(), Verdict: Penetrating}})
	f.Add(two, 2)
	f.Add(two, 1)
	f.Add(two[:len(two)/2+1], 1)
	f.Add(packAnswers([]Answer{{Distance: math.Inf(-1), Verdict: Failed}}), 1)
	f.Add([]byte{}, 0)
	f.Add([]byte{}, math.MinInt)
	f.Add([]byte{}, math.MaxInt/answerSize*2+2) // times the size of an answer this is 0
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		path := reread.File(t, "peer.answers", data)
		answers, err := readAnswers(path, count)
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+" ") {
				t.Errorf("error %q does not name the file", err)
			}
			return
		}
		if len(answers) != count || len(data) != count*answerSize {
			t.Fatalf("%d answers of %d from %d bytes", len(answers), count, len(data))
		}
		again := packAnswers(answers)
		for i, a := range answers {
			if a.Verdict == Failed {
				copy(again[(i+1)*answerSize-8:(i+1)*answerSize], data[(i+1)*answerSize-8:])
			} else if v := data[(i+1)*answerSize-8:]; math.Float64frombits(binary.LittleEndian.Uint64(v)) == 0 {
				copy(again[(i+1)*answerSize-8:], v[:8]) // zero has two signs
			}
		}
		if !bytes.Equal(again, data) {
			t.Errorf("written again the answers are\n%x, were\n%x", again, data)
		}
	})
}

// The line of a driver is refused, or is a refusal, or holds the reply: what is written of
// it reads back the same.
func FuzzReply(f *testing.F) {
	for _, line := range []string{
		`{"name": "coal", "version": "3.0", "flags": "-O3"}`, `{"count": 7}`, `{"count": 1e3}`,
		`{"count": 99999999999999999999}`,
		`{"configurations": ["slow", "fast"]}`, `{"configurations": [null, 1]}`, `{"seconds": 1e-3}`,
		`{"seconds": NaN}`,
		`{"error": "not to my taste"}`, `{"error": 1}`, `null`, `[]`, `well, well`, ``,
	} {
		f.Add([]byte(line + "\n"))
	}
	type reply struct {
		Name           string   `json:"name"`
		Count          int      `json:"count"`
		Seconds        float64  `json:"seconds"`
		Configurations []string `json:"configurations"`
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var got, again reply
		err := parseReply(line, &got)
		var refused refusal
		if errors.As(err, &refused) {
			if refused == "" {
				t.Error("a refusal that says nothing")
			}
			return
		}
		if err != nil {
			if want := "answered "; !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 8*tailBytes {
				t.Errorf("error %q, want %q with a part of the line", err, want)
			}
			return
		}
		written, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := parseReply(written, &again); err != nil {
			t.Fatal(err)
		}
		if back, err := json.Marshal(again); err != nil || !bytes.Equal(back, written) {
			t.Errorf("%s comes back as %s, %v", written, back, err)
		}
	})
}

// TestAnswersCount: counts whose product with the size of an answer overflows to the
// length of the file are refused.
func TestAnswersCount(t *testing.T) {
	path := reread.File(t, "peer.answers", nil)
	for _, count := range []int{-1, 1, math.MinInt, -1 << 58, 1 << 58} {
		if _, err := readAnswers(path, count); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%d answers in an empty file: error %v", count, err)
		}
	}
}
