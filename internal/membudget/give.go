package membudget

import (
	"runtime"
	"runtime/debug"
)

// GiveBack returns to the system what the runtime holds and nobody uses. It collects twice, since a first collection leaves pools what
// they hold, and takes a tenth of a second where there is much: it is for when a lot has ended.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
