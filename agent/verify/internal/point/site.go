package point

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/uimgate/uimgate/internal/fetch"
)

// MaxWait is the longest wait for a Retry-After.
const MaxWait = 10 * time.Second

// A Site is the service of a run. Agents is the URL of its agents.json, which vouches for its other addresses; nil until it is found.
type Site struct {
	Agents        *url.URL
	AllowInsecure bool
	Now           func() time.Time
	Sleep         func(context.Context, time.Duration) error
}

// WithRetries repeats a request a few times while the service returns 429 with a short Retry-After.
func (s *Site) WithRetries(ctx context.Context, do func() (fetch.Answer, error)) (fetch.Answer, error) {
	const most = 3
	for n := 0; ; n++ {
		a, err := do()
		if err != nil || a.Status != http.StatusTooManyRequests || n == most || !s.wait(ctx, a.Header.Get("Retry-After")) {
			return a, err
		}
	}
}

func (s *Site) wait(ctx context.Context, retryAfter string) bool {
	seconds, err := strconv.Atoi(retryAfter)
	d := time.Duration(seconds) * time.Second
	return err == nil && seconds >= 0 && d <= MaxWait && s.Sleep(ctx, max(d, time.Second)) == nil
}

// Address parses an absolute URL. ok is false if an agent would not use it: it must be https, or http to a loopback address or with
// insecure connections allowed.
func (s *Site) Address(address string) (u *url.URL, ok bool) {
	u, err := url.Parse(address)
	return u, err == nil && u.Hostname() != "" && u.User == nil &&
		(u.Scheme == "https" || u.Scheme == "http" && (s.AllowInsecure || fetch.LoopbackHost(u.Hostname())))
}

// SameSite reports whether two hosts belong to the same site: they are equal, have the same registrable domain, or are both loopback
// addresses. If insecure connections are allowed, all hosts belong to the same site.
func (s *Site) SameSite(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))
	if a == b || s.AllowInsecure || fetch.LoopbackHost(a) && fetch.LoopbackHost(b) {
		return true
	}
	if net.ParseIP(a) != nil || net.ParseIP(b) != nil {
		return false
	}
	one, errOne := publicsuffix.EffectiveTLDPlusOne(a)
	other, errOther := publicsuffix.EffectiveTLDPlusOne(b)
	return errOne == nil && errOther == nil && one == other
}

// OwnURL checks a URL of the service: it must be one that agents would use, at the site of agents.json.
func (s *Site) OwnURL(name, address string) Finding {
	u, ok := s.Address(address)
	if !ok {
		return Wrong.Because("%s is not a URL that an agent would use", name)
	}
	if !s.SameSite(u.Hostname(), s.Agents.Hostname()) {
		return Wrong.Because("%s is at %s, but agents.json is at %s", name, u.Hostname(), s.Agents.Hostname())
	}
	return Pass
}
