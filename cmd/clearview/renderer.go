//go:build clearview && cgo

package main

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"
	"unsafe"

	"github.com/go-gl/gl/v3.3-core/gl"

	"clearance/internal/tessellate"
	"clearance/internal/view"
)

// A renderer draws frames with OpenGL 3.3. It belongs to the thread of its context.
type renderer struct {
	meshProgram, pointProgram, textProgram uint32
	meshes                                 map[*tessellate.Mesh]*gpuMesh
	instances, points, quads               uint32 // buffers
	pointArray, quadArray                  uint32
	atlas                                  uint32
	atlasSize                              image.Point
	frame                                  int
	scale                                  float32 // pixels of the frame buffer per pixel of the screen
}

// gpuMesh is a mesh in buffers.
type gpuMesh struct {
	array, vertices, triangles, edges uint32
	triangleCount, edgeCount          int32
	used                              int // the last frame that drew it
}

const meshVertex = `#version 330 core
layout(location=0) in vec3 position;
layout(location=1) in vec3 normal;
layout(location=2) in vec4 row0;
layout(location=3) in vec4 row1;
layout(location=4) in vec4 row2;
layout(location=5) in vec4 color;
uniform mat4 matrix;
uniform float pull; // of edges towards the eye
out vec3 n;
out vec4 c;
void main() {
	vec4 p = vec4(position, 1);
	gl_Position = matrix*vec4(dot(row0, p), dot(row1, p), dot(row2, p), 1);
	gl_Position.z -= pull*gl_Position.w;
	n = vec3(dot(row0.xyz, normal), dot(row1.xyz, normal), dot(row2.xyz, normal));
	c = color;
}
`

const meshFragment = `#version 330 core
in vec3 n;
in vec4 c;
uniform vec3 eye;
uniform vec4 edge; // the color of edges, if its opacity is not 0
out vec4 result;
void main() {
	if (edge.a > 0) {
		result = vec4(edge.rgb, edge.a*c.a);
		return;
	}
	vec3 u = normalize(n);
	float light = 0.42 + 0.40*max(dot(u, eye), 0) + 0.18*max(dot(u, normalize(vec3(0.3, -0.2, 0.9))), 0);
	result = vec4(c.rgb*light, c.a);
}
`

const pointVertex = `#version 330 core
layout(location=0) in vec3 position;
layout(location=1) in float size;
layout(location=2) in vec4 color;
uniform mat4 matrix;
uniform float scale;
out vec4 c;
void main() {
	gl_Position = matrix*vec4(position, 1);
	gl_PointSize = size*scale;
	c = color;
}
`

const pointFragment = `#version 330 core
in vec4 c;
uniform int disc;
out vec4 result;
void main() {
	if (disc != 0 && length(gl_PointCoord - vec2(0.5)) > 0.5)
		discard;
	result = c;
}
`

const textVertex = `#version 330 core
layout(location=0) in vec2 position; // pixels
layout(location=1) in vec2 place;    // in the atlas, pixels
layout(location=2) in vec4 color;
uniform vec2 screen;
uniform vec2 atlasSize;
out vec2 at;
out vec4 c;
void main() {
	gl_Position = vec4(2*position.x/screen.x - 1, 1 - 2*position.y/screen.y, 0, 1);
	at = place/atlasSize;
	c = color;
}
`

const textFragment = `#version 330 core
in vec2 at;
in vec4 c;
uniform sampler2D atlas;
out vec4 result;
void main() { result = vec4(c.rgb, c.a*texture(atlas, at).r); }
`

