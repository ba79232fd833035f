package signin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
)

// A TokenCheck compares tokens with the admin token, and refuses addresses that have sent many wrong ones. It is safe for concurrent use.
type TokenCheck struct {
	token    func() string
	now      func() time.Time
	attempts *attempts
}

// NewTokenCheck returns a TokenCheck. token returns the admin token; if it returns an empty string, every token is wrong.
func NewTokenCheck(token func() string, now func() time.Time) *TokenCheck {
	return &TokenCheck{token: token, now: now, attempts: newAttempts()}
}

// Throttled returns a refusal if an address has sent too many wrong tokens, and otherwise nil.
func (c *TokenCheck) Throttled(from netip.Addr) error {
	if wait := c.attempts.wait(bucketOf(from), c.now()); wait > 0 {
		return reason.TooManyConnections.Refusal("Too many wrong admin tokens came from this address.").After(wait).
			ShedFor(reason.ShedAdminTokens)
	}
	return nil
}

// Check returns a refusal if token is not the admin token, and counts it for the address.
func (c *TokenCheck) Check(from netip.Addr, token string) error {
	wanted := c.token()
	sum, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(wanted)) // so that timing does not reveal the length
	if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 || wanted == "" {
		c.attempts.failed(bucketOf(from), c.now())
		return reason.InvalidToken.Refusal("This is not the admin token of this gateway.")
	}
	c.attempts.forget(bucketOf(from))
	return nil
}

// Digest returns the digest of the present admin token, which changes with the token.
func (c *TokenCheck) Digest() string {
	sum := sha256.Sum256([]byte("uimgate console token " + c.token()))
	return hex.EncodeToString(sum[:])
}
