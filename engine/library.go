package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/geom"
	"clearance/internal/layout"
)

// maxLibraries is the number of libraries kept on the device; the one that was used
// longest ago goes first.
const maxLibraries = 16

// library is a shape library on the device.
type library struct {
	block                *vk.Block
	shapes, vertices     vk.Buffer
	shapes64, vertices64 vk.Buffer
	cells                vk.Buffer

	have       kinds
	ellipsoids bool    // some shape is one
	boxes      bool    // the same of boxes
	class      []uint8 // of each shape, see classesOf
	classes    int
	users      int // calls and held batches; guarded by libraries.mu
}

// libraries keeps the libraries that were used last.
type libraries struct {
	b    *Backend
	mu   sync.Mutex
	kept map[*batch.Library]*library
	used []*batch.Library // longest ago first
}

func (l *libraries) init(b *Backend) {
	l.b = b
	l.kept = map[*batch.Library]*library{}
}

// of returns a library on the device, uploading it if it is not there. What it returns
// stays until the caller releases it.
func (l *libraries) of(ctx context.Context, lib *batch.Library) (*library, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.kept[lib]; ok {
		i := slices.Index(l.used, lib)
		l.used = append(slices.Delete(l.used, i, i+1), lib)
		k.users++
		return k, nil
	}
	k, err := l.b.upload(ctx, lib)
	if err != nil {
		return nil, fmt.Errorf("engine: library of %d shapes: %w", lib.Len(), err)
	}
	k.users = 1
	l.kept[lib] = k
	l.used = append(l.used, lib)
	l.trim()
	return k, nil
}

// release ends a use of a library.
func (l *libraries) release(k *library) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.users--
	l.trim()
}

// trim frees libraries that nobody uses while there are too many.
func (l *libraries) trim() {
	l.used = slices.DeleteFunc(l.used, func(lib *batch.Library) bool {
		k := l.kept[lib]
		if len(l.kept) <= maxLibraries || k.users > 0 {
			return false
		}
		k.free()
		delete(l.kept, lib)
		return true
	})
}

// upload moves a library to the device.
func (b *Backend) upload(ctx context.Context, lib *batch.Library) (*library, error) {
	single, err := layout.Pack(lib)
	if err != nil {
		return nil, err
	}
	double := layout.Pack64(lib, single)
	k := describeLibrary(single, b.kindsFor(single))
	k.class, k.classes = classesOf(single)
	k.block, err = b.place(ctx, [][]byte{bytesOf(single.Shapes), bytesOf(single.Vertices), bytesOf(double.Shapes),
		bytesOf(double.Vertices), bytesOf(single.Cells)}, &k.shapes, &k.vertices, &k.shapes64, &k.vertices64, &k.cells)
	if err != nil {
		return nil, err
	}
	return k, nil
}

// free frees the memory of a library.
func (k *library) free() {
	k.block.Close()
}

// place moves parts to a block on the device, each into a buffer.
func (b *Backend) place(ctx context.Context, parts [][]byte, to ...*vk.Buffer) (*vk.Block, error) {
	total := uint64(0)
	for i, p := range parts {
		if len(p) == 0 { // a binding wants some memory
			parts[i] = make([]byte, 64)
		}
		if n := uint64(len(parts[i])); n > b.info.Limits.MaxStorageBufferRange {
			return nil, fmt.Errorf("%d bytes in one buffer, %s allows %d; use the CPU back end for this library", n,
				b.info.Name, b.info.Limits.MaxStorageBufferRange)
		}
		total += uint64(len(parts[i])) + maxAlignment
	}
	kind := vk.DeviceLocal
	if b.direct {
		kind = vk.Unified
	}
	block, err := b.device.Alloc(total, kind)
	if err != nil {
		return nil, err
	}
	if err := b.fill(ctx, block, parts, to); err != nil {
		block.Close()
		return nil, err
	}
	return block, nil
}

