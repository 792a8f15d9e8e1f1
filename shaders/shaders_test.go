package shaders_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"clearance/internal/layout"
	"clearance/shaders"
	"clearance/tests/need"
)

// elements are what the buffers hold, by their names; others are lists of words.
var elements = map[string]string{
	"Shapes": "ShapeRecord", "Shapes64": "ShapeRecord64", "Vertices": "vec4 of float", "Vertices64": "VertexRecord64",
	"Poses": "PoseRecord", "Templates": "TemplateRecord", "Warm": "float", "Indices": "IndexRecord",
	"Pairs": "PairRecord", "Remainders": "RemainderRecord", "Searches": "SearchRecord", "States": "SearchStateRecord",
	"Depths": "DepthRecord", "Quads": "vec4 of double", "Faces": "vec4 of uint", "Numbers": "double",
	"Results": "double",
}

// elementOf returns what a buffer of a shader holds.
func elementOf(s *shaders.Shader, buffer string) string {
	element := elements[buffer]
	switch {
	case element == "":
		return "uint"
	case !s.Float64 || s.Name == "epa_float32": // scratch memory and test data
		return strings.Replace(element, "double", "float", 1)
	}
	return element
}

// TestAll: there is code for every source.
func TestAll(t *testing.T) {
	sources, err := filepath.Glob("*.comp")
	if err != nil {
		t.Fatal(err)
	}
	var names, compiled []string
	for _, s := range sources {
		names = append(names, strings.TrimSuffix(s, ".comp"))
	}
	for _, s := range shaders.All() {
		compiled = append(compiled, s.Name)
	}
	if !slices.Equal(names, compiled) {
		t.Errorf("sources %v, compiled %v", names, compiled)
	}
}

// The records in the compiled code stand where Go puts them: every member's name, type
// and offset, the stride of every array, the record behind every binding.
func TestLayout(t *testing.T) {
	records := map[string]layout.Record{}
	for _, r := range layout.Records() {
		records[r.Name] = r
	}
	strides := map[string]uint32{
		"double": 8, "float": 4, "uint": 4, "vec4 of float": 16, "vec4 of uint": 16, "vec4 of double": 32,
	}
	seen := map[string]bool{}
	ids := map[string]uint32{}
	for _, s := range shaders.All() {
		t.Run(s.Name, func(t *testing.T) {
			m, err := parse(s.Code)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for id, v := range m.variables {
				block := m.types[m.types[v.pointer].elem]
				switch v.storage {
				case storagePushConstant:
					constants := "QueryRecord"
					switch s.Name {
					case "body_gradients":
						constants = "BodyRecord"
					case "derivatives":
						constants = "DerivativeRecord"
					case "least":
						constants = "LeastRecord"
					case "reduce":
						constants = "ReductionRecord"
					}
					for _, bad := range m.compare(block.members[0], records[constants]) {
						t.Error(bad)
					}
					seen[constants] = true
				case storageStorageBuffer:
					array := block.members[0]
					elem, buffer := m.types[array].elem, s.Buffers[m.bindings[id]].Name
					want := elementOf(s, buffer)
					r, isRecord := records[want]
					stride := strides[want]
					if isRecord {
						for _, bad := range m.compare(elem, r) {
							t.Error(bad)
						}
						stride = uint32(r.Type.Size())
						seen[want] = true
					} else if got := m.describe(elem); got != want {
						t.Errorf("buffer %s holds %s, want %s", buffer, got, want)
					}
					if got := m.strides[array]; got != stride {
						t.Errorf("buffer %s of %s: stride %d, want %d", buffer, want, got, stride)
					}
					found++
				}
			}
			if found != len(s.Buffers) {
				t.Errorf("%d buffers, want %v", found, s.Buffers)
			}
			if s.Float64 != m.float64 {
				t.Errorf("it needs double precision: %t", s.Float64)
			}
			for _, c := range s.Constants {
				if id, ok := ids[c.Name]; ok && id != c.ID {
					t.Errorf("the specialisation constant %s has the numbers %d and %d", c.Name, id, c.ID)
				}
				ids[c.Name] = c.ID
			}
		})
	}
	if len(seen) != 16 {
		t.Errorf("records in use: %v", slices.Sorted(maps.Keys(seen)))
	}
}

