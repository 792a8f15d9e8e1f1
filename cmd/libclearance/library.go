package main

// #include "clearance.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
	"clearance/geom/mesh"

	"gonum.org/v1/gonum/spatial/r3"
)

// maxNumbers bounds the numbers of one parameter. Hulls may be given with many points that are no vertices.
const maxNumbers = 1 << 28

// numberBytes is the memory that a number of a parameter takes: copies of it, and the hull of points.
const numberBytes = 64

var libraries = handles[*batch.Library]{what: "library"}

//export clearance_library_new
func clearance_library_new(shapes *C.clearance_shape, count, waitMs C.int64_t, out *C.clearance_library,
	task *C.clearance_job, e *C.clearance_error) C.int32_t {
	none, _ := batch.NewLibrary(nil, nil)
	return extend(none, shapes, count, waitMs, out, task, e)
}

//export clearance_library_extend
func clearance_library_extend(library C.clearance_library, shapes *C.clearance_shape, count, waitMs C.int64_t,
	out *C.clearance_library, task *C.clearance_job, e *C.clearance_error) C.int32_t {
	l, err := libraries.get(uint64(library))
	if err != nil {
		return fail(e, err)
	}
	return extend(l, shapes, count, waitMs, out, task, e)
}

// extend makes a library of the shapes of l and of count others.
func extend(l *batch.Library, shapes *C.clearance_shape, count, waitMs C.int64_t, out *C.clearance_library,
	task *C.clearance_job, e *C.clearance_error) C.int32_t {
	if count < 0 || count > batch.MaxShapes || (count > 0 && shapes == nil) || out == nil {
		return fail(e, argument("%d shapes, want at most %d", count, batch.MaxShapes))
	}
	records, numbers := unsafe.Slice(shapes, int(count)), 0
	for i := range records {
		for _, n := range records[i].counts {
			numbers = int(min(max(float64(numbers)+float64(n), 0), maxNumbers))
		}
	}
	return settle(prepare(numbers, func(ctx context.Context) (err error) {
		list := make([]geom.Shape, count)
		names := make([]string, count)
		var attributes batch.Attributes
		for i := range records {
			s, index := &records[i], l.Len()+i
			names[i] = text(s.name)
			if list[i], err = shapeOf(ctx, s); err == nil {
				err = attributesOf(s, int32(index), &attributes)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return failure{codeArgument, &batch.ShapeError{Index: index, Name: names[i], Err: err}}
			}
		}
		return putLibrary(l, list, names, &attributes, out)
	}), nil, waitMs, task, nil, e)
}

// putLibrary makes a library of the shapes of l and others, and its handle.
func putLibrary(l *batch.Library, shapes []geom.Shape, names []string, attributes *batch.Attributes,
	out *C.clearance_library) error {
	l, err := l.Extended(shapes, names, attributes)
	if err != nil {
		return failure{codeArgument, err}
	}
	*out = C.clearance_library(libraries.put(l))
	return nil
}

// shapeOf makes a shape. Its numbers are copied.
func shapeOf(ctx context.Context, s *C.clearance_shape) (geom.Shape, error) {
	if s.kind < 0 || s.kind >= C.int32_t(geom.KindCount) {
		return nil, fmt.Errorf("kind %d, want one below %d", s.kind, geom.KindCount)
	}
	kind := geom.Kind(s.kind)
	params := kind.Params()
	total := 0
	for i := range params {
		n := s.counts[i]
		if n < 0 || n > maxNumbers {
			return nil, fmt.Errorf("%s: %s has %d numbers, want at most %d", kind, params[i].Name, int64(n), maxNumbers)
		}
		total += int(n)
	}
	if err := checkMemory(fmt.Sprintf("%s: %d numbers", kind, total), numberBytes*float64(total)); err != nil {
		return nil, err
	}
	all := slices.Clone(array[float64](s.values, total))
	if len(all) != total {
		return nil, fmt.Errorf("%s: no numbers", kind)
	}
	values := make([][]float64, len(params))
	for i := range params {
		n := int(s.counts[i])
		values[i], all = all[:n:n], all[n:]
	}
	shape, err := kind.NewContext(ctx, values)
	if err == nil && s.margin != 0 {
		shape = geom.WithMargin(shape, float64(s.margin))
		err = shape.Validate()
	}
	return shape, err
}

