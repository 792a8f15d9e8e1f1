package batch

import "context"

// Held is a batch that stays in the memory of a device between calls: its library, its pairs
// and the poses of its bodies. A rollout holds its worlds once and then updates the poses.
//
// The methods may be called by several goroutines; calls are serialized. After Close, and
// after the device was closed, they return errors.
type Held interface {
	// Len returns the number of rows.
	Len() int

	// Update reads the poses of in, an input of the same form and with as many rows as
	// the one that is held. Its shapes and templates are ignored.
	Update(ctx context.Context, in Input) error

	// Run answers all rows into out, which has o's columns and a status column. Rows
	// that the device declines keep the status they had. After an error the contents of
	// all rows are undefined.
	Run(ctx context.Context, o *Options, out *Results) error

	// Close frees the memory of the batch. Closing again does nothing.
	Close() error
}
