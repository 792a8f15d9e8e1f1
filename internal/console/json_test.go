package console

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	long := strings.Repeat("x", width)
	for _, c := range []struct{ in, want string }{
		{`{}`, "{\n}\n"},
		{`3`, "3\n"},
		{`{"a":"{","b":[1,2],"c":{"d":[1]}}`, "{\n \"a\": \"{\",\n \"b\": [1,2],\n \"c\": {\n  \"d\": [1]\n }\n}\n"},
		{`[{"a":{"b":1}},{"a":2}]`, "[\n {\n  \"a\": {\"b\":1}\n },\n {\"a\":2}\n]\n"},
		{`{"r":[{"a":{"b":1}},{"a":2}]}`, "{\n \"r\": [\n  {\"a\":{\"b\":1}},\n  {\"a\":2}\n ]\n}\n"},
		{`{"r":[{"a":"` + long + `","b":[{}]}]}`,
			"{\n \"r\": [\n  {\n   \"a\": \"" + long + "\",\n   \"b\": [{}]\n  }\n ]\n}\n"},
	} {
		got, err := JSON(json.RawMessage(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s is written as %q, %v, want %q", c.in, got, err, c.want)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal([]byte(c.in), &a), json.Unmarshal(got, &b)); err != nil ||
			!reflect.DeepEqual(a, b) {
			t.Errorf("%s reads back as %s, %v", c.in, got, err)
		}
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function is not JSON")
	}
}
