package main

import (
	"fmt"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
)

// readLibrary reads a file of shapes.
func readLibrary(path string) (*batch.Library, error) {
	shapes, names, err := dataset.ReadShapes(path)
	if err != nil {
		return nil, err
	}
	lib, err := batch.NewLibrary(shapes, names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return lib, nil
}

// writeLibrary writes a file of shapes.
func writeLibrary(path string, lib *batch.Library) error {
	shapes, names := libraryParts(lib)
	return dataset.WriteShapes(path, shapes, names)
}

// libraryParts lists the shapes of a library and their names.
func libraryParts(lib *batch.Library) (shapes []geom.Shape, names []string) {
	shapes, names = make([]geom.Shape, lib.Len()), make([]string, lib.Len())
	for i := range shapes {
		shapes[i], names[i] = lib.Shape(int32(i)), lib.Name(int32(i))
	}
	return shapes, names
}
