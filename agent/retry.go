package agent

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/fetch"
)

const (
	firstWait = 250 * time.Millisecond
	mostWait  = 8 * time.Second
	// askAgain is the wait where a call under the same key still runs and the service names none.
	askAgain = time.Second
)

// A call is one call of an intent over all its attempts.
type call struct {
	uid        string
	parameters map[string]any
	options    ExecuteOptions
	body       []byte
	key        string
	ownKey     bool // the client made the key, and may make another

	attempts, repeats          int
	waited                     time.Duration
	prove, askedForProof       bool
	renewed, provedAnew, inAir bool
	last                       error
}

// A step is what follows a failed attempt.
type step struct {
	again bool
	wait  time.Duration
	renew bool
}

// next decides what follows an attempt that failed, and prepares it. The rule: repeat only what cannot
// be done or charged twice.
func (c *call) next(err error, session Session, client *Client) step {
	c.last = err
	var broken *fetch.Error
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
		return c.answered(refusal, session, client)
	case c.options.NoRepeat:
		return step{}
	case errors.As(err, &broken) && passing(broken):
		if broken.Sent && !c.covered(session) {
			return step{} // it may have taken effect
		}
		c.inAir = c.inAir || broken.Sent
		return c.repeat(client, 0)
	}
	return step{}
}

// covered reports whether a call that may have taken effect can be repeated under its idempotency key. A
// service that took a fresh agreement keeps to the same pages that define the key; of another only the
// caller can know that it heeds one, and says so by giving it.
func (c *call) covered(session Session) bool {
	return c.key != "" && (!c.ownKey || session.Form == FormFresh)
}

// passing reports whether a broken exchange may go better next time.
func passing(e *fetch.Error) bool {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.Is(e, fetch.ErrRefused), errors.Is(e, fetch.ErrTooLarge), errors.As(e, &certificate):
		return false
	case errors.As(e, &name):
		return name.IsTemporary || name.IsTimeout
	}
	return true
}

func (c *call) answered(e *Error, session Session, client *Client) step {
	switch {
	case c.options.NoRepeat, e.Replayed:
		return step{} // it is how the call ended, whenever it is asked
	case e.Is(ErrVerificationRequired) && !c.prove && client.o.Key != nil && session.tokenID != "":
		c.prove, c.askedForProof = true, true
		return step{again: true} // refused before anything was done
	case e.Is(ErrProofReplayed) && c.prove && !c.provedAnew && c.key != "":
		c.provedAnew = true
		return step{again: true}
	case (e.Is(ErrExpiredToken) || e.Reason == "" && e.Status == http.StatusUnauthorized && session.ended(client.o.Now())) && !c.renewed:
		c.renewed = true
		return step{again: true, renew: true}
	case e.Is(ErrIdempotencyInProgress) && c.inAir:
		return c.repeat(client, max(e.RetryAfter, askAgain))
	case e.Status == http.StatusTooManyRequests:
		if e.Is(ErrQuotaExceeded) {
			return step{}
		}
		return c.repeat(client, e.RetryAfter)
	case e.Status >= http.StatusInternalServerError:
		return c.failed(e, session, client)
	}
	return step{}
}

// failed decides after a 5xx.
func (c *call) failed(e *Error, session Session, client *Client) step {
	ended := e.Outcome == "not_sent" || e.Outcome == "failed"
	switch {
	case e.Outcome == "done", e.Outcome == "unknown":
		return step{}
	case e.Outcome == "failed" && e.Status != http.StatusServiceUnavailable:
		return step{} // the service itself failed: it would again
	case ended && c.key != "" && !c.ownKey:
		return step{} // under the caller's key the same answer would come back
	case ended && c.ownKey:
		c.key = uuid.NewString()
		return c.repeat(client, e.RetryAfter)
	case ended, e.Status == http.StatusServiceUnavailable, c.covered(session):
		return c.repeat(client, e.RetryAfter)
	}
	return step{}
}

// repeat plans one more attempt after a wait, within the bounds there are: an exponential one with
// jitter, or what the service asks for.
func (c *call) repeat(client *Client, asked time.Duration) step {
	c.repeats++
	if c.repeats >= client.o.MaxAttempts {
		return step{}
	}
	wait := asked
	if wait <= 0 {
		wait = min(firstWait<<(c.repeats-1), mostWait)
		wait = wait/2 + time.Duration(client.jitter()*float64(wait/2))
	}
	if c.waited+wait > client.o.MaxWait {
		return step{}
	}
	c.waited += wait
	return step{again: true, wait: wait}
}

// ended reports whether the PAT is past its end by our clock.
func (s Session) ended(now time.Time) bool { return !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt) }
