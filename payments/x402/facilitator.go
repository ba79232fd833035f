package x402

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// maxAnswer is the maximum length of a response of the facilitator, in bytes. maxAnswerValues is the maximum number of its values.
	maxAnswer       = 64 << 10
	maxAnswerValues = 4096
	// maxReason is the maximum length of a reason of the facilitator, in characters.
	maxReason = 100
	// maxInFlight bounds the requests about new payments that a Facilitator makes at once. Requests about payments that it may have been asked
	// to settle before have a separate bound, maxRepeated, so that new payments do not delay them.
	maxInFlight, maxRepeated = 128, 32
)

// FacilitatorOptions configure a Facilitator.
type FacilitatorOptions struct {
	URL     *url.URL      // base of /verify, /settle and /supported
	Token   string        // sent as Authorization: Bearer; empty: none
	Private bool          // permit http and an address that is not on the public internet
	Timeout time.Duration // of one request
}

// A Facilitator verifies and settles payments. It is safe for concurrent use. It follows no redirects.
type Facilitator struct {
	base     *url.URL
	token    string
	client   *fetch.Client
	slots    chan struct{}
	repeated chan struct{}
	wait     time.Duration // for a slot, at most
}

// NewFacilitator returns a Facilitator.
func NewFacilitator(o FacilitatorOptions) *Facilitator {
	return &Facilitator{
		base: o.URL, token: o.Token, slots: make(chan struct{}, maxInFlight), repeated: make(chan struct{}, maxRepeated), wait: o.Timeout,
		client: fetch.New(fetch.Options{AllowInsecure: o.Private, Timeout: o.Timeout, UserAgent: "uimgate"}),
	}
}

// String returns the origin of the facilitator, without the token.
func (f *Facilitator) String() string { return fetch.Origin(f.base) }

// GoString is like String.
func (f *Facilitator) GoString() string { return f.String() }

// Close closes idle connections.
func (f *Facilitator) Close() { f.client.Close() }

// ErrUnreachable means that the facilitator gave no usable response, and was not asked to settle anything.
var ErrUnreachable = errors.New("the facilitator gave no usable response")

// An InvalidError means that the facilitator does not accept a payment.
type InvalidError struct{ Reason string } // of the facilitator: printable ASCII

func (e *InvalidError) Error() string {
	return "the facilitator does not accept the payment: " + e.Reason
}

// Spent reports whether the facilitator states that the authorization was used before. The money may then have moved.
func (e *InvalidError) Spent() bool {
	why := strings.ToLower(e.Reason)
	return strings.Contains(why, "already_used") || strings.Contains(why, "already used") || strings.Contains(why, "nonce_used")
}

// Verify asks the facilitator whether a payment can be settled. order is the Body of an Order. The error is an *InvalidError, or wraps
// ErrUnreachable.
func (f *Facilitator) Verify(ctx context.Context, order []byte) error {
	answer, tree, err := f.ask(ctx, f.slots, http.MethodPost, "verify", order)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case tree != nil && answer.Status == http.StatusOK && tree["isValid"] == true:
		return nil
	case tree != nil && answer.Status < http.StatusInternalServerError && tree["isValid"] == false:
		return &InvalidError{reasonOf(tree, "invalidReason")}
	default:
		return fmt.Errorf("%w: /verify responded with status %d", ErrUnreachable, answer.Status)
	}
}

// Settle asks the facilitator to settle a payment. order is the Body of an Order. repeated means that the facilitator may have been asked
// before; a failure now does not prove that nothing was paid.
func (f *Facilitator) Settle(ctx context.Context, order []byte, repeated bool) Settlement {
	slots := f.slots
	if repeated {
		slots = f.repeated
	}
	answer, tree, err := f.ask(ctx, slots, http.MethodPost, "settle", order)
	switch {
	case err != nil:
		s := Settlement{Outcome: Unknown, Reason: err.Error()}
		if failed, ok := errors.AsType[*fetch.Error](err); !repeated && (!ok || !failed.Sent) {
			s.Outcome = Unsent
		}
		return s
	case tree == nil || answer.Status >= http.StatusInternalServerError:
		return Settlement{Outcome: Unknown, Reason: fmt.Sprintf("/settle responded with status %d", answer.Status)}
	}
	return settlementOf(answer.Status, tree, repeated)
}

// A Kind is a way of payment that a facilitator supports. x402 7.3.
type Kind struct{ Scheme, Network string }

// Supported returns the ways of payment of version 2 that the facilitator supports. The error wraps ErrUnreachable.
func (f *Facilitator) Supported(ctx context.Context) ([]Kind, error) {
	answer, tree, err := f.ask(ctx, f.slots, http.MethodGet, "supported", nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if tree == nil || answer.Status != http.StatusOK {
		return nil, fmt.Errorf("%w: /supported responded with status %d", ErrUnreachable, answer.Status)
	}
	var kinds []Kind
	for _, v := range tree.List("kinds") {
		if kind, ok := strictjson.AsObject(v); ok && kind.Number("x402Version").String() == "2" {
			kinds = append(kinds, Kind{kind.Text("scheme"), kind.Text("network")})
		}
	}
	return kinds, nil
}

// errBusy means that a request was not made, because too many others are in progress.
var errBusy = errors.New("too many requests to the facilitator are in progress")

// ask makes a request in one of slots. tree is nil if the response is not a JSON object.
func (f *Facilitator) ask(
	ctx context.Context, slots chan struct{}, method, path string, body []byte,
) (fetch.Answer, strictjson.Object, error) {
	late := time.NewTimer(f.wait)
	defer late.Stop()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-late.C:
		return fetch.Answer{}, nil, errBusy
	case <-ctx.Done():
		return fetch.Answer{}, nil, context.Cause(ctx)
	}
	header := http.Header{"Accept": {"application/json"}}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	if f.token != "" {
		header.Set("Authorization", "Bearer "+f.token)
	}
	answer, err := f.client.Do(ctx, fetch.Request{
		Method: method, URL: f.base.JoinPath(path).String(), Header: header, Body: body, Max: maxAnswer,
	})
	if err != nil {
		return fetch.Answer{}, nil, err
	}
	tree, err := strictjson.DecodeObjectOf(answer.Body, maxAnswerValues)
	if err != nil {
		return answer, nil, nil // the status shows what kind of response it is
	}
	return answer, tree, nil
}

// reasonOf returns the reason in a response, as text that can be shown.
func reasonOf(tree strictjson.Object, member string) string {
	if text := lines.Printable(tree.Text(member), maxReason); text != "" {
		return text
	}
	return "no reason given"
}
