package store

import "time"

const (
	// ProcessAlive is how long a process counts as running after its last report.
	ProcessAlive = 30 * time.Second
	// MostProcesses bounds the processes that have a record.
	MostProcesses = 1000
	// ProcessesKept is how long the record of a process is kept after its last report.
	ProcessesKept = time.Hour
	// MostStopReads bounds the StopReads of one process.
	MostStopReads = 2 * MostStops
	// StopReadsKept is how long a StopRead is kept.
	StopReadsKept = 24 * time.Hour
)

// A Process is a process of the gateway that uses the store.
type Process struct {
	ID            string // random, and new at each start
	Name          string // host name and process id
	Version       string // release of the program
	Configuration string // hash of the configuration in use
	StartedAt     time.Time
	ReportedAt    time.Time // its last report
	// Read is the number of the last change that the process has read: see pat.ViewStore.
	Read int64
}

// Alive reports whether the last report of a process is recent.
func (p *Process) Alive(now time.Time) bool { return now.Sub(p.ReportedAt) <= ProcessAlive }

// A StopRead records that a process has read a change of a stop.
type StopRead struct {
	Change  int64 // pat.Stop.Change
	Process string
	At      time.Time
}

// A ProcessReport is what a process reports to the others. Reports may be repeated.
type ProcessReport struct {
	Process Process // ReportedAt is set by the store
	Stops   []StopRead
	Figures []CallFigures
}
