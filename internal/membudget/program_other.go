//go:build !linux

package membudget

// UnmapProgram does nothing here.
func UnmapProgram() (resident int64, err error) { return 0, nil }
