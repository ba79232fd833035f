package membudget

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// UnmapProgram removes the pages of the program's own file from the process, and returns how many bytes were resident. Used pages are
// loaded again from the page cache; those used only at the start are not. The system may then drop these first, and they do not count as
// resident. It skips a mapping if a page was changed, for example by relocations, a debugger or a probe.
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
			return resident, fmt.Errorf("taking the pages of %s out of the process: %w", program, failed)
		}
		resident += m.resident
	}
	return resident, nil
}
