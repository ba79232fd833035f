package signin

import (
	"net/netip"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/cache"
)

const (
	// After freeAttempts wrong tokens from one address, the listener refuses all requests from that address for firstWait. Each further wrong
	// token doubles the time, up to longestWait.
	freeAttempts = 5
	firstWait    = time.Second
	longestWait  = time.Minute
	// attemptsKept is how long the count of an address is kept after its last wrong token. maxAddresses bounds the number of counts.
	attemptsKept = 10 * time.Minute
	maxAddresses = 10_000
)

// attempts counts wrong admin tokens by address. It is safe for concurrent use.
type attempts struct {
	mu    sync.Mutex
	known *cache.Cache[string, attempt]
}

// An attempt holds the count of one address.
type attempt struct {
	failures int
	until    time.Time // the address is refused until then
}

func newAttempts() *attempts {
	return &attempts{known: cache.New(cache.Options[string, attempt]{Max: maxAddresses, SinceWrite: attemptsKept})}
}

// bucketOf returns the key for counting the attempts of an address: the IPv4 address, or the IPv6 /64.
func bucketOf(address netip.Addr) netip.Prefix {
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{} // shared by all clients without an address
	}
	return prefix
}

// wait returns how long an address is still refused; 0 if it is not refused.
func (a *attempts) wait(from netip.Prefix, now time.Time) time.Duration {
	last, _ := a.known.Get(from.String())
	return max(0, last.until.Sub(now))
}

// failed counts a wrong token from an address, and extends the time for which the address is refused.
func (a *attempts) failed(from netip.Prefix, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, _ := a.known.Get(from.String())
	last.failures++
	if over := last.failures - freeAttempts; over >= 0 {
		last.until = now.Add(min(longestWait, firstWait<<min(over, 10)))
	}
	a.known.Set(from.String(), last)
}

// forget deletes the count of an address.
func (a *attempts) forget(from netip.Prefix) { a.known.Remove(from.String()) }
