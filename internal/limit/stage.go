package limit

// A Stage is how close a limit is to its end.
type Stage uint8

// The stages of a limit. Near means that at least 80 % of it is used, and Reached that nothing is left.
const (
	Open Stage = iota
	Near
	Reached
)

// Stage returns the stage of the limit.
func (s Status) Stage() Stage {
	switch {
	case s.Left <= 0:
		return Reached
	case s.Left <= s.Max/5:
		return Near
	}
	return Open
}
