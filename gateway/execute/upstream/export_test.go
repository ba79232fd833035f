package upstream

import (
	"net/url"
	"strconv"
	"time"
)

// MaxOwnCircuits is the bound of what Failures leaves.
const MaxOwnCircuits = maxOwnCircuits

// Failures has a call of each of n agents fail, between calls of others that do not, and returns how many of them are
// remembered.
func Failures(n int) int {
	own := newOwnCircuits()
	b := newBreaker("", own, Breaker{Failures: 5, OpenFor: time.Minute}, time.Now)
	for i := range n {
		if admitted, err := b.allow(strconv.Itoa(i)); err == nil {
			admitted.ended(ErrBroken)
		}
		if admitted, err := b.allow("fine"); err == nil {
			admitted.ended(nil)
		}
	}
	return own.Settle()
}

// URL is the address a Prepared will be sent to.
func (p *PreparedRequest) URL() *url.URL {
	u, err := url.Parse(p.route.upstream.scheme + "://" + p.route.upstream.host + string(p.target))
	if err != nil {
		panic(err)
	}
	return u
}

// Body is the body it will be sent with.
func (p *PreparedRequest) Body() string { return string(p.body) }

// ContentType is the type of its body, where that is of this request.
func (p *PreparedRequest) ContentType() string { return p.contentType }
