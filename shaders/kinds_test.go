package shaders_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestParametersOfKinds: paramsOf of support_two_floats.glsl maps the parameters of every kind as classOf of
// support.glsl does, for the classes that it proves. A kind that paramsOf does not name keeps its parameters there.
func TestParametersOfKinds(t *testing.T) {
	single, err := singleParameters(read(t, "support.glsl"))
	if err != nil {
		t.Fatal(err)
	}
	double, err := twoFloatParameters(read(t, "support_two_floats.glsl"), single)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(single, double) {
		t.Errorf("support.glsl maps the parameters of kinds as %v, support_two_floats.glsl as %v", single, double)
	}
	if single["CONE"] != "x 0 y" || single["BOX"] != identity {
		t.Errorf("the parameters of a cone are read as %q, of a box as %q", single["CONE"], single["BOX"])
	}
	// A kind that only support.glsl maps is found.
	single["LENS"] = "x x y"
	double, err = twoFloatParameters(read(t, "support_two_floats.glsl"), single)
	if err != nil || maps.Equal(single, double) {
		t.Errorf("a kind that support_two_floats.glsl lacks goes unnoticed: %v, %v", double, err)
	}
}

const identity = "x y z"

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// body returns the body of a function of a shader.
func body(text, head string) (string, error) {
	_, rest, found := strings.Cut(text, head)
	rest, _, ended := strings.Cut(rest, "\n}\n")
	if !found || !ended {
		return "", fmt.Errorf("no function %q", head)
	}
	return rest, nil
}

// components normalizes a list like "0, 0.0, p.high.y" to "0 0 y", a single number to three.
func components(list string) string {
	var all []string
	for _, c := range strings.Split(list, ",") {
		c = strings.TrimSpace(c)
		if i := strings.LastIndexByte(c, '.'); i >= 0 && strings.HasPrefix(c, "p") {
			all = append(all, strings.Split(c[i+1:], "")...)
			continue
		}
		all = append(all, strings.TrimSuffix(c, ".0"))
	}
	if len(all) == 1 {
		all = append(all, all[0], all[0])
	}
	return strings.Join(all, " ")
}

// singleParameters returns how classOf maps the parameters of the kinds in the classes that isProvable names.
func singleParameters(text string) (map[string]string, error) {
	function, err := body(text, "\nuint classOf(uint kind, inout real3 p) {\n")
	if err != nil {
		return nil, err
	}
	cases := regexp.MustCompile(`case KIND_(\w+):(?: p = real3\(([^)]*)\);)? ` +
		`return CLASS_(?:FRUSTUM|BOX|ELLIPSOID|CONVEX);`)
	of := map[string]string{}
	for _, m := range cases.FindAllStringSubmatch(function, -1) {
		of[m[1]] = identity
		if m[2] != "" {
			of[m[1]] = components(m[2])
		}
	}
	if len(of) < 8 {
		return nil, fmt.Errorf("classOf has %d kinds in the classes with proofs", len(of))
	}
	return of, nil
}

// twoFloatParameters returns how paramsOf maps the parameters of the given kinds.
func twoFloatParameters(text string, kinds map[string]string) (map[string]string, error) {
	function, err := body(text, "\nTwoFloats3 paramsOf(Shape s) {\n")
	if err != nil {
		return nil, err
	}
	cases := regexp.MustCompile(`if \(kind == KIND_(\w+)\) return TwoFloats3\((.*)\);`)
	vector := regexp.MustCompile(`vec3\(([^)]*)\)|p\.(?:high|low)\.[xyz]{3}`)
	of := map[string]string{}
	for kind := range kinds {
		of[kind] = identity
	}
	for _, m := range cases.FindAllStringSubmatch(function, -1) {
		parts := vector.FindAllStringSubmatch(m[2], -1)
		if len(parts) != 2 {
			return nil, fmt.Errorf("%s: %q has %d vectors, want high and low", m[1], m[2], len(parts))
		}
		var lists [2]string
		for i, part := range parts {
			lists[i] = components(part[0])
			if part[1] != "" {
				lists[i] = components(part[1])
			}
		}
		if lists[0] != lists[1] {
			return nil, fmt.Errorf("%s: high is %q, low %q", m[1], lists[0], lists[1])
		}
		of[m[1]] = lists[0]
	}
	return of, nil
}
