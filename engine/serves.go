package engine

import (
	"fmt"

	"clearance/batch"
	"clearance/internal/layout"
)

// methods are those that have pipelines.
var methods = []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR}

var precisions = []batch.Precision{batch.Single, batch.Double}

// serves is what the shaders answer.
var serves = batch.Serves{
	{Query: batch.Distance, Methods: methods, Precisions: precisions, Columns: layout.Served &^ batch.ColPoint},
	{Query: batch.Collide, Methods: methods, Precisions: precisions, Columns: layout.Served &^ batch.ColPoint},
	{Query: batch.Penetration, Methods: methods, Precisions: precisions, Columns: layout.Served &^ batch.ColPoint},
	{Query: batch.Growth, Methods: []batch.Method{batch.Auto}, Precisions: precisions,
		Columns: layout.Served},
}

// check reports options that make no sense, or that are not in the table.
func check(o *batch.Options) error {
	if err := serves.Check(backendName, o); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return o.Check()
}
