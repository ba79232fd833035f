package refusal

import (
	"fmt"
	"runtime/debug"

	"github.com/uimgate/uimgate/internal/reason"
)

// Panic makes the Refusal of a recovered panic; call it in the deferred function, so that its cause has the stack.
func Panic(value any) *reason.Refusal {
	return reason.Internal.Refusal("").Because(&panicError{value, debug.Stack()})
}

// A panicError is a fault of the gateway itself. Its text does not hold the value of the panic, which may hold anything.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic of type %T\n%s", e.value, e.stack) }
