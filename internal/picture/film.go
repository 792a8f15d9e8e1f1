package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math"
	"sort"

	"clearance/internal/fault"
	"clearance/internal/scenefile"
)

// PNG draws a picture as the bytes of a PNG file.
func PNG(ctx context.Context, d *scenefile.Document, o Options) ([]byte, error) {
	m, err := Draw(ctx, d, o)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&out, m); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Frames draws pictures of the world of a row at times, by one camera.
func Frames(ctx context.Context, d *scenefile.Document, o Options) ([]*image.NRGBA, error) {
	s, o, err := prepared(d, o)
	if err != nil {
		return nil, err
	}
	times := o.Times
	if w := s.world(o.Row); len(times) == 0 && w != nil {
		times = w.Times
	}
	if len(times) == 0 || len(times) > MaxFrames {
		return nil, fmt.Errorf("picture: a film of %d frames, want 1 to %d", len(times), MaxFrames)
	}
	v, err := s.viewOf(&o, times)
	if err != nil {
		return nil, err
	}
	each := o
	each.Workers = 1
	out := make([]*image.NRGBA, len(times))
	return out, fault.Each(ctx, o.Workers, len(times), func(i int) (err error) {
		out[i], err = s.draw(ctx, &each, v, times[i])
		return err
	})
}

