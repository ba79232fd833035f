//go:build soak

package soak

import "time"

// length is how long each test loads the gateways.
const length = time.Minute
