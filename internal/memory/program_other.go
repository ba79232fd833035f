//go:build !linux

package memory

// UnmapProgram does nothing here.
func UnmapProgram() (resident int64, err error) { return 0, nil }