// newRenderer prepares the context of this thread.
func newRenderer() (*renderer, error) {
	if err := gl.Init(); err != nil {
		return nil, fmt.Errorf("OpenGL 3.3: %w", err)
	}
	r := &renderer{meshes: map[*tessellate.Mesh]*gpuMesh{}, scale: 1}
	for _, p := range []struct {
		program          *uint32
		vertex, fragment string
	}{{&r.meshProgram, meshVertex, meshFragment}, {&r.pointProgram, pointVertex, pointFragment},
		{&r.textProgram, textVertex, textFragment}} {
		var err error
		if *p.program, err = link(p.vertex, p.fragment); err != nil {
			return nil, err
		}
	}
	gl.GenBuffers(1, &r.instances)
	gl.GenBuffers(1, &r.points)
	gl.GenBuffers(1, &r.quads)
	gl.GenVertexArrays(1, &r.pointArray)
	gl.BindVertexArray(r.pointArray)
	gl.BindBuffer(gl.ARRAY_BUFFER, r.points)
	stride := int32(unsafe.Sizeof(view.Point{}))
	attribute(0, 3, stride, unsafe.Offsetof(view.Point{}.At))
	attribute(1, 1, stride, unsafe.Offsetof(view.Point{}.Size))
	attribute(2, 4, stride, unsafe.Offsetof(view.Point{}.Color))
	gl.GenVertexArrays(1, &r.quadArray)
	gl.BindVertexArray(r.quadArray)
	gl.BindBuffer(gl.ARRAY_BUFFER, r.quads)
	attribute(0, 2, 32, 0)
	attribute(1, 2, 32, 8)
	attribute(2, 4, 32, 16)
	atlas := view.Atlas()
	r.atlasSize = atlas.Rect.Size()
	gl.GenTextures(1, &r.atlas)
	gl.BindTexture(gl.TEXTURE_2D, r.atlas)
	gl.PixelStorei(gl.UNPACK_ALIGNMENT, 1)
	gl.TexImage2D(gl.TEXTURE_2D, 0, gl.R8, int32(atlas.Stride), int32(r.atlasSize.Y), 0, gl.RED, gl.UNSIGNED_BYTE,
		gl.Ptr(atlas.Pix))
	gl.TexParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST)
	gl.TexParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST)
	gl.Enable(gl.PROGRAM_POINT_SIZE)
	gl.BlendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA)
	return r, glError("the preparation")
}

func attribute(location uint32, width, stride int32, offset uintptr) {
	gl.EnableVertexAttribArray(location)
	gl.VertexAttribPointerWithOffset(location, width, gl.FLOAT, false, stride, offset)
}

func glError(what string) error {
	if code := gl.GetError(); code != gl.NO_ERROR {
		return fmt.Errorf("OpenGL: error %#x in %s", code, what)
	}
	return nil
}

func link(vertex, fragment string) (uint32, error) {
	program := gl.CreateProgram()
	for _, s := range []struct {
		kind uint32
		text string
	}{{gl.VERTEX_SHADER, vertex}, {gl.FRAGMENT_SHADER, fragment}} {
		shader := gl.CreateShader(s.kind)
		text, free := gl.Strs(s.text + "\x00")
		gl.ShaderSource(shader, 1, text, nil)
		free()
		gl.CompileShader(shader)
		var ok, length int32
		if gl.GetShaderiv(shader, gl.COMPILE_STATUS, &ok); ok == gl.FALSE {
			gl.GetShaderiv(shader, gl.INFO_LOG_LENGTH, &length)
			log := strings.Repeat("\x00", int(length)+1)
			gl.GetShaderInfoLog(shader, length, nil, gl.Str(log))
			return 0, errors.New("OpenGL: a shader is refused: " + strings.TrimRight(log, "\x00"))
		}
		gl.AttachShader(program, shader)
		gl.DeleteShader(shader)
	}
	gl.LinkProgram(program)
	var ok int32
	if gl.GetProgramiv(program, gl.LINK_STATUS, &ok); ok == gl.FALSE {
		return 0, errors.New("OpenGL: a program of shaders cannot be linked")
	}
	return program, nil
}

