package gateway

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// maxAddresses bounds how many addresses are remembered at once; the least used are forgotten first.
const maxAddresses = 100_000

// addresses hold back addresses that ask too much, before anything costs: before hosts, tokens and
// cryptography. IPv6 counts by /64, which is what one customer has.
type addresses struct {
	all    *buckets // every request
	issue  *buckets // agreements and renewals
	issued *rate.Limiter
}

// issuancePerSecond bounds agreements and renewals from all addresses together: keys are free, and each
// costs a signature check and a durable write.
const issuancePerSecond = 100

func newAddresses(all, issue limit.Rate) *addresses {
	return &addresses{all: newBuckets(all), issue: newBuckets(issue), issued: rate.NewLimiter(issuancePerSecond, issuancePerSecond)}
}

func (d *addresses) admit(address string, now time.Time) bool { return d.all.admit(address, now) }

func (d *addresses) admitIssue(address string, now time.Time) error {
	if !d.issue.admit(address, now) {
		return reason.TooManyConnections.Refusal("Too many agreements from this address.").After(d.issue.wait())
	}
	if !d.issued.AllowN(now, 1) {
		return reason.TooManyConnections.Refusal("Too many agreements at once.").After(time.Second)
	}
	return nil
}

type buckets struct {
	every rate.Limit
	burst int
	seen  *otter.Cache[string, *rate.Limiter]
}

func newBuckets(r limit.Rate) *buckets {
	per := rate.Limit(float64(r.Max) / float64(max(1, r.Period.Seconds())))
	return &buckets{every: per, burst: int(r.Max), seen: otter.Must(&otter.Options[string, *rate.Limiter]{
		MaximumSize: maxAddresses,
		// After one idle period the bucket is full again, so forgetting it changes nothing.
		ExpiryCalculator: otter.ExpiryAccessing[string, *rate.Limiter](time.Duration(r.Period.Seconds()+1) * time.Second),
	})}
}

func (d *buckets) admit(address string, now time.Time) bool {
	l, ok := d.seen.GetIfPresent(address)
	if !ok {
		l, _ = d.seen.SetIfAbsent(address, rate.NewLimiter(d.every, d.burst))
	}
	return l.AllowN(now, 1)
}

func (d *buckets) wait() time.Duration { return time.Duration(float64(time.Second) / float64(d.every)) }

// countedAs is the address a client is counted under.
func countedAs(address netip.Addr) string {
	if address.Is6() {
		if prefix, err := address.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}

// caller is what is known of who sent a request. Headers are believed from trusted proxies only.
func (s *Server) caller(r *http.Request, client netip.Addr) service.Caller {
	c := service.Caller{}
	if client.IsValid() {
		c.Address = client.WithZone("").String()
	}
	if trusts(s.directory.Current(), r.RemoteAddr) {
		c.Header = r.Header.Values
	}
	return c
}

// client is the address a request comes from. X-Forwarded-For is believed only from trusted proxies, and then only as
// far as the last address that is not one itself.
func (s *Server) client(r *http.Request) netip.Addr {
	snapshot := s.directory.Current()
	address := wire.Peer(r.RemoteAddr)
	if trusted(snapshot, address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			hop, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			address = hop.Unmap()
			if !trusted(snapshot, address) {
				break
			}
		}
	}
	return address
}

// trusted reports whether an address is one of a trusted proxy.
func trusted(s *service.Snapshot, address netip.Addr) bool {
	for _, p := range s.Proxies {
		if p.Contains(address) {
			return true
		}
	}
	return false
}

// trusts reports whether a connection comes from a trusted proxy.
func trusts(s *service.Snapshot, remote string) bool {
	return len(s.Proxies) > 0 && trusted(s, wire.Peer(remote))
}
