package dataset

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// zstdDecoder refuses to write beyond the capacity of its destination.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
})

// unpack decompresses src into all of dst, whose length is what the header of the page
// declares. It allocates no more than a block beyond that, whatever src unpacks to.
func unpack(codec compress.Compression, dst, src []byte) error {
	if len(dst) == 0 && len(src) == 0 {
		return nil
	}
	var out []byte
	switch codec {
	case compress.Codecs.Uncompressed:
		out = src
		copy(dst, src)
	case compress.Codecs.Zstd:
		d, err := zstdDecoder()
		if err != nil {
			return err
		}
		if out, err = d.DecodeAll(src, dst[:0:len(dst)]); err != nil {
			return fmt.Errorf("%v: %w", codec, err)
		}
	case compress.Codecs.Snappy:
		// A block begins with the length that it unpacks to, which the decoder allocates.
		if n, k := binary.Uvarint(src); k <= 0 || n != uint64(len(dst)) {
			return fmt.Errorf("%v: unpacks to %d bytes, its header declares %d", codec, n, len(dst))
		}
		fallthrough
	default: // these stop at the end of dst
		c, err := compress.GetCodec(codec)
		if err != nil {
			return err
		}
		if out, err = compress.Decode(c, dst, src); err != nil {
			return fmt.Errorf("%v: %w", codec, err)
		}
	}
	if len(out) != len(dst) {
		return fmt.Errorf("%v: unpacks to %d bytes, its header declares %d", codec, len(out), len(dst))
	}
	return nil
}
