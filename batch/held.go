package batch

import "context"

// Held is a batch that stays on a device between calls: its library, its pairs and the
// poses of its bodies. A rollout holds its worlds once and then only moves them.
//
// Its methods may be called by several goroutines; one works at a time, the others
// wait. After Close, and after its device was closed, they return errors.
type Held interface {
	// Len returns the number of rows.
	Len() int

	// Update reads the poses of in anew. It is an input of the same form, with as many
	// rows, as the one that is held; its shapes and its templates are not looked at.
	Update(ctx context.Context, in Input) error

	// Run answers all rows into out, which has o's columns and a status column. Rows
	// that the device declines keep the status they had. After an error of Run nothing
	// can be said of any row.
	Run(ctx context.Context, o *Options, out *Results) error

	// Close frees what is held. It may be called twice.
	Close() error
}
