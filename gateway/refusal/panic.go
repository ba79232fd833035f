package refusal

import (
	"fmt"
	"runtime/debug"

	"github.com/uimgate/uimgate/internal/reason"
)

// Panic returns the Refusal for a recovered panic. Call it in the deferred function that recovers, so that the cause of the Refusal
// contains the stack of the panic.
func Panic(value any) *reason.Refusal {
	return reason.Internal.Refusal("").Because(&panicError{value, debug.Stack()})
}

// A panicError is a fault of the gateway itself. Its message omits the value of the panic, because that value may contain secrets.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic of type %T\n%s", e.value, e.stack) }
