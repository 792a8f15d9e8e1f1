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

// The bindings that several shaders share.
var (
	searchBindings = []string{
		"ShapeRecord64", "VertexRecord64", "PoseRecord", "IndexRecord", "SearchRecord", "uint", "uint",
		"DepthRecord", "uint",
	}
	depthBindings = []string{
		"ShapeRecord64", "VertexRecord64", "PoseRecord", "IndexRecord", "uint", "uint", "DepthRecord", "uint",
		"vec4 of double", "vec4 of uint", "uint",
	}
)

// code lists every shader with the record of each of its bindings and its specialisation constants.
var code = []struct {
	name     string
	code     []byte
	bindings []string
	specs    []uint32
}{
	{"input", shaders.Input, []string{
		"ShapeRecord64", "PoseRecord", "TemplateRecord", "uint", "float", "IndexRecord", "PairRecord", "SearchRecord",
	}, []uint32{0, 1}},
	{"input_two_floats", shaders.InputTwoFloats, []string{
		"ShapeRecord", "PoseRecord", "TemplateRecord", "uint", "float", "IndexRecord", "PairRecord", "RemainderRecord",
		"SearchRecord",
	}, []uint32{0, 7}},
	{"prove_two_floats", shaders.ProveTwoFloats, []string{
		"ShapeRecord", "vec4 of float", "ShapeRecord64", "VertexRecord64", "uint", "PoseRecord", "IndexRecord",
		"PairRecord", "RemainderRecord", "SearchRecord", "uint", "uint", "uint",
	}, []uint32{0, 2, 5, 7, 8}},
	{"selftest_two_floats", shaders.SelfTestTwoFloats, []string{
		"ShapeRecord64", "PoseRecord", "TemplateRecord", "float", "float", "uint",
	}, []uint32{0}},
	{"gjk", shaders.GJK, []string{
		"ShapeRecord", "vec4 of float", "PairRecord", "SearchRecord", "uint", "uint", "SearchStateRecord",
	}, []uint32{0, 1, 2, 9}},
	{"selftest", shaders.SelfTest, []string{
		"ShapeRecord64", "PoseRecord", "TemplateRecord", "double", "double", "uint",
	}, []uint32{0}},
	{"trust_region", shaders.TrustRegion, append(searchBindings[:9:9], "uint", "uint"), []uint32{0, 1, 2}},
	{"prove", shaders.Prove, append(searchBindings[:7:7], "uint", "uint", "uint", "uint"), []uint32{0, 2, 5, 6, 10}},
	{"box_axes", shaders.BoxAxes, []string{
		"ShapeRecord64", "PoseRecord", "IndexRecord", "SearchRecord", "uint", "uint", "uint", "uint", "VertexRecord64",
		"uint",
	}, []uint32{0, 2}},
	{"certify", shaders.Certify, append(searchBindings[:9:9], "uint"), []uint32{0, 2, 5, 6}},
	{"epa_float32", shaders.EPAFloat32, []string{
		"ShapeRecord", "vec4 of float", "PairRecord", "uint", "DepthRecord", "uint",
		"vec4 of float", "vec4 of uint", "uint",
	}, []uint32{0, 2, 3, 4}},
	{"growth", shaders.Growth, []string{
		"ShapeRecord", "vec4 of float", "PairRecord", "SearchRecord", "uint",
	}, []uint32{0, 2}},
	{"growth_prove", shaders.GrowthProve, append(searchBindings[:7:7], "uint", "uint"), []uint32{0, 2}},
	{"growth_certify", shaders.GrowthCertify, append(searchBindings[:7:7], "uint", "uint"), []uint32{0, 2, 9}},
	{"reduce", shaders.Reduce, []string{"uint", "uint", "uint"}, []uint32{0}},
	{"depth", shaders.Depth, depthBindings, []uint32{0, 2, 3, 4}},
	{"depth_certificate", shaders.DepthCertificate, depthBindings, []uint32{0, 1, 2, 3, 4}},
}

// TestAll: the table above, All and the sources hold the same shaders.
func TestAll(t *testing.T) {
	sources, err := filepath.Glob("*.comp")
	if err != nil {
		t.Fatal(err)
	}
	var names, inTable []string
	for _, s := range sources {
		names = append(names, strings.TrimSuffix(s, ".comp"))
	}
	for _, s := range code {
		inTable = append(inTable, s.name)
		if !slices.ContainsFunc(shaders.All(), func(c []byte) bool { return bytes.Equal(c, s.code) }) {
			t.Errorf("All lacks %s", s.name)
		}
	}
	slices.Sort(inTable)
	if !slices.Equal(names, inTable) || len(shaders.All()) != len(code) {
		t.Errorf("sources %v, tested %v, %d in All", names, inTable, len(shaders.All()))
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
	for _, s := range code {
		t.Run(s.name, func(t *testing.T) {
			m, err := parse(s.code)
			if err != nil {
				t.Fatal(err)
			}
			found := map[uint32]string{}
			for id, v := range m.variables {
				block := m.types[m.types[v.pointer].elem]
				switch v.storage {
				case storagePushConstant:
					constants := "QueryRecord"
					if s.name == "reduce" {
						constants = "ReductionRecord"
					}
					for _, bad := range m.compare(block.members[0], records[constants]) {
						t.Error(bad)
					}
					seen[constants] = true
				case storageStorageBuffer:
					array := block.members[0]
					elem, want := m.types[array].elem, s.bindings[m.bindings[id]]
					r, isRecord := records[want]
					stride := strides[want]
					if isRecord {
						for _, bad := range m.compare(elem, r) {
							t.Error(bad)
						}
						stride = uint32(r.Type.Size())
						seen[want] = true
					} else if got := m.describe(elem); got != want {
						t.Errorf("binding %d holds %s, want %s", m.bindings[id], got, want)
					}
					if got := m.strides[array]; got != stride {
						t.Errorf("binding %d (%s): stride %d, want %d", m.bindings[id], want, got, stride)
					}
					found[m.bindings[id]] = want
				}
			}
			if len(found) != len(s.bindings) {
				t.Errorf("bindings %v, want %d", found, len(s.bindings))
			}
			if got := slices.Sorted(maps.Values(m.specs)); !slices.Equal(got, s.specs) {
				t.Errorf("specialisation constants %v, want %v", got, s.specs)
			}
		})
	}
	if len(seen) != 13 {
		t.Errorf("records in use: %v", slices.Sorted(maps.Keys(seen)))
	}
}

// TestWithoutFloat64: the stages of devices without double precision do not ask for it.
func TestWithoutFloat64(t *testing.T) {
	for _, s := range code {
		m, err := parse(s.code)
		if err != nil {
			t.Fatal(err)
		}
		want := !slices.Contains([]string{
			"input_two_floats", "gjk", "prove_two_floats", "selftest_two_floats", "growth",
		}, s.name)
		if m.float64 != want {
			t.Errorf("%s: needs double precision: %v", s.name, m.float64)
		}
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
	m, err := parse(shaders.Certify)
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
	for _, s := range code {
		got, err := os.ReadFile(filepath.Join(dir, s.name+".spv"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, s.code) {
			t.Errorf("shaders/spirv/%s.spv is stale, run 'make shaders'", s.name)
		}
	}
}
