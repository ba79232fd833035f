package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	maxDocument  = 64 << 10 // bytes
	documentTime = 5 * time.Second
)

var errDocument = errors.New("the response does not have the status 200")

// fetcher returns a function that fetches client ID metadata documents. Because an unauthenticated client chooses their URLs, the
// function accepts a URL of this machine only if public_url is also one.
func (d *Door) fetcher(s *service.Definition) consent.Fetch {
	return func(ctx context.Context, address string) (consent.Document, error) {
		u, err := url.Parse(address)
		if err != nil {
			return consent.Document{}, err
		}
		if err := d.documents.Check(u, s.PublicURL); err != nil {
			return consent.Document{}, err
		}
		answer, err := d.documents.Do(ctx, fetch.Request{
			Method: http.MethodGet, URL: address, Header: http.Header{"Accept": {"application/json"}}, Max: maxDocument, From: s.PublicURL,
		})
		if err != nil {
			return consent.Document{}, err
		}
		if answer.Status != http.StatusOK { // including a redirect
			return consent.Document{}, errDocument
		}
		return consent.Document{Body: answer.Body, MaxAge: maxAge(answer.Header)}, nil
	}
}

// maxAge returns how long a response may be cached. It returns 0 if the response may not be cached, or has no valid max-age. See RFC 9111,
// section 5.2.2.
func maxAge(h http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			if n, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil && n > 0 && n <= 1<<30 {
				return time.Duration(n) * time.Second
			}
		}
	}
	return 0
}
