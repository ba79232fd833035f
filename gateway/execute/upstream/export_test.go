package upstream

import (
	"net/url"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/config"
)

// MaxOwnCircuits is the maximum number of agents that Failures can return.
const MaxOwnCircuits = maxOwnCircuits

// Failures makes one call of each of n agents fail, and a call of another agent succeed after each. It returns how many agents have a
// separate circuit afterwards.
func Failures(n int) int {
	own := newOwnCircuits()
	b := newBreaker("", own, config.Breaker{Failures: 5, OpenFor: time.Minute}, time.Now)
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

// URL returns the address of the request.
func (p *PreparedRequest) URL() *url.URL {
	u, err := url.Parse(p.route.upstream.scheme + "://" + p.route.upstream.host + string(p.target))
	if err != nil {
		panic(err)
	}
	return u
}

// Body returns the body of the request.
func (p *PreparedRequest) Body() string { return string(p.body) }

// ContentType returns the media type of the body if this request differs from its route.
func (p *PreparedRequest) ContentType() string { return p.contentType }
