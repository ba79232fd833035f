package store

import "time"

// MostReloads bounds the reloads that are kept, of all processes.
const MostReloads = 200

// A Reload is a reload of the configuration in one process.
type Reload struct {
	At      time.Time
	Process string // Process.Name
	Record  []byte // JSON of package admin
}
