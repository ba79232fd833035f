package membudget

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// UnmapProgram removes the pages of the program's own file from the process, and returns how many bytes of them were resident. Pages that
// are used again are loaded from the page cache. Pages that were used only at the start are not: they no longer count as resident, and the
// system may drop them first. UnmapProgram skips a mapping if one of its pages was changed, for example by relocations, a debugger or a
// probe.
func UnmapProgram() (resident int64, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	unchanged, err := unchangedMappings(f, program)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	for _, m := range unchanged {
		if _, _, failed := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); failed != 0 {
			return resident, fmt.Errorf("removing the pages of %s from the process: %w", program, failed)
		}
		resident += m.resident
	}
	return resident, nil
}
