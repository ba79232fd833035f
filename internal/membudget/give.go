package membudget

import (
	"runtime"
	"runtime/debug"
)

// GiveBack returns unused memory of the runtime to the system. It collects twice, because the first collection leaves the content of
// pools, and takes a tenth of a second if there is much: use it after many requests have ended.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