// compare returns what differs between a struct of the module and a record of Go.
func (m *module) compare(id uint32, r layout.Record) (bad []string) {
	members := m.types[id].members
	if m.types[id].op != opTypeStruct || len(members) != r.Type.NumField() {
		return []string{fmt.Sprintf("%s has %d members in the code, %d in Go", r.Name, len(members), r.Type.NumField())}
	}
	for i, member := range members {
		f, key := r.Type.Field(i), [2]uint32{id, uint32(i)}
		if offset, ok := m.offsets[key]; !ok || uintptr(offset) != f.Offset {
			bad = append(bad,
				fmt.Sprintf("%s.%s has the offset %d in the code, %d in Go", r.Name, f.Name, offset, f.Offset))
		}
		if name, ok := m.members[key]; ok && name != snake(f.Name) {
			bad = append(bad, fmt.Sprintf("%s: member %d is %s in the code, %s in Go", r.Name, i, name, f.Name))
		}
		got, want := m.describe(member), describe(f.Type)
		if !m.float64 { // which reads doubles as words
			want = strings.ReplaceAll(want, "double", "vec2 of uint")
		}
		if got != want {
			bad = append(bad, fmt.Sprintf("%s.%s is %s in the code, %s in Go", r.Name, f.Name, got, want))
		}
		if f.Type.Kind() == reflect.Array && f.Type != reflect.TypeFor[layout.Vec4]() {
			if got := m.strides[member]; uintptr(got) != f.Type.Elem().Size() {
				bad = append(bad, fmt.Sprintf("%s.%s has stride %d in the code", r.Name, f.Name, got))
			}
		}
	}
	return bad
}

func describe(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[layout.Vec4]():
		return "vec4 of float"
	case t.Kind() == reflect.Array:
		return fmt.Sprintf("%s[%d]", describe(t.Elem()), t.Len())
	}
	names := map[reflect.Kind]string{reflect.Float32: "float", reflect.Float64: "double", reflect.Uint32: "uint"}
	return names[t.Kind()]
}

func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// A record that is off by anything does not pass.
func TestLayoutCanFail(t *testing.T) {
	m, err := parse(shaders.Get("certify").Code)
	if err != nil {
		t.Fatal(err)
	}
	var search uint32
	for id, v := range m.variables {
		if v.storage == storageStorageBuffer && m.bindings[id] == 4 {
			search = m.types[m.types[m.types[v.pointer].elem].members[0]].elem
		}
	}
	r := layout.Record{Name: "SearchRecord", Type: reflect.TypeFor[layout.SearchRecord]()}
	if bad := m.compare(search, r); bad != nil {
		t.Fatal(bad)
	}
	directions := m.types[search].members[0]
	for what, change := range map[string]func(by uint32){
		"an offset": func(by uint32) { m.offsets[[2]uint32{search, 1}] += by },
		"a stride":  func(by uint32) { m.strides[directions] += by },
		"a length":  func(by uint32) { m.constants[m.types[directions].count] += by },
		"another record": func(by uint32) {
			r.Type = reflect.TypeFor[layout.SearchRecord]()
			if by == 4 {
				r.Type = reflect.TypeFor[layout.IndexRecord]()
			}
		},
	} {
		change(4)
		if m.compare(search, r) == nil {
			t.Errorf("%s may change unseen", what)
		}
		change(-4 & 0xffffffff)
	}
}

// The committed code is what the sources compile to, byte for byte, with the compiler
// that made it.
func TestCodeIsFresh(t *testing.T) {
	if _, err := exec.LookPath("glslc"); err != nil {
		need.Vulkan(t, "glslc is not installed: it is not checked that the code comes from the sources")
	}
	version, err := exec.Command("glslc", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(version), shaders.Compiler()) {
		t.Skipf("the code was made by\n%s\nand this is\n%s", shaders.Compiler(), version)
	}
	dir := t.TempDir()
	if out, err := exec.Command("../scripts/shaders.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range shaders.All() {
		got, err := os.ReadFile(filepath.Join(dir, s.Name+".spv"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, s.Code) {
			t.Errorf("shaders/spirv/%s.spv is stale, run 'make shaders'", s.Name)
		}
	}
}
