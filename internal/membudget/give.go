package membudget

import (
	"runtime"
	"runtime/debug"
)

// GiveBack returns unused memory of the runtime to the system. It runs the garbage collector twice, because the first run keeps the
// contents of pools. It takes about a tenth of a second if there is much memory, so call it after many requests have ended.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