// upload returns the buffers of a mesh, which are made once.
func (r *renderer) upload(m *tessellate.Mesh) *gpuMesh {
	if g, ok := r.meshes[m]; ok {
		g.used = r.frame
		return g
	}
	g := &gpuMesh{triangleCount: int32(3 * len(m.Triangles)), edgeCount: int32(2 * len(m.Edges)), used: r.frame}
	r.meshes[m] = g
	vertices := make([]float32, 0, 6*len(m.Vertices))
	for i, v := range m.Vertices {
		n := m.Normals[i]
		vertices = append(vertices, float32(v.X), float32(v.Y), float32(v.Z), float32(n.X), float32(n.Y), float32(n.Z))
	}
	gl.GenVertexArrays(1, &g.array)
	gl.BindVertexArray(g.array)
	gl.GenBuffers(1, &g.vertices)
	gl.GenBuffers(1, &g.triangles)
	gl.GenBuffers(1, &g.edges)
	gl.BindBuffer(gl.ARRAY_BUFFER, g.vertices)
	if len(vertices) > 0 {
		gl.BufferData(gl.ARRAY_BUFFER, 4*len(vertices), gl.Ptr(vertices), gl.STATIC_DRAW)
	}
	attribute(0, 3, 24, 0)
	attribute(1, 3, 24, 12)
	for location := uint32(2); location <= 5; location++ {
		gl.EnableVertexAttribArray(location)
		gl.VertexAttribDivisor(location, 1)
	}
	gl.BindBuffer(gl.ELEMENT_ARRAY_BUFFER, g.edges)
	if len(m.Edges) > 0 {
		gl.BufferData(gl.ELEMENT_ARRAY_BUFFER, 8*len(m.Edges), gl.Ptr(m.Edges), gl.STATIC_DRAW)
	}
	gl.BindBuffer(gl.ELEMENT_ARRAY_BUFFER, g.triangles)
	if len(m.Triangles) > 0 {
		gl.BufferData(gl.ELEMENT_ARRAY_BUFFER, 12*len(m.Triangles), gl.Ptr(m.Triangles), gl.STATIC_DRAW)
	}
	return g
}

// draw draws a frame into what is bound. width and height are pixels of the screen.
func (r *renderer) draw(f *view.Frame, width, height int) {
	r.frame++
	gl.Disable(gl.SCISSOR_TEST)
	gl.DepthMask(true)
	c := view.Background
	gl.ClearColor(c[0], c[1], c[2], 1)
	gl.Clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT)
	for i := range f.Passes {
		r.pass(&f.Passes[i], height, i > 0)
	}
	r.text(f.Quads, width, height)
	for m, g := range r.meshes { // of differences that are no longer shown
		if r.frame-g.used > 600 {
			gl.DeleteVertexArrays(1, &g.array)
			buffers := []uint32{g.vertices, g.triangles, g.edges}
			gl.DeleteBuffers(3, &buffers[0])
			delete(r.meshes, m)
		}
	}
}

func (r *renderer) pass(p *view.Pass, height int, inset bool) {
	s := p.Screen
	px := func(v int) int32 { return int32(float32(v) * r.scale) }
	gl.Viewport(px(s.Min.X), px(height-s.Max.Y), px(s.Dx()), px(s.Dy()))
	if inset {
		gl.Enable(gl.SCISSOR_TEST)
		gl.Scissor(px(s.Min.X), px(height-s.Max.Y), px(s.Dx()), px(s.Dy()))
		gl.ClearColor(1, 1, 1, 1)
		gl.Clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT)
		gl.Disable(gl.SCISSOR_TEST)
	}
	gl.Enable(gl.DEPTH_TEST)
	gl.Enable(gl.BLEND)
	gl.Enable(gl.CULL_FACE)
	gl.UseProgram(r.meshProgram)
	gl.UniformMatrix4fv(r.uniform(r.meshProgram, "matrix"), 1, false, &p.Matrix[0])
	gl.Uniform3f(r.uniform(r.meshProgram, "eye"), p.Eye[0], p.Eye[1], p.Eye[2])
	for _, opaque := range []bool{true, false} {
		gl.DepthMask(opaque)
		for i := range p.Batches {
			b := &p.Batches[i]
			if len(b.Instances) > 0 && (b.Instances[0].Color[3] == 1) == opaque {
				r.batch(b)
			}
		}
	}
	gl.DepthMask(true)
	gl.Disable(gl.DEPTH_TEST)
	gl.UseProgram(r.pointProgram)
	gl.UniformMatrix4fv(r.uniform(r.pointProgram, "matrix"), 1, false, &p.Matrix[0])
	gl.Uniform1f(r.uniform(r.pointProgram, "scale"), r.scale)
	r.pointsOf(p.Lines, gl.LINES, 0)
	r.pointsOf(p.Points, gl.POINTS, 1)
}

func (r *renderer) uniform(program uint32, name string) int32 {
	return gl.GetUniformLocation(program, gl.Str(name+"\x00"))
}