// attributesOf adds the attributes that a shape states.
func attributesOf(s *C.clearance_shape, i int32, to *batch.Attributes) error {
	count := int(s.attribute_count)
	if count < 0 || count > int(geom.AttributeCount) || count > 0 && s.attributes == nil {
		return fmt.Errorf("%d attributes, want at most %d", count, geom.AttributeCount)
	}
	for _, v := range unsafe.Slice(s.attributes, count) {
		a := geom.Attribute(v.code)
		switch {
		case v.code < 0 || v.code >= C.int32_t(geom.AttributeCount):
			return fmt.Errorf("attribute %d, want one below %d", v.code, geom.AttributeCount)
		case to[a][i] != nil:
			return fmt.Errorf("two attributes %s", a)
		case int(v.count) != a.Info().Width || v.values == nil:
			return fmt.Errorf("%s has %d numbers, want %d", a, v.count, a.Info().Width)
		}
		to.Set(a, i, slices.Clone(array[float64](v.values, int(v.count))))
	}
	return nil
}

//export clearance_library_read
func clearance_library_read(path *C.clearance_text, out *C.clearance_library, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if out == nil {
			return argument("no place for the handle")
		}
		l, err := dataset.ReadLibrary(text(path))
		if err != nil {
			return failure{codeFile, err}
		}
		*out = C.clearance_library(libraries.put(l))
		return nil
	}())
}

//export clearance_library_mesh
func clearance_library_mesh(path *C.clearance_text, whole C.int32_t, tolerance C.double, waitMs C.int64_t,
	out *C.clearance_library, dents *C.double, capacity C.int64_t, task *C.clearance_job,
	e *C.clearance_error) C.int32_t {
	tol := float64(tolerance)
	if tol < 0 {
		tol = mesh.FormatTolerance
	}
	switch {
	case out == nil:
		return fail(e, argument("no place for the handle"))
	case !(tol <= 1):
		return fail(e, argument("a tolerance of %g, want 0 to 1", tol))
	}
	name, depths := text(path), array[float64](dents, int(max(capacity, 0)))
	return settle(prepare(math.MaxInt, func(ctx context.Context) error {
		parts, err := meshParts(ctx, name, whole != 0, tol)
		if err != nil {
			return err
		}
		var shapes []geom.Shape
		var names []string
		for i, p := range parts {
			s, err := hullOf(ctx, &p)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return failure{codeFile, fmt.Errorf("%s: part %q: %w", name, p.Name, err)}
			}
			shapes, names = append(shapes, s), append(names, p.Name)
			if i < len(depths) {
				depths[i] = p.Dent
			}
		}
		none, _ := batch.NewLibrary(nil, nil)
		return putLibrary(none, shapes, names, nil, out)
	}), nil, waitMs, task, nil, e)
}

// meshParts reads the convex parts of a mesh file, or all of it as one part.
func meshParts(ctx context.Context, path string, whole bool, tolerance float64) ([]mesh.ConvexPart, error) {
	read, err := mesh.ReadContext(ctx, path)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, failure{codeFile, err}
	}
	if whole {
		all := mesh.Part{Name: read[0].Name}
		for _, p := range read {
			all.Vertices = append(all.Vertices, p.Vertices...)
		}
		return []mesh.ConvexPart{{Part: all, Dent: math.NaN()}}, nil
	}
	parts, err := mesh.ConvexPartsContext(ctx, read, tolerance)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if concave := (*mesh.NonConvexError)(nil); errors.As(err, &concave) {
		err = errors.New(concave.Reason()) // Python has its own advice
	}
	if err != nil {
		return nil, failure{codeFile, fmt.Errorf("%s: %w", path, err)}
	}
	return parts, nil
}

// hullOf returns the convex hull of a part.
func hullOf(ctx context.Context, p *mesh.ConvexPart) (geom.Shape, error) {
	var s *geom.Convex
	var err error
	if p.Hull != nil {
		s = geom.ConvexOf(p.Vertices, p.Hull)
	} else if s, err = geom.NewConvexContext(ctx, p.Vertices); err != nil {
		return nil, err
	}
	return s, s.Validate()
}

