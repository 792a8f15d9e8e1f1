package gpucost

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// looping stores, for thread i, the sum of 1/k for k from 1 to i at place i of the only buffer, in double precision.
const looping = `
.visible .entry main_0()
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<10>;
	.reg .f64 	%fd<8>;
	.reg .b64 	%rd<8>;

	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	mov.u32 	%r3, %tid.x;
	mad.lo.s32 	%r4, %r2, %r1, %r3; // the thread
	ld.const.u64 	%rd1, [SLANG_globalParams];
	cvta.to.global.u64 	%rd2, %rd1;
	mul.wide.u32 	%rd3, %r4, 8;
	add.s64 	%rd4, %rd2, %rd3;
	mov.f64 	%fd1, 0d0000000000000000;
	mov.u32 	%r5, 0;
$L__BB0_1:
	setp.ge.u32 	%p1, %r5, %r4;
	@%p1 bra 	$L__BB0_2;
	add.s32 	%r5, %r5, 1;
	cvt.rn.f64.u32 	%fd2, %r5;
	div.rn.f64 	%fd3, 0d3FF0000000000000, %fd2;
	add.rn.f64 	%fd1, %fd1, %fd3;
	bra.uni 	$L__BB0_1;
$L__BB0_2:
	st.global.f64 	[%rd4], %fd1;
	ret;
}
`

func TestInterpreter(t *testing.T) {
	p, err := parsePTX(looping)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 128
	memory := make([]byte, 8*rows)
	m := new(machine)
	m.bind(memory)
	s, err := m.runAll("sum", p, rows, rows)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		want := 0.0
		for k := 1; k <= i; k++ {
			want += 1 / float64(k)
		}
		if got := math.Float64frombits(binary.LittleEndian.Uint64(memory[8*i:])); got != want {
			t.Errorf("thread %d: %g, want %g", i, got, want)
		}
	}
	// A pass has a conversion, a sum, and a quotient that counts as more. Thread i makes i passes, and a warp as many
	// as its last thread.
	pass := 2 + weights["div.f64"]
	if want := pass * (rows - 1) / 2; s.Row64 != want {
		t.Errorf("%g instructions of a row in double precision, want %g", s.Row64, want)
	}
	if want := pass * (31 + 63 + 95 + 127) / 4; s.Warp64 != want {
		t.Errorf("%g instructions of a warp in double precision, want %g", s.Warp64, want)
	}
	if s.Bytes != 8 {
		t.Errorf("%g bytes of a row, want 8", s.Bytes)
	}
	m.shared = map[uint64]bool{0: true}
	if s, err = m.runAll("sum", p, rows, rows); err != nil || s.Bytes != 8.*rows/chunkRows {
		t.Errorf("%g bytes of a row in shared memory, want %g; %v", s.Bytes, 8.*rows/chunkRows, err)
	}
}

// TestOperations: single instructions against values that are known.
func TestOperations(t *testing.T) {
	bits := math.Float32bits
	for text, want := range map[string]uint64{
		"add.s32 %r1, 4294967295, 2":                         1,
		"mul.wide.u32 %rd1, 4294967295, 4294967295":          4294967295 * 4294967295,
		"mul.wide.s32 %rd1, -3, 5":                           math.MaxUint64 - 14,
		"mul.hi.u32 %r1, 2147483648, 6":                      3,
		"shr.s32 %r1, -8, 1":                                 math.MaxUint32 - 3,
		"shr.u32 %r1, -8, 1":                                 math.MaxInt32 - 3,
		"shl.b32 %r1, 1, 32":                                 0,
		"min.s32 %r1, -1, 1":                                 math.MaxUint32,
		"min.u32 %r1, -1, 1":                                 1,
		"div.s32 %r1, -7, 2":                                 math.MaxUint32 - 2,
		"rem.u32 %r1, 7, 4":                                  3,
		"bfi.b32 %r1, 5, 255, 4, 2":                          255&^0x30 | 5<<4&0x30,
		"bfe.u32 %r1, 240, 4, 3":                             7,
		"clz.b32 %r1, 1":                                     31,
		"cvt.rzi.s32.f64 %r1, 0dC004000000000000":            math.MaxUint32 - 1, // -2.5
		"cvt.rmi.f64.f64 %fd1, 0dC004000000000000":           math.Float64bits(-3),
		"cvt.rn.f32.f64 %f1, 0d3FF0000000000000":             uint64(bits(1)),
		"max.f32 %f1, 0f7FC00000, 0f3F800000":                uint64(bits(1)), // NaN and 1
		"neg.f32 %f1, 0f3F800000":                            uint64(bits(-1)),
		"setp.ltu.f32 %p1, 0f7FC00000, 0f3F800000":           1,
		"setp.lt.f32 %p1, 0f7FC00000, 0f3F800000":            0,
		"setp.neu.f32 %p1, 0f7FC00000, 0f7FC00000":           1,
		"setp.lt.s32 %p1, -1, 1":                             1,
		"setp.lt.u32 %p1, -1, 1":                             0,
		"selp.b32 %r1, 7, 8, 0":                              8,
		"mov.b64 %rd1, {1, 2}":                               2<<32 | 1,
		"sqrt.rn.f64 %fd1, 0d4010000000000000":               math.Float64bits(2),
		"fma.rn.f32 %f1, 0f40000000, 0f40400000, 0f3F800000": uint64(bits(7)),
		"copysign.f32 %f1, 0fBF800000, 0f40000000":           uint64(bits(-2)),
		"setp.eq.and.s32 %p1, 3, 3, 1":                       1,
		"setp.eq.or.s32 %p1, 3, 4, 0":                        0,
	} {
		p, err := parsePTX(".visible .entry f() {\n" + text + ";\nret;\n}")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m := new(machine)
		if err := m.run(p, 0); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if m.register[0] != want {
			t.Errorf("%s: %#x, want %#x", text, m.register[0], want)
		}
	}
	for _, text := range []string{"tex.2d.v4.f32.s32 %r1, %r2", "setp.odd.s32 %p1, 1, 2", "add.s32 %r1, x, 1",
		"bra $nowhere"} {
		if _, err := parsePTX(".visible .entry f() {\n" + text + ";\n}"); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	p, err := parsePTX(".visible .entry f() {\nld.global.u32 %r1, [%rd1+4096];\nret;\n}")
	if err != nil {
		t.Fatal(err)
	}
	m := new(machine)
	m.bind(make([]byte, 4))
	if err := m.run(p, 0); err == nil || !strings.Contains(err.Error(), "thread 0") {
		t.Errorf("beyond the memory: %v", err)
	}
}

// TestEstimate: each of the three bounds of the model, by hand.
func TestEstimate(t *testing.T) {
	g := gpu{"", "GPU", 10, 1, 4, 1, 100}
	e := Executed{Stages: []ExecutedStage{
		{Stage: "a", Warp: 1280},            // 1280 / (4·10·32) = 1 ns
		{Stage: "b", Warp: 64, Warp64: 640}, // 640 / (10·32) = 2 ns
		{Stage: "c", Warp: 1, Bytes: 700},   // 7 ns
	}}
	rows, stages := g.estimate(&e)
	if math.Abs(rows-100) > 1e-9 {
		t.Errorf("%g million rows/s, want 100", rows)
	}
	want := "a 1.00 (instructions), b 2.00 (double precision), c 7.00 (memory)"
	if got := strings.Join(stages, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
