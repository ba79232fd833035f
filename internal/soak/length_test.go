//go:build !soak

package soak

import "time"

// length is how long each test loads the gateways.
const length = time.Second

// rest is the minimum pause of a caller between two attempts.
const rest = 20 * time.Millisecond

// refusedRest is the pause of an agent after a response that the service is unavailable.
const refusedRest = 300 * time.Millisecond

// together is how many tests run at the same time. They mostly wait.
const together = 4

// floorTimes is the factor of the floors, compared to the shortest run.
const floorTimes = 1