//export clearance_library_write
func clearance_library_write(library C.clearance_library, path *C.clearance_text, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		l, err := libraries.get(uint64(library))
		if err != nil {
			return err
		}
		if err := dataset.WriteLibrary(text(path), l); err != nil {
			return failure{codeFile, err}
		}
		return nil
	}())
}

//export clearance_library_count
func clearance_library_count(library C.clearance_library) C.int64_t {
	l, err := libraries.get(uint64(library))
	if err != nil {
		return -1
	}
	return C.int64_t(l.Len())
}

//export clearance_library_shape
func clearance_library_shape(library C.clearance_library, index C.int64_t, out *C.clearance_shape, values *C.double,
	capacity C.int64_t, needed *C.int64_t, name *C.char, size C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		l, err := libraries.get(uint64(library))
		switch {
		case err != nil:
			return err
		case index < 0 || int64(index) >= int64(l.Len()):
			return argument("shape %d of %d", index, l.Len())
		case out == nil || needed == nil:
			return argument("no place for the shape")
		}
		inner, margin := geom.WithoutMargin(l.Shape(int32(index)))
		numbers, ok := geom.Values(inner)
		if !ok {
			return argument("shape %d: %T has no parameters", index, inner)
		}
		*out = C.clearance_shape{kind: C.int32_t(inner.Kind()), margin: C.double(margin)}
		all := slices.Concat(numbers...)
		for i, v := range numbers {
			out.counts[i] = C.int64_t(len(v))
		}
		if *needed = C.int64_t(len(all)); int(capacity) >= len(all) {
			copy(array[float64](values, len(all)), all)
		}
		if name != nil && size > 0 {
			text := l.Name(int32(index))
			putText(unsafe.Slice(name, min(int(size), len(text)+1)), text)
		}
		return nil
	}())
}

//export clearance_library_attribute
func clearance_library_attribute(library C.clearance_library, index C.int64_t, code C.int32_t, values *C.double,
	capacity C.int64_t, needed *C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		l, err := libraries.get(uint64(library))
		switch {
		case err != nil:
			return err
		case index < 0 || int64(index) >= int64(l.Len()):
			return argument("shape %d of %d", index, l.Len())
		case code < 0 || code >= C.int32_t(geom.AttributeCount):
			return argument("attribute %d, want one below %d", code, geom.AttributeCount)
		case needed == nil:
			return argument("no place for the number of numbers")
		}
		*needed = 0
		if v, ok := l.Stated(geom.Attribute(code), int32(index)); ok {
			if *needed = C.int64_t(len(v)); int(capacity) >= len(v) {
				copy(array[float64](values, len(v)), v)
			}
		}
		return nil
	}())
}

//export clearance_library_support
func clearance_library_support(library C.clearance_library, index, count C.int64_t, directions *C.clearance_reals,
	points *C.double, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		l, err := libraries.get(uint64(library))
		if err != nil {
			return err
		}
		if index < 0 || int64(index) >= int64(l.Len()) || count < 0 || count > maxRows {
			return argument("shape %d of %d, %d directions", index, l.Len(), count)
		}
		s, n := l.Shape(int32(index)), 3*int(count)
		from, to := array[float64](directions, n), array[float64](points, n)
		if len(from) != n || len(to) != n {
			return argument("no directions, or no place for the points")
		}
		if err := checkOverlap([]span{spanOf("directions", from, false), spanOf("points", to, true)}); err != nil {
			return err
		}
		if s.Kind() == geom.KindHalfspace {
			return argument("shape %d is a half-space, which has support points in one direction alone", index)
		}
		for i := 0; i < n; i += 3 {
			d := r3.Vec{X: from[i], Y: from[i+1], Z: from[i+2]}
			if !(r3.Norm(d) > 0) || math.IsInf(r3.Norm(d), 1) {
				return argument("direction %d is %v", i/3, d)
			}
			p := geom.Support(s, d)
			to[i], to[i+1], to[i+2] = p.X, p.Y, p.Z
		}
		return nil
	}())
}

//export clearance_library_free
func clearance_library_free(library C.clearance_library, e *C.clearance_error) C.int32_t {
	_, err := libraries.take(uint64(library))
	return fail(e, err)
}
