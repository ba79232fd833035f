package membudget

import (
	"runtime"
	"runtime/debug"
)

// GiveBack returns unused memory of the runtime to the system. It collects twice, because a first collection leaves pools their content,
// and takes a tenth of a second if there is much: use it after a lot has ended.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
