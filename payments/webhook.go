package payments

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Webhook verifies the events that a hosted checkout posts. Its String and GoString methods do not reveal the secret.
type Webhook struct {
	secret    []byte
	tolerance time.Duration
}

// NewWebhook returns a Webhook that accepts events signed with a secret, if their time differs by at most tolerance.
func NewWebhook(secret string, tolerance time.Duration) *Webhook {
	return &Webhook{secret: []byte(secret), tolerance: tolerance}
}

// String does not reveal the secret.
func (*Webhook) String() string { return "webhook" }

// GoString does not reveal the secret.
func (*Webhook) GoString() string { return "webhook" }

const (
	maxSignatureHeader = 2048
	maxSignatures      = 8 // in one header; a sender has two while it changes its secret
)

// Errors of Webhook.Verify.
var (
	ErrSignatureMissing   = errors.New("the event has no signature")
	ErrSignatureMalformed = errors.New("the signature does not have the form t=SECONDS,v1=HEX")
	ErrSignatureTime      = errors.New("the time of the signature is too far from the time of the gateway")
	ErrSignatureWrong     = errors.New("no signature of the event was made with the secret")
)

// Verify checks the signature of an event. header has the form t=SECONDS,v1=HEX, where v1 is HMAC-SHA-256 of the seconds, a point and the
// body. It may have several v1; other fields are ignored. This is the Stripe-Signature header of Stripe.
func (w *Webhook) Verify(header string, body []byte, now time.Time) error {
	at, signatures, err := parseSignature(header)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || len(at) > 12 || seconds < 0 {
		return ErrSignatureMalformed
	}
	if d := now.Sub(time.Unix(seconds, 0)).Abs(); d > w.tolerance {
		return fmt.Errorf("%w: by more than %s", ErrSignatureTime, w.tolerance)
	}
	want := w.mac(at, body)
	for _, s := range signatures {
		if hmac.Equal(s, want) {
			return nil
		}
	}
	return ErrSignatureWrong
}

func (w *Webhook) mac(at string, body []byte) []byte {
	m := hmac.New(sha256.New, w.secret)
	_, _ = m.Write([]byte(at + "."))
	_, _ = m.Write(body)
	return m.Sum(nil)
}

// Sign returns the header with which Verify accepts the event.
func (w *Webhook) Sign(body []byte, now time.Time) string {
	at := strconv.FormatInt(now.Unix(), 10)
	return "t=" + at + ",v1=" + hex.EncodeToString(w.mac(at, body))
}

func parseSignature(header string) (at string, signatures [][]byte, err error) {
	switch {
	case header == "":
		return "", nil, ErrSignatureMissing
	case len(header) > maxSignatureHeader:
		return "", nil, ErrSignatureMalformed
	}
	for field := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "t":
			if at != "" {
				return "", nil, ErrSignatureMalformed
			}
			at = value
		case "v1":
			s, err := hex.DecodeString(value)
			if err != nil || len(s) != sha256.Size || len(signatures) == maxSignatures {
				return "", nil, ErrSignatureMalformed
			}
			signatures = append(signatures, s)
		}
	}
	if at == "" || len(signatures) == 0 {
		return "", nil, ErrSignatureMalformed
	}
	return at, signatures, nil
}
