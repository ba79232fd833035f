//go:build !soak

package soak

import "time"

// length is how long each test loads the gateways.
const length = 2 * time.Second

// floorTimes is by how much more has to happen in that time than in the shortest.
const floorTimes = 1
