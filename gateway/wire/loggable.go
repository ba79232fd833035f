package wire

import (
	"errors"
	"net"
	"net/http"
	"net/url"
)

// Method returns the method of a request for the log. It returns "other" for a method that HTTP does not define, because a client can send
// a method as long as a header.
func Method(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect,
		http.MethodOptions, http.MethodTrace:
		return method
	default:
		return "other"
	}
}

// Loggable removes from err the errors with which net/http and net wrap it. They contain URLs, whose queries may contain parameter values,
// and addresses. The result is safe to log.
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
