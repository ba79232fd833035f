package wire

import (
	"errors"
	"net"
	"net/http"
	"net/url"
)

// Method returns the method of a request for the log: any other than those of HTTP is "other", because it may be as long as a header.
func Method(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect,
		http.MethodOptions, http.MethodTrace:
		return method
	default:
		return "other"
	}
}

// Loggable removes what net/http and net wrap around an error: URLs with their queries, which may hold parameter values, and addresses.
// The rest may be logged.
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
