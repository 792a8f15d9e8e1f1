package peers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// replySize is the longest line that a driver may answer with. Lists of configurations
// take a few hundred bytes.
const replySize = 1 << 16

// parseReply reads the line of a driver into v; a driver that refuses yields a [refusal].
func parseReply(line []byte, v any) error {
	var failure struct {
		Error string `json:"error"`
	}
	err := json.Unmarshal(line, &failure)
	if err == nil && failure.Error != "" {
		return refusal(failure.Error)
	}
	if err == nil {
		err = json.Unmarshal(line, v)
	}
	if err != nil {
		line = bytes.TrimSpace(line)
		return fmt.Errorf("answered %q, which is no JSON of a reply: %w", line[:min(len(line), tailBytes)], err)
	}
	return nil
}

// answerSize is the length of an answer in the file: eight float64.
const answerSize = 8 * 8

// readAnswers reads a file of so many answers. The count is the driver's word, and no
// product with it is formed, which could overflow.
func readAnswers(path string, count int) ([]Answer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if size := info.Size(); count < 0 || size%answerSize != 0 || size/answerSize != int64(count) {
		return nil, fmt.Errorf("%s has %d bytes for %d answers, want %d for each", path, size, count, answerSize)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(data)/answerSize)
	for i := range answers {
		var v [8]float64
		for k := range v {
			v[k] = math.Float64frombits(binary.LittleEndian.Uint64(data[i*answerSize+8*k:]))
		}
		verdict := Failed
		if v[7] == 0 || v[7] == 1 {
			verdict = Verdict(v[7])
		}
		answers[i] = Answer{Distance: v[0], A: [3]float64(v[1:4]), B: [3]float64(v[4:7]), Verdict: verdict}
	}
	return answers, nil
}
