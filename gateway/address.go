package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/internal/limit"
)

// maxAddresses bounds how many addresses are remembered at once; the least used are forgotten first.
const maxAddresses = 100_000

// doors hold back addresses that ask too much, before anything costs: before hosts, tokens and
// cryptography. IPv6 counts by /64, which is what one customer has.
type doors struct {
	all    *door // every request
	issue  *door // agreements and renewals
	issued *rate.Limiter
}

// issuancePerSecond bounds agreements and renewals from all addresses together: keys are free, and each
// costs a signature check and a durable write.
const issuancePerSecond = 100

func newDoors(all, issue limit.Rate) *doors {
	return &doors{all: newDoor(all), issue: newDoor(issue), issued: rate.NewLimiter(issuancePerSecond, issuancePerSecond)}
}

func (d *doors) admit(address string, now time.Time) bool { return d.all.admit(address, now) }

func (d *doors) admitIssue(address string, now time.Time) error {
	if !d.issue.admit(address, now) {
		return newFault("TOO_MANY_CONNECTIONS", "Too many agreements from this address.").after(d.issue.wait())
	}
	if !d.issued.AllowN(now, 1) {
		return newFault("TOO_MANY_CONNECTIONS", "Too many agreements at once.").after(time.Second)
	}
	return nil
}

type door struct {
	every rate.Limit
	burst int
	seen  *otter.Cache[string, *rate.Limiter]
}

func newDoor(r limit.Rate) *door {
	per := rate.Limit(float64(r.Max) / float64(max(1, r.Period.Seconds())))
	return &door{every: per, burst: int(r.Max), seen: otter.Must(&otter.Options[string, *rate.Limiter]{
		MaximumSize: maxAddresses,
		// After one idle period the bucket is full again, so forgetting it changes nothing.
		ExpiryCalculator: otter.ExpiryAccessing[string, *rate.Limiter](time.Duration(r.Period.Seconds()+1) * time.Second),
	})}
}

func (d *door) admit(address string, now time.Time) bool {
	l, ok := d.seen.GetIfPresent(address)
	if !ok {
		l, _ = d.seen.SetIfAbsent(address, rate.NewLimiter(d.every, d.burst))
	}
	return l.AllowN(now, 1)
}

func (d *door) wait() time.Duration { return time.Duration(float64(time.Second) / float64(d.every)) }

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
func (s *Server) caller(r *http.Request, client netip.Addr) Caller {
	c := Caller{}
	if client.IsValid() {
		c.Address = client.WithZone("").String()
	}
	if s.current.Load().trusts(r.RemoteAddr) {
		c.Header = r.Header.Values
	}
	return c
}

// client is the address a request comes from. X-Forwarded-For is believed only from trusted proxies, and then only as
// far as the last address that is not one itself.
func (s *Server) client(r *http.Request) netip.Addr {
	snapshot := s.current.Load()
	address := peer(r.RemoteAddr)
	if snapshot.trusted(address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			hop, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			address = hop.Unmap()
			if !snapshot.trusted(address) {
				break
			}
		}
	}
	return address
}

func peer(remote string) netip.Addr {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap()
}