// batch draws the instances of a mesh. All of a batch are opaque, or none.
func (r *renderer) batch(b *view.Batch) {
	g := r.upload(b.Mesh)
	stride := int32(unsafe.Sizeof(view.Instance{}))
	gl.BindVertexArray(g.array)
	gl.BindBuffer(gl.ARRAY_BUFFER, r.instances)
	gl.BufferData(gl.ARRAY_BUFFER, int(stride)*len(b.Instances), gl.Ptr(b.Instances), gl.STREAM_DRAW)
	for k := range uint32(4) {
		gl.VertexAttribPointerWithOffset(2+k, 4, gl.FLOAT, false, stride, uintptr(16*k))
	}
	n := int32(len(b.Instances))
	edge := r.uniform(r.meshProgram, "edge")
	pull := r.uniform(r.meshProgram, "pull")
	gl.Uniform4f(edge, 0, 0, 0, 0)
	gl.Uniform1f(pull, 0)
	if g.triangleCount > 0 {
		gl.BindBuffer(gl.ELEMENT_ARRAY_BUFFER, g.triangles)
		gl.DrawElementsInstanced(gl.TRIANGLES, g.triangleCount, gl.UNSIGNED_INT, nil, n)
	}
	if g.edgeCount > 0 && (b.Outlines || g.triangleCount == 0) {
		c := view.EdgeColor
		gl.Uniform4f(edge, c[0], c[1], c[2], c[3])
		gl.Uniform1f(pull, 1e-4)
		gl.BindBuffer(gl.ELEMENT_ARRAY_BUFFER, g.edges)
		gl.DrawElementsInstanced(gl.LINES, g.edgeCount, gl.UNSIGNED_INT, nil, n)
	}
}

func (r *renderer) pointsOf(points []view.Point, mode uint32, disc int32) {
	if len(points) == 0 {
		return
	}
	gl.Uniform1i(r.uniform(r.pointProgram, "disc"), disc)
	gl.BindVertexArray(r.pointArray)
	gl.BindBuffer(gl.ARRAY_BUFFER, r.points)
	gl.BufferData(gl.ARRAY_BUFFER, int(unsafe.Sizeof(points[0]))*len(points), gl.Ptr(points), gl.STREAM_DRAW)
	gl.DrawArrays(mode, 0, int32(len(points)))
}

func (r *renderer) text(quads []view.Quad, width, height int) {
	if len(quads) == 0 {
		return
	}
	vertices := make([]float32, 0, 48*len(quads))
	for _, q := range quads {
		corner := func(x, y, u, v int) {
			vertices = append(vertices, float32(x), float32(y), float32(u), float32(v))
			vertices = append(vertices, q.Color[:]...)
		}
		s, t := q.Screen, q.Atlas
		corner(s.Min.X, s.Min.Y, t.Min.X, t.Min.Y)
		corner(s.Min.X, s.Max.Y, t.Min.X, t.Max.Y)
		corner(s.Max.X, s.Max.Y, t.Max.X, t.Max.Y)
		corner(s.Min.X, s.Min.Y, t.Min.X, t.Min.Y)
		corner(s.Max.X, s.Max.Y, t.Max.X, t.Max.Y)
		corner(s.Max.X, s.Min.Y, t.Max.X, t.Min.Y)
	}
	gl.Viewport(0, 0, int32(float32(width)*r.scale), int32(float32(height)*r.scale))
	gl.Disable(gl.CULL_FACE)
	gl.UseProgram(r.textProgram)
	gl.Uniform2f(r.uniform(r.textProgram, "screen"), float32(width), float32(height))
	gl.Uniform2f(r.uniform(r.textProgram, "atlasSize"), float32(r.atlasSize.X), float32(r.atlasSize.Y))
	gl.BindTexture(gl.TEXTURE_2D, r.atlas)
	gl.BindVertexArray(r.quadArray)
	gl.BindBuffer(gl.ARRAY_BUFFER, r.quads)
	gl.BufferData(gl.ARRAY_BUFFER, 4*len(vertices), gl.Ptr(vertices), gl.STREAM_DRAW)
	gl.DrawArrays(gl.TRIANGLES, 0, int32(len(vertices)/8))
}

