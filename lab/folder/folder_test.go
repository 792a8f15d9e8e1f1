package folder

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if _, err := Load(path, Decode[[]int]); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is not there: %v", err)
	}
	for text, good := range map[string]bool{"[1, 2]": true, "[1, 2": false, `["a"]`: false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Load(path, Decode[[]int])
		if good != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v", text, err)
		}
		if good && !reflect.DeepEqual(*r, []int{1, 2}) {
			t.Errorf("%s is read as %v", text, *r)
		}
	}
}
