package store

import "github.com/uimgate/uimgate/internal/limit"

// A Remainder is the state of a limit that was read without a call.
type Remainder struct {
	limit.Status
	// AtLeast means that Left is a lower bound: other processes may have taken units in advance that they have not used.
	AtLeast bool
}
