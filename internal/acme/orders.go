package acme

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/mholt/acmez/v3/acme"
	"go.uber.org/zap"
)

const (
	// clockTolerance is how far in the future the validity of a new certificate may begin, by the clock of this machine.
	clockTolerance = 5 * time.Minute
	// clockPause is the pause after the CA issued a certificate that has already expired by the clock of this machine.
	clockPause = 48 * time.Hour
	// limitPause is the pause after the CA refused an order because of a limit, without a Retry-After header. longestPause is the maximum.
	limitPause   = 15 * time.Minute
	longestPause = 7 * 24 * time.Hour
	// maxError is the maximum length of an error in the log, in bytes. The CA determines a part of the error.
	maxError = 1000
)

// A cause is why an order failed, and what to do.
type cause struct{ text, advice string }

var (
	limitCause = cause{
		"the CA limits orders", "the gateway orders again after the pause that the CA demands; do not delete its database meanwhile",
	}
	validationCause = cause{
		"the CA cannot validate a name", "create an A or AAAA record for the name that leads to this gateway, and open port 80 or 443; " +
			"uimgate check --online finds what is missing",
	}
	refusalCause = cause{"the CA refuses an order", "see the error of the CA"}
	reachCause   = cause{"the CA cannot be reached", "check the network and server.tls.acme.directory; see uimgate check --online"}
	trustCause   = cause{
		"the certificate of the CA's server is not trusted", "check the clock of this machine, and server.tls.acme.roots",
	}
	storageCause = cause{"the database cannot be written or read", "see the check store of /readyz"}
	clockCause   = cause{
		"a certificate is not valid at the time of the clock of this machine", "set the clock of this machine, and check that it is synchronized",
	}
)

// until returns the cause of a pause, with the time at which the pause ends.
func (c cause) until(end time.Time) cause {
	return cause{c.text + "; the next order is possible at " + end.UTC().Format(time.RFC3339), c.advice}
}

// causeOf returns the cause of an error of an order.
func causeOf(err error) cause {
	if problem, ok := errors.AsType[acme.Problem](err); ok {
		switch problem.Type {
		case acme.ProblemTypeRateLimited:
			return limitCause
		case acme.ProblemTypeConnection, acme.ProblemTypeDNS, acme.ProblemTypeUnauthorized, acme.ProblemTypeTLS,
			acme.ProblemTypeIncorrectResponse, acme.ProblemTypeCAA:
			return validationCause
		}
		if problem.Status == http.StatusTooManyRequests {
			return limitCause
		}
		return refusalCause
	}
	if _, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return trustCause
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return trustCause
	}
	return reachCause
}

// orders decides when a certificate may be ordered, and records which orders fail. It is safe for concurrent use.
type orders struct {
	storage certmagic.Storage
	now     func() time.Time
	log     *zap.Logger
	has     func(name string) bool
	ordered func(obtained bool)

	mu     sync.Mutex
	failed map[string]cause // by name: failures since the last order that succeeded
	after  time.Time        // from the last response of the CA with a Retry-After header
}

// event handles an event of certmagic. It returns an error for an order that must not be made now.
func (o *orders) event(ctx context.Context, name string, data map[string]any) error {
	subject, _ := data["identifier"].(string)
	switch name {
	case "cert_obtaining":
		return o.permit(ctx, subject)
	case "cert_failed":
		if err, ok := data["error"].(error); ok && ctx.Err() == nil {
			o.refused(ctx, subject, err)
		}
	case "cert_obtained":
		o.count(true)
		path, _ := data["certificate_path"].(string)
		o.obtained(ctx, subject, path)
	}
	return nil
}

func (o *orders) count(obtained bool) {
	if o.ordered != nil {
		o.ordered(obtained)
	}
}

// permit returns an error if no certificate may be ordered for a name now.
func (o *orders) permit(ctx context.Context, name string) error {
	if !o.has(name) {
		return certmagic.ErrNoRetry{Err: fmt.Errorf("%s: the name was removed from the configuration", name)}
	}
	p, ok := o.paused(ctx, name)
	if !ok {
		return nil
	}
	o.set(name, cause{text: p.Cause}.until(p.Until))
	o.log.Warn("the order is postponed", zap.String("identifier", name), zap.String("cause", p.Cause), zap.Time("until", p.Until))
	return fmt.Errorf("%s: the order is postponed: %s", name, cause{text: p.Cause}.until(p.Until).text)
}

// refused handles an order that failed.
func (o *orders) refused(ctx context.Context, name string, err error) {
	o.count(false)
	c := causeOf(err)
	if c == limitCause {
		until := o.limitedUntil()
		o.pause(ctx, name, c, until)
		c = c.until(until)
	}
	o.failWith(name, c, err)
}

// obtained checks the validity of a certificate that has just been obtained.
func (o *orders) obtained(ctx context.Context, name, path string) {
	o.mu.Lock()
	delete(o.failed, name)
	o.mu.Unlock()
	text, err := o.storage.Load(ctx, path)
	block, _ := pem.Decode(text)
	if err != nil || block == nil {
		return
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	now := o.now()
	if err != nil || now.Before(leaf.NotAfter) && !leaf.NotBefore.After(now.Add(clockTolerance)) {
		return
	}
	o.log.Error("the certificate is not valid at the time of this machine's clock", zap.String("identifier", name), zap.Time("clock", now),
		zap.Time("not_before", leaf.NotBefore), zap.Time("not_after", leaf.NotAfter), zap.String("advice", clockCause.advice))
	o.set(name, clockCause)
	if !now.Before(leaf.NotAfter) { // otherwise certmagic would order the next one at once, and exhaust the limits of the CA
		o.pause(ctx, name, clockCause, now.Add(clockPause))
	}
}

// fail records and logs that a certificate could not be loaded, or that the storage prevented the order.
func (o *orders) fail(name string, err error) { o.failWith(name, storageCause, err) }

func (o *orders) failWith(name string, c cause, err error) {
	o.set(name, c)
	text := err.Error()
	o.log.Error("no certificate was obtained", zap.String("identifier", name), zap.String("cause", c.text), zap.String("advice", c.advice),
		zap.String("error", text[:min(len(text), maxError)]))
}

func (o *orders) set(name string, c cause) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed[name] = c
}

// trouble returns the text of the first cause in the order of the names, and forgets the causes of other names.
func (o *orders) trouble(names []string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.failed {
		if !slices.Contains(names, name) {
			delete(o.failed, name)
		}
	}
	for _, name := range names {
		if c, ok := o.failed[name]; ok {
			return c.text
		}
	}
	return ""
}

// A pause is stored, so that after a restart, and in other processes, no order is made before it ends.
type pause struct {
	From, Until time.Time
	Cause       string
}

func pauseKey(name string) string { return "pauses/" + certmagic.StorageKeys.Safe(name) + ".json" }

// pause stores that no certificate may be ordered for a name until the given time.
func (o *orders) pause(ctx context.Context, name string, c cause, until time.Time) {
	text, err := json.Marshal(pause{o.now(), until, c.text})
	if err == nil {
		err = o.storage.Store(ctx, pauseKey(name), text)
	}
	if err != nil {
		o.log.Error("the pause before the next order cannot be stored", zap.String("identifier", name), zap.Error(err))
	}
}

// paused returns the present pause of a name. If a pause begins later than now, the clock was set back, and the pause does not count.
func (o *orders) paused(ctx context.Context, name string) (p pause, ok bool) {
	text, err := o.storage.Load(ctx, pauseKey(name))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return p, false
	}
	now := o.now()
	return p, !now.Before(p.From) && now.Before(p.Until)
}
