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
		var inURL *url.Error
		var inOp *net.OpError
		switch {
		case errors.As(err, &inURL):
			err = inURL.Err
		case errors.As(err, &inOp):
			err = inOp.Err
		default:
			return err
		}
	}
}
