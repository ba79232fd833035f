package delivery

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
)

// looking is how long Reaches waits for a name server. If there is no response in time, the address is checked when it is dialed.
const looking = 2 * time.Second

// Allows returns nil if replies may be posted to the URL of an endpoint that an agent named. It does not resolve host names. The error is
// an *Error.
func (c *Courier) Allows(e Endpoint) error {
	if err := e.Check(); err != nil {
		return &Error{Refused, err}
	}
	u, err := url.Parse(e.URL)
	if err == nil {
		err = c.guarded.Check(u, agentURL)
	}
	if err != nil {
		return &Error{Refused, err}
	}
	return nil
}

// Reaches returns nil if replies may be posted to at least one endpoint of a route: its URL is permitted, and its host resolves to a
// permitted address. Reaches does not connect to the endpoints. The error is an *Error.
func (c *Courier) Reaches(ctx context.Context, to Route) error {
	var failed error = &Error{Cause: NoEndpoint}
	for _, e := range to.Endpoints[:min(len(to.Endpoints), MaxEndpoints)] {
		err := e.Check()
		if err == nil && !to.Private {
			if err = c.Allows(e); err == nil {
				err = resolves(ctx, e)
			}
		}
		if err == nil {
			return nil
		}
		failed = &Error{Refused, err}
	}
	return failed
}

// resolves returns an error if the host of an endpoint has no permitted address. It returns nil if the host cannot be looked up in time.
func resolves(ctx context.Context, e Endpoint) error {
	u, err := url.Parse(e.URL)
	if err != nil {
		return errEndpoint
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil { // Allows has already checked it
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if failed, ok := errors.AsType[*net.DNSError](err); ok && failed.IsNotFound {
		return fetch.ErrRefused
	}
	if err == nil && !slices.ContainsFunc(found, fetch.Public) {
		return fetch.ErrRefused
	}
	return nil
}
