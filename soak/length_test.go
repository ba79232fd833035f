//go:build !soak

package soak

import "time"

// length is how long each test loads the gateways.
const length = 8 * time.Second
