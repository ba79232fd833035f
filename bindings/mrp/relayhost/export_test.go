package relayhost

import "time"

// Bounded returns options with smaller bounds.
func (o Options) Bounded(header time.Duration, all, perAddress int) Options {
	o.bounds = bounds{header: header, all: all, perAddress: perAddress}
	return o
}
