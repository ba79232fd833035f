//go:build soak

package soak

import "time"

// length is how long each test loads the gateways.
const length = time.Minute

// floorTimes is the factor of the floors, compared to the shortest run.
const floorTimes = 5
