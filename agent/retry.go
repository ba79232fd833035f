package agent

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 8 * time.Second
	// inProgressWait is the minimum wait before a retry while an earlier call under the same key is still running.
	inProgressWait = time.Second
)

// A call is the state of one call to an intent across all its attempts.
type call struct {
	uid        string
	parameters map[string]any
	options    ExecuteOptions
	body       []byte
	door       via.Door      // nil means the execute endpoint
	tool       string        // the intent's name at the door; empty means its uid
	wait       time.Duration // see operation.wait
	free       bool          // known to be safe and free
	mark       receipts.Mark // the mark of the first attempt; nil if the client keeps no book
	bookError  error         // the error of recording an attempt in the book
	payment    string        // an x402 payment, as the value of a header field; empty if there is none
	key        string
	ownKey     bool // the client generated the key, and may generate another

	attempts, repeats               int
	waited                          time.Duration
	prove, proofRequested           bool
	renewed, provedAgain, maybeSent bool
	last                            error
}

// A step is the action after a failed attempt.
type step struct {
	again bool
	wait  time.Duration
	renew bool
	pay   *Demand // the demand to pay before the next attempt; may be nil
}

// nextStep decides what to do after a failed attempt, and updates the call accordingly. A call is repeated only if it cannot be
// executed or charged twice.
func (c *call) nextStep(err error, session Session, client *Client) step {
	c.last = err
	if refusal, ok := errors.AsType[*Error](err); ok {
		return c.afterError(refusal, session, client)
	}
	failure, ok := errors.AsType[*fetch.Error](err)
	if !ok || c.options.NoRepeat || !temporary(failure) {
		return step{}
	}
	if failure.Sent && !c.repeatableUnderKey(session) {
		return step{} // the call may have taken effect
	}
	c.maybeSent = c.maybeSent || failure.Sent
	return c.repeat(client, 0)
}

// lost wraps the error of a call in a *LostError if an earlier attempt may have taken effect. It does not wrap the response stored under
// the idempotency key, because that response states the outcome of the attempt.
func (c *call) lost(err error) error {
	_, unsent := errors.AsType[*RenewalError](err)
	if e, ok := errors.AsType[*Error](err); !c.maybeSent || ok && e.Replayed && !unsent {
		return err
	}
	return &LostError{err}
}

// repeatableUnderKey reports whether a call that may have taken effect can be repeated under its idempotency key. A service that accepted a
// fresh agreement implements the specification that defines the key. For any other service, only the caller can judge whether the service
// honours keys: a caller that sets a key states that the service does.
func (c *call) repeatableUnderKey(session Session) bool {
	return c.key != "" && (!c.ownKey || session.Form.Fresh())
}

// temporary reports whether a failed exchange may succeed if it is repeated.
func temporary(e *fetch.Error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](e); ok || errors.Is(e, fetch.ErrRefused) || errors.Is(e, fetch.ErrTooLarge) {
		return false
	}
	if name, ok := errors.AsType[*net.DNSError](e); ok {
		return name.IsTemporary || name.IsTimeout
	}
	return true
}

func (c *call) afterError(e *Error, session Session, client *Client) step {
	if next, ok := c.afterDemand(e, client); ok && !c.options.NoRepeat && !e.Replayed {
		return next
	}
	switch {
	case c.options.NoRepeat, e.Replayed:
		return step{} // every retry gets the same response
	case e.Is(ErrVerificationRequired) && !c.prove && client.o.Key != nil && session.kept.TokenID != "":
		c.prove, c.proofRequested = true, true
		return step{again: true} // rejected before anything was done
	case e.Is(ErrProofReplayed) && c.prove && !c.provedAgain && c.key != "":
		c.provedAgain = true
		return step{again: true}
	case (e.Is(ErrExpiredToken) || e.Reason == "" && e.Status == http.StatusUnauthorized && session.expired(client.o.Now())) && !c.renewed:
		c.renewed = true
		return step{again: true, renew: true}
	case e.Is(ErrIdempotencyInProgress):
		return c.await(client, max(e.RetryAfter, inProgressWait))
	case e.Status == http.StatusTooManyRequests:
		if e.Is(ErrQuotaExceeded) {
			return step{}
		}
		return c.repeat(client, e.RetryAfter)
	case e.Status >= http.StatusInternalServerError:
		return c.afterServerError(e, session, client)
	}
	return step{}
}

// afterServerError decides what to do after a 5xx response.
func (c *call) afterServerError(e *Error, session Session, client *Client) step {
	ended := e.Outcome == "not_sent" || e.Outcome == "failed"
	switch {
	case e.Outcome == "done", e.Outcome == "unknown":
		return step{}
	case e.Outcome == "failed" && e.Status != http.StatusServiceUnavailable:
		return step{} // the service itself failed, and would fail again
	case ended && c.key != "" && !c.ownKey:
		return step{} // the caller's key would return the same response
	case ended && c.ownKey && !c.maybeSent:
		c.key = uuid.NewString()
		return c.repeat(client, e.RetryAfter)
	case ended, e.Status == http.StatusServiceUnavailable:
		return c.repeat(client, e.RetryAfter)
	case c.repeatableUnderKey(session):
		c.maybeSent = true
		return c.repeat(client, e.RetryAfter)
	}
	return step{}
}

// repeat plans one more attempt, if MaxAttempts and MaxWait allow it, after the wait that the service requests or an exponential backoff
// with jitter.
func (c *call) repeat(client *Client, sent time.Duration) step {
	c.repeats++
	if c.repeats >= client.o.MaxAttempts {
		return step{}
	}
	wait := sent
	if wait <= 0 {
		wait = min(firstBackoff<<(c.repeats-1), maxBackoff)
		wait = wait/2 + time.Duration(client.jitter()*float64(wait/2))
	}
	if c.waited+wait > client.o.MaxWait {
		return step{}
	}
	c.waited += wait
	return step{again: true, wait: wait}
}

// await plans another request for the response of an earlier call that still runs under the same key. It stops when the waits add up to
// MaxWait or, if that is longer, to the time that the call may take.
func (c *call) await(client *Client, wait time.Duration) step {
	if c.options.NoWait || c.waited+wait > max(client.o.MaxWait, c.wait) {
		return step{}
	}
	c.waited += wait
	return step{again: true, wait: wait}
}

// expired reports whether the PAT has expired by the client's clock.
func (s Session) expired(now time.Time) bool {
	return !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt)
}