// wait returns when all is drawn.
func (r *renderer) wait() { gl.Finish() }

// device is the name of what draws.
func (r *renderer) device() string { return gl.GoStr(gl.GetString(gl.RENDERER)) }

func (r *renderer) close() {
	for _, p := range []uint32{r.meshProgram, r.pointProgram, r.textProgram} {
		gl.DeleteProgram(p)
	}
}

// bindScreen draws to the window, whose frame buffer has so many pixels for a width of the screen.
func (r *renderer) bindScreen(pixels, width int) {
	gl.BindFramebuffer(gl.FRAMEBUFFER, 0)
	r.scale = float32(pixels) / float32(max(width, 1))
}

// A target is a picture in memory, with samples for each pixel.
type target struct {
	width, height  int32
	samples, plain uint32 // frame buffers
	buffers        [3]uint32
}

func newTarget(width, height, samples int) (*target, error) {
	t := &target{width: int32(width), height: int32(height)}
	gl.GenRenderbuffers(3, &t.buffers[0])
	gl.GenFramebuffers(1, &t.samples)
	gl.GenFramebuffers(1, &t.plain)
	storage := func(i int, samples int32, format, attachment uint32) {
		gl.BindRenderbuffer(gl.RENDERBUFFER, t.buffers[i])
		gl.RenderbufferStorageMultisample(gl.RENDERBUFFER, samples, format, t.width, t.height)
		gl.FramebufferRenderbuffer(gl.FRAMEBUFFER, attachment, gl.RENDERBUFFER, t.buffers[i])
	}
	count := int32(samples)
	if count == 1 {
		count = 0
	}
	gl.BindFramebuffer(gl.FRAMEBUFFER, t.samples)
	storage(0, count, gl.RGBA8, gl.COLOR_ATTACHMENT0)
	storage(1, count, gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT)
	if s := gl.CheckFramebufferStatus(gl.FRAMEBUFFER); s != gl.FRAMEBUFFER_COMPLETE {
		return nil, fmt.Errorf("OpenGL: a frame buffer of %d by %d pixels is refused: %#x", width, height, s)
	}
	gl.BindFramebuffer(gl.FRAMEBUFFER, t.plain)
	storage(2, 0, gl.RGBA8, gl.COLOR_ATTACHMENT0)
	return t, glError("the frame buffer")
}

// bind draws to the picture.
func (t *target) bind(r *renderer) {
	gl.BindFramebuffer(gl.FRAMEBUFFER, t.samples)
	r.scale = 1
}

// pixels returns the picture.
func (t *target) pixels() *image.NRGBA {
	gl.BindFramebuffer(gl.READ_FRAMEBUFFER, t.samples)
	gl.BindFramebuffer(gl.DRAW_FRAMEBUFFER, t.plain)
	gl.BlitFramebuffer(0, 0, t.width, t.height, 0, 0, t.width, t.height, gl.COLOR_BUFFER_BIT, gl.NEAREST)
	gl.BindFramebuffer(gl.READ_FRAMEBUFFER, t.plain)
	flipped := make([]uint8, 4*t.width*t.height)
	gl.PixelStorei(gl.PACK_ALIGNMENT, 1)
	gl.ReadPixels(0, 0, t.width, t.height, gl.RGBA, gl.UNSIGNED_BYTE, gl.Ptr(flipped))
	picture := image.NewNRGBA(image.Rect(0, 0, int(t.width), int(t.height)))
	row := 4 * int(t.width)
	for y := range int(t.height) {
		copy(picture.Pix[y*row:][:row], flipped[(int(t.height)-1-y)*row:][:row])
	}
	for i := 3; i < len(picture.Pix); i += 4 {
		picture.Pix[i] = 255
	}
	return picture
}

func (t *target) close() {
	gl.DeleteFramebuffers(1, &t.samples)
	gl.DeleteFramebuffers(1, &t.plain)
	gl.DeleteRenderbuffers(3, &t.buffers[0])
	gl.BindFramebuffer(gl.FRAMEBUFFER, 0)
}

// writePNG writes a picture.
func writePNG(name string, picture image.Image) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	return encoder.Encode(file, picture)
}
