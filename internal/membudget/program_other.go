//go:build !linux

package membudget

// UnmapProgram does nothing on this system.
func UnmapProgram() (resident int64, err error) { return 0, nil }
