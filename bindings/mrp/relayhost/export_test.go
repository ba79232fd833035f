package relayhost

import "time"

// Bounded gives a host smaller bounds than usual.
func (o Options) Bounded(header time.Duration, all, perAddress int) Options {
	o.bounds = bounds{header: header, all: all, perAddress: perAddress}
	return o
}