// Film draws a GIF that plays without end.
func Film(ctx context.Context, d *scenefile.Document, o Options) ([]byte, error) {
	frames, err := Frames(ctx, d, o)
	if err != nil {
		return nil, err
	}
	if o.FrameTime == 0 {
		o.FrameTime = 0.04
	}
	delay := math.Round(100 * o.FrameTime)
	if !(delay >= 2 && delay <= 6000) { // browsers slow down what is faster
		return nil, fmt.Errorf("picture: a frame of %g s, want 0.02 to 60", o.FrameTime)
	}
	p := paletteOf(frames)
	g := &gif.GIF{Config: image.Config{ColorModel: p.colors, Width: frames[0].Rect.Dx(), Height: frames[0].Rect.Dy()}}
	g.Image, g.Delay = make([]*image.Paletted, len(frames)), make([]int, len(frames))
	whole := make([]*image.Paletted, len(frames))
	if err := fault.Each(ctx, workersOf(&o), len(frames), func(i int) error {
		whole[i] = p.image(frames[i])
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range whole {
		g.Delay[i] = int(delay)
		if g.Image[i] = whole[i]; i > 0 {
			g.Image[i] = changed(whole[i-1], whole[i])
		}
	}
	var out bytes.Buffer
	if err := gif.EncodeAll(&out, g); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// A colorTable is the palette of a film: at most 255 colors, and the transparent one at the end. near maps a color of
// six bits a channel to its index.
type colorTable struct {
	colors color.Palette
	near   []uint8
}

// levels is the number of levels of a channel by which colors are counted.
const levels = 64

func key(r, g, b uint8) int { return (int(r)>>2*levels+int(g)>>2)*levels + int(b)>>2 }

// A bin is the sum of the colors of pixels.
type bin struct {
	sum   [3]float64
	count float64
}

func (b *bin) mean(k int) float64 { return b.sum[k] / b.count }

// paletteOf cuts the colors of pictures into boxes at the medians of their widest channels [Heckbert, Color Image
// Quantization for Frame Buffer Display, 1982]; a color of the palette is the mean of a box. Counts enter by their
// square roots, so that the background does not take most of the palette.
func paletteOf(frames []*image.NRGBA) *colorTable {
	bins := make([]bin, levels*levels*levels)
	stride := 1 + len(frames)/32
	for i := 0; i < len(frames); i += stride {
		pix := frames[i].Pix
		for k := 0; k < len(pix); k += 4 {
			b := &bins[key(pix[k], pix[k+1], pix[k+2])]
			for c := range 3 {
				b.sum[c] += float64(pix[k+c])
			}
			b.count++
		}
	}
	var used []bin
	for _, b := range bins {
		if b.count > 0 {
			scale := 1 / math.Sqrt(b.count)
			used = append(used, bin{[3]float64{b.sum[0] * scale, b.sum[1] * scale, b.sum[2] * scale}, b.count * scale})
		}
	}
	boxes := [][]bin{used}
	for len(boxes) < 255 {
		widest, channel, spread := -1, 0, 0.0
		for i, box := range boxes {
			if c, s := widestChannel(box); s > spread {
				widest, channel, spread = i, c, s
			}
		}
		if widest < 0 {
			break
		}
		box := boxes[widest]
		sort.SliceStable(box, func(i, j int) bool { return box[i].mean(channel) < box[j].mean(channel) })
		half, k := 0.0, 0
		for _, b := range box {
			half += b.count / 2
		}
		for k = 0; k < len(box)-1 && (half > 0 || k == 0); k++ {
			half -= box[k].count
		}
		boxes[widest] = box[:k]
		boxes = append(boxes, box[k:])
	}
	t := &colorTable{near: make([]uint8, len(bins))}
	for _, box := range boxes {
		var all bin
		for _, b := range box {
			for c := range 3 {
				all.sum[c] += b.sum[c]
			}
			all.count += b.count
		}
		t.colors = append(t.colors,
			color.RGBA{uint8(all.mean(0) + 0.5), uint8(all.mean(1) + 0.5), uint8(all.mean(2) + 0.5), 255})
	}
	for i := range t.near {
		wide := 256 / levels
		c := [3]int{i/(levels*levels)*wide + wide/2, i/levels%levels*wide + wide/2, i%levels*wide + wide/2}
		best := math.MaxInt
		for k, p := range t.colors {
			q := p.(color.RGBA)
			dr, dg, db := c[0]-int(q.R), c[1]-int(q.G), c[2]-int(q.B)
			if d := 2*dr*dr + 4*dg*dg + db*db; d < best {
				best, t.near[i] = d, uint8(k)
			}
		}
	}
	t.colors = append(t.colors, color.RGBA{})
	return t
}

// widestChannel is the channel in which the colors of a box differ most, by the variance times the number of pixels.
func widestChannel(box []bin) (channel int, spread float64) {
	for c := range 3 {
		var n, sum, squares float64
		for i := range box {
			x := box[i].mean(c)
			n, sum, squares = n+box[i].count, sum+box[i].count*x, squares+box[i].count*x*x
		}
		if s := squares - sum*sum/n; len(box) > 1 && s > spread {
			channel, spread = c, s
		}
	}
	return channel, spread
}

// image is a picture in the colors of the table.
func (t *colorTable) image(m *image.NRGBA) *image.Paletted {
	out := image.NewPaletted(m.Rect, t.colors)
	for i := range out.Pix {
		p := m.Pix[4*i:]
		out.Pix[i] = t.near[key(p[0], p[1], p[2])]
	}
	return out
}

// changed is the least rectangle in which a picture differs from the one before; equal pixels are transparent in it.
func changed(before, after *image.Paletted) *image.Paletted {
	box := image.Rectangle{}
	w := after.Rect.Dx()
	for i := range after.Pix {
		if after.Pix[i] != before.Pix[i] {
			box = box.Union(image.Rect(i%w, i/w, i%w+1, i/w+1))
		}
	}
	if box.Empty() {
		box = image.Rect(0, 0, 1, 1)
	}
	out := image.NewPaletted(box, after.Palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := after.Pix[y*w+x]
			if c == before.Pix[y*w+x] {
				c = uint8(len(after.Palette) - 1)
			}
			out.SetColorIndex(x, y, c)
		}
	}
	return out
}

// Pixels draws a picture as red, green and blue bytes, row by row from the top.
func Pixels(ctx context.Context, d *scenefile.Document, o Options) ([]byte, error) {
	m, err := Draw(ctx, d, o)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(m.Pix)/4*3)
	for i := 0; i < len(m.Pix); i += 4 {
		out = append(out, m.Pix[i:i+3]...)
	}
	return out, nil
}
