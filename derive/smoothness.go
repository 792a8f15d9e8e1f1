package derive

import "clearance/batch"

// Smoothness says what the derivatives of a row are.
type Smoothness = batch.Smoothness

// Codes of smoothness.
const (
	None           = batch.NoDerivative
	Smooth         = batch.SmoothPair
	UniqueFeatures = batch.UniqueFeatures
	NotUnique      = batch.NotUnique
	NearSingular   = batch.NearSingular
	Smoothed       = batch.SmoothedPair
)