// describeLibrary returns a library with what the choice of the pipelines depends on.
func describeLibrary(packed *layout.Packed, have kinds) *library {
	some := func(k geom.Kind) bool {
		return slices.ContainsFunc(packed.Shapes, func(r layout.ShapeRecord) bool { return r.Kind == uint32(k) })
	}
	return &library{have: have, ellipsoids: some(geom.KindEllipsoid), boxes: some(geom.KindBox)}
}

// fill writes parts into a block.
func (b *Backend) fill(ctx context.Context, block *vk.Block, parts [][]byte, to []*vk.Buffer) error {
	arena := vk.NewArena(block.Whole())
	var staging *vk.Block
	var from *vk.Arena
	var s *vk.Stream
	if !b.direct {
		var err error
		if staging, err = b.device.Alloc(block.Size(), vk.Upload); err != nil {
			return err
		}
		defer staging.Close()
		from = vk.NewArena(staging.Whole())
		if s, err = b.device.NewStream(vk.StreamOptions{}); err != nil {
			return err
		}
		defer s.Close()
		if err := s.Begin(); err != nil {
			return err
		}
	}
	for i, to := range to {
		size := uint64(len(parts[i]))
		buffer, err := arena.Take(size)
		if err != nil {
			return err
		}
		*to = buffer
		host := buffer
		if staging != nil {
			if host, err = from.Take(size); err != nil {
				return err
			}
			s.Copy(buffer, host)
		}
		copy(host.Bytes(), parts[i])
		if err := host.Flush(); err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	if err := s.Submit(); err != nil {
		return err
	}
	return s.Wait(ctx, b.options.Timeout)
}

// kinds is a set of kinds of shapes: KINDS in support.glsl. Shaders are compiled for the kinds of a library, so that
// code that no shape of it needs (powers of doubles for superquadrics and smooth hulls, direction cells of hulls) takes
// no time and no registers.
type kinds uint32

// withCells is set if some hull has direction cells.
const withCells = kinds(1) << geom.KindCount

// allKinds is the set of everything a library can hold.
const allKinds = withCells<<1 - 1

// plain is the set of bounded kinds with a short support function, without powers and vertices. They share one set of
// shaders: leaving out some of them would save a software device a twentieth of its time at most.
var plain = func() (set kinds) {
	for k := range geom.KindCount {
		if t := k.Traits(); !k.HasVertices() && !t.Powers && !t.Unbounded {
			set |= 1 << k
		}
	}
	return set
}()

// kindsOf returns the kinds of a library, reduced so that few different sets are compiled.
func kindsOf(packed *layout.Packed) (have kinds) {
	for i := range packed.Shapes {
		have |= 1 << packed.Shapes[i].Kind
		if i < len(packed.Cells) && packed.Cells[i] != 0 {
			have |= withCells
		}
	}
	return have.reduced()
}

// kindsFor returns the set for which the shaders of a library are compiled.
func (b *Backend) kindsFor(packed *layout.Packed) kinds {
	if b.options.generic {
		return allKinds
	}
	return kindsOf(packed)
}

// polytopes reports whether epa_float32.comp is compiled for a library of these kinds. It applies to pairs without a
// curved core, except two boxes; boxes with spheres or capsules alone are too few to have it compiled for all plain
// kinds.
func (k kinds) polytopes() bool { return k&(1<<geom.KindConvex) != 0 }

// any returns the value that shaders take for all kinds: passes whose code depends on no kind share one pipeline.
func (k kinds) any() kinds { return anyKinds }

// withoutPowers returns the kinds whose support functions take no powers.
func (k kinds) withoutPowers() kinds {
	for i := range geom.KindCount {
		if i.Traits().Powers {
			k &^= 1 << i
		}
	}
	return k
}

// reduced returns the set for which shaders are compiled in place of k.
func (k kinds) reduced() kinds {
	if k&plain != 0 {
		k |= plain
	}
	return k
}
