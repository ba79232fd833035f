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

// looking is how long Reaches waits for the name server. An address that it does not get is checked when it is dialed.
const looking = 2 * time.Second

// Allows returns nil if the URL of an endpoint that an agent named permits posting replies. The error is an *Error.
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

// Reaches returns nil if replies may be posted to at least one endpoint of a route: its URL permits it, and its name has a permitted
// address. It connects to none. The error is an *Error.
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

// resolves returns an error if an endpoint's host has no permitted address.
func resolves(ctx context.Context, e Endpoint) error {
	u, err := url.Parse(e.URL)
	if err != nil {
		return errEndpoint
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil { // Allows has judged it
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
