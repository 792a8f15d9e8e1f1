package main

// #include "clearance.h"
import "C"

import (
	"context"
	"encoding/json"
	"strings"
	"unsafe"

	"clearance/internal/picture"
	"clearance/internal/scenefile"
)

//export clearance_picture
func clearance_picture(document, options, format *C.clearance_text, out unsafe.Pointer, size C.int64_t,
	needed *C.int64_t, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if needed == nil {
			return argument("no place for the size of the picture")
		}
		drawn, err := pictureOf(text(document), text(options), text(format))
		if err != nil {
			return failure{codeArgument, err}
		}
		*needed = C.int64_t(len(drawn))
		if out != nil && int64(size) >= int64(len(drawn)) {
			copy(unsafe.Slice((*byte)(out), len(drawn)), drawn)
		}
		return nil
	}())
}

// pictureOf draws a document as a file or as pixels.
func pictureOf(document, options, format string) ([]byte, error) {
	d, err := scenefile.Read(strings.NewReader(document))
	if err != nil {
		return nil, err
	}
	var o picture.Options
	decoder := json.NewDecoder(strings.NewReader(options))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return nil, argument("options: %v", err)
	}
	ctx := context.Background()
	switch format {
	case "png":
		return picture.PNG(ctx, d, o)
	case "gif":
		return picture.Film(ctx, d, o)
	case "rgb":
		return picture.Pixels(ctx, d, o)
	}
	return nil, argument("format %q, want png, gif or rgb", format)
}
