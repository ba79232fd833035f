package wire

import (
	"errors"
	"net"
	"net/url"
)

// Loggable strips what net/http and net wrap around an error: URLs with their queries, which may hold
// parameter values, and addresses. What is left may be logged.
func Loggable(err error) error {
	for {
		if inURL, ok := errors.AsType[*url.Error](err); ok {
			err = inURL.Err
		} else if inOp, ok := errors.AsType[*net.OpError](err); ok {
			err = inOp.Err
		} else {
			return err
		}
	}
}
