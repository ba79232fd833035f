package verify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/publicsuffix"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/pat"
)

// A visit is what is learnt of one service on the way.
type visit struct {
	o        Options
	record   *recorder
	client   *agent.Client
	fetch    *fetch.Client
	outcomes map[string]Outcome

	domain  string // empty: DNS has no say
	records Records
	dnsErr  error

	found   []exchange // on the way to agents.json
	file    *exchange  // agents.json; nil: there is none
	service *agent.Service
	findErr error
	tree    map[string]any
	catalog *intents.Catalog
	told    problem.List
	keys    []pat.Key // that the service publishes
	keyText string    // uim-public-key

	policy     fetch.Answer
	policyTree map[string]any
	digest     string
	restless   bool // its bytes or its ETag differ from one fetch to the next

	searchURL, intentURL string
	results              page

	executeURL, issueURL string
	unpaid               fetch.Answer // what executing without a PAT answered
	malformed            fetch.Answer // what issuing answered to what is no JSON
	nothing              fetch.Answer // what a path that is not there answered

	token    jwtText
	issued   exchange       // that gave the PAT
	answered map[string]any // by it
	probe    call
	probed   bool
	result   fetch.Answer // of the probe
	refused  fetch.Answer // of a parameter
}

// A finding is what one check found.
type finding struct {
	outcome Outcome
	detail  string
}

func holds(format string, args ...any) finding { return finding{Holds, fmt.Sprintf(format, args...)} }

func missing(format string, args ...any) finding {
	return finding{Missing, fmt.Sprintf(format, args...)}
}

func wrong(format string, args ...any) finding { return finding{Wrong, fmt.Sprintf(format, args...)} }

func skipped(format string, args ...any) finding {
	return finding{Skipped, fmt.Sprintf(format, args...)}
}

var good = finding{outcome: Holds}

// broken tells of an exchange that failed. Errors of package fetch hold no path and no secret.
func broken(err error) finding {
	if errors.Is(err, fetch.ErrRefused) {
		return wrong("nothing was sent: %v", err)
	}
	return wrong("%v", err)
}

// failed is what a check of a status says of a 5xx: it is told once, by error-failures.
func failed(a fetch.Answer) finding {
	return skipped("the answer was %d: see error-failures", a.Status)
}

// agentsURL is what speaks for the service's other addresses.
func (v *visit) agentsURL() *url.URL { return v.file.url }

// at is a path on the origin of agents.json.
func (v *visit) at(path string) string {
	u := *v.agentsURL()
	u.Path, u.RawPath, u.RawQuery, u.Fragment = path, "", "", ""
	return u.String()
}

// get asks for a public document, following redirects as an agent would.
func (v *visit) get(ctx context.Context, address string, most int64) (fetch.Answer, error) {
	return v.patient(ctx, func() (fetch.Answer, error) {
		return v.fetch.Get(ctx, address, fetch.Document{Accept: "application/json, application/ld+json;q=0.9", Max: most, From: v.agentsURL()})
	})
}

// ask makes one exchange and follows no redirect.
func (v *visit) ask(ctx context.Context, method, address string, header http.Header, body string) (fetch.Answer, error) {
	return v.patient(ctx, func() (fetch.Answer, error) {
		return v.fetch.Do(ctx, fetch.Request{Method: method, URL: address, Header: header, Body: []byte(body), Max: maxAnswer, From: v.agentsURL()})
	})
}

// patient asks again, a few times, where the service says how soon it may be asked.
func (v *visit) patient(ctx context.Context, do func() (fetch.Answer, error)) (fetch.Answer, error) {
	const most = 3
	for n := 0; ; n++ {
		a, err := do()
		if err != nil || a.Status != http.StatusTooManyRequests || n == most || !v.wait(ctx, a.Header.Get("Retry-After")) {
			return a, err
		}
	}
}

func (v *visit) wait(ctx context.Context, retryAfter string) bool {
	seconds, err := strconv.Atoi(retryAfter)
	d := time.Duration(seconds) * time.Second
	return err == nil && seconds >= 0 && d <= maxWait && v.o.Client.Sleep(ctx, max(d, time.Second)) == nil
}

// notThere reports whether an answer may mean that nothing is at a path.
func notThere(a fetch.Answer) bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// sameSite reports whether two hosts belong together: one name, or one registrable domain. Loopback
// addresses and, where closed networks are allowed, all others vouch for each other.
func (v *visit) sameSite(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))
	if a == b || v.o.Client.AllowInsecure || fetch.LoopbackHost(a) && fetch.LoopbackHost(b) {
		return true
	}
	if net.ParseIP(a) != nil || net.ParseIP(b) != nil {
		return false
	}
	one, errOne := publicsuffix.EffectiveTLDPlusOne(a)
	other, errOther := publicsuffix.EffectiveTLDPlusOne(b)
	return errOne == nil && errOther == nil && one == other
}

// secure reports whether a URL is one that agents use: https, or http to the loopback address or where
// that is allowed.
func (v *visit) secure(u *url.URL) bool {
	return u.Hostname() != "" && u.User == nil &&
		(u.Scheme == "https" || u.Scheme == "http" && (v.o.Client.AllowInsecure || fetch.LoopbackHost(u.Hostname())))
}

// shown makes a text of strangers fit to be shown: on one line, without control characters, bounded.
func shown(s string) string {
	const most = 400
	if len(s) > 8*most {
		s = s[:8*most]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.C, r) }), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// several names the first of a list and how many more there are.
func several(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}

// offenders is wrong where there are any.
func offenders(list []string) finding {
	if len(list) == 0 {
		return good
	}
	return wrong("%s", several(list))
}
