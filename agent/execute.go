package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

const (
	maxIdempotencyKey = 128
	maxUID            = 512
)

// ExecuteOptions say how one call is made.
type ExecuteOptions struct {
	// IdempotencyKey names the call, 1 to 128 visible ASCII characters: repeated under the same key, it is
	// answered and not made again. Where it is empty the client makes one for every intent that is not
	// marked safe or has a price, unless the parameters hold a number that services cannot compare exactly.
	IdempotencyKey string
	// NoRepeat sends the call once and makes no key.
	NoRepeat bool
	// Prove adds a proof of key. Without it one is added where the service asks for it.
	Prove bool
	// RequestID correlates the call in the service's logs: 1 to 64 of A-Z a-z 0-9 . _ -; empty: the service makes one.
	RequestID string
	// Traceparent continues a trace. W3C Trace Context.
	Traceparent string
}

// A Result is what an executed intent answered.
type Result struct {
	Output         any    // a tree of package strictjson
	Raw            []byte // the output as it was sent
	Status         int
	Charge         *Charge    // nil: the service named none
	RateLimit      *RateLimit // nil: the service told none
	RequestID      string
	IdempotencyKey string // the call was made under; empty: none
	Replayed       bool   // the answer of an earlier call under the same key; nothing was done now
	Attempts       int
}

// Execute calls an intent with its parameters: anything encoding/json writes as an object; numbers too
// long for float64 as json.Number. It renews the PAT when that is due, and repeats the call as the
// package says. Errors: ErrNotAgreed, ErrParameters, *PolicyChangedError, *Error (see its sentinels; one
// that is ErrAnswer was done, and may have been charged), and those of package fetch: of a *fetch.Error with Sent it is not known whether the call
// took effect. UIM core 3.
func (s *Service) Execute(ctx context.Context, uid string, params map[string]any, o ExecuteOptions) (Result, error) {
	c, err := s.call(ctx, uid, params, o)
	if err != nil {
		return Result{}, err
	}
	for {
		session, err := s.current(ctx)
		if err != nil {
			return Result{}, err
		}
		c.attempts++
		result, err := s.once(ctx, session, c)
		if err == nil {
			return result, nil
		}
		if ctx.Err() != nil {
			return Result{}, err
		}
		next := c.next(err, session, s.client)
		if !next.again {
			return Result{}, changed(err, session.PolicyDigest)
		}
		if next.renew {
			if _, renewErr := s.renewFrom(ctx, session); renewErr != nil {
				return Result{}, errors.Join(renewErr, err)
			}
		}
		if next.wait > 0 {
			if err := s.client.o.Sleep(ctx, next.wait); err != nil {
				return Result{}, errors.Join(err, c.last)
			}
		}
	}
}

// call prepares what every attempt needs.
func (s *Service) call(ctx context.Context, uid string, params map[string]any, o ExecuteOptions) (*call, error) {
	if uid == "" || len(uid) > maxUID {
		return nil, fmt.Errorf("%w: an intent is named namespace:intent-name:version", ErrParameters)
	}
	if o.IdempotencyKey != "" && !idempotent(o.IdempotencyKey) {
		return nil, fmt.Errorf("%w: an idempotency key is 1 to %d visible ASCII characters", ErrParameters, maxIdempotencyKey)
	}
	if o.RequestID != "" && symbolic(o.RequestID) == "" {
		return nil, fmt.Errorf("%w: a request id is 1 to 64 of A-Z a-z 0-9 . _ -", ErrParameters)
	}
	if o.Traceparent != "" && (len(o.Traceparent) > 128 || symbol(o.Traceparent) == "") {
		return nil, fmt.Errorf("%w: this is no traceparent", ErrParameters)
	}
	tree, err := treeOf(params)
	if err != nil {
		return nil, err
	}
	c := &call{uid: uid, parameters: tree, options: o, key: o.IdempotencyKey, prove: o.Prove}
	s.mu.Lock()
	c.prove = c.prove || s.prove[uid]
	s.mu.Unlock()
	if c.key == "" && !o.NoRepeat && !s.free(ctx, uid) && strictjson.Exact(tree) == nil {
		c.key, c.ownKey = uuid.NewString(), true
	}
	if c.body, err = bodyOf(s.Session().Dialect, uid, tree); err != nil {
		return nil, err
	}
	return c, nil
}

// free reports whether an intent is known to change nothing and to have no price.
func (s *Service) free(ctx context.Context, uid string) bool {
	s.mu.Lock()
	catalog, found := s.catalog, s.foreign[uid]
	s.mu.Unlock()
	if catalog == nil && found == nil {
		catalog, _ = s.Catalog(ctx) // what cannot be known is not safe
	}
	if catalog != nil {
		if in, ok := catalog.Lookup(uid); ok {
			found = in
		}
	}
	return found != nil && found.Safe && found.Price == ""
}

func idempotent(key string) bool {
	return key != "" && len(key) <= maxIdempotencyKey && !strings.ContainsFunc(key, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// treeOf makes of parameters what will be sent: a tree of package strictjson.
func treeOf(params map[string]any) (map[string]any, error) {
	if params == nil {
		return map[string]any{}, nil
	}
	data, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%w: they hold something JSON has no form for", ErrParameters)
	}
	tree, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParameters, err)
	}
	return tree, nil
}

// bodyOf writes the body in core's form, or in the draft's for services that speak it. UIM core 3.2.
func bodyOf(dialect intents.Dialect, uid string, tree map[string]any) ([]byte, error) {
	var body any = map[string]any{"intent_uid": uid, "parameters": tree}
	if dialect == intents.Draft {
		body = map[string]any{"intent": map[string]any{"uid": uid, "parameters": tree}, "context": map[string]any{}}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("%w: writing them: %w", ErrParameters, err)
	}
	return data, nil
}

// once makes one attempt.
func (s *Service) once(ctx context.Context, session Session, c *call) (Result, error) {
	header := bearer(session)
	for name, value := range map[string]string{"Idempotency-Key": c.key, "Uim-Request-Id": c.options.RequestID, "Traceparent": c.options.Traceparent} {
		if value != "" {
			header.Set(name, value)
		}
	}
	if c.prove {
		if s.client.o.Key == nil || session.tokenID == "" {
			return Result{}, fmt.Errorf("%w: the PAT has no jti that a proof of key could name", ErrOptions)
		}
		digest, err := pat.ExecuteDigest(c.uid, c.parameters)
		if err != nil {
			return Result{}, fmt.Errorf("%w: %w", ErrParameters, err)
		}
		if err := s.proveTo(header, session, digest); err != nil {
			return Result{}, err
		}
	}
	answer, err := s.post(ctx, executing, session.Endpoints.Execute, header, c.body)
	if err != nil {
		return Result{}, err
	}
	result, err := readResult(answer)
	if err != nil {
		return Result{}, err
	}
	result.IdempotencyKey, result.Attempts = c.key, c.attempts
	if c.prove {
		s.mu.Lock()
		if s.prove == nil {
			s.prove = map[string]bool{}
		}
		s.prove[c.uid] = s.prove[c.uid] || c.askedForProof
		s.mu.Unlock()
	}
	return result, nil
}

// readResult reads a 2xx answer: the outputs bare (UIM core 3.2), or in the draft's envelope {"status":
// "success", "data": …, "meta": …}, which is told from outputs of these names by having no other member.
func readResult(a fetch.Answer) (Result, error) {
	r := Result{Status: a.Status, Raw: a.Body, RequestID: symbolic(a.Header.Get("Uim-Request-Id")), Replayed: replayed(a.Header), RateLimit: parseRateLimit(a.Header)}
	r.Charge, _ = parseCharge(a.Header.Get("Uim-Charge"))
	if len(bytes.TrimSpace(a.Body)) == 0 {
		r.Output, r.Raw = map[string]any{}, []byte("{}")
		return r, nil
	}
	if kind := mediaType(a.Header); !jsonType(kind) {
		return Result{}, r.unusable("it is " + kind + ", not JSON")
	}
	tree, err := strictjson.Decode(a.Body)
	if err != nil {
		return Result{}, r.unusable(err.Error())
	}
	r.Output = tree
	outer, ok := tree.(map[string]any)
	if !ok || !enveloped(a.Header, outer) {
		return r, nil
	}
	if outer["status"] == "error" {
		return Result{}, readError(a)
	}
	r.Output = outer["data"]
	if r.Raw, err = json.Marshal(r.Output); err != nil {
		return Result{}, r.unusable("it cannot be written again")
	}
	meta, _ := outer["meta"].(map[string]any)
	if r.Charge == nil {
		r.Charge = chargeOf(meta["charge"])
	}
	if limit, ok := meta["rate_limit"].(map[string]any); ok && r.RateLimit == nil {
		if left, ok := wholeNumber(limit["remaining"]); ok {
			r.RateLimit = &RateLimit{Remaining: left}
			if reset, ok := wholeNumber(limit["reset"]); ok {
				r.RateLimit.Reset = resetAfter(reset, a.Header.Get("Date"))
			}
		}
	}
	return r, nil
}

// unusable is the error of a call that was done, what it cost included, whose answer cannot be used.
func (r Result) unusable(why string) *Error {
	return &Error{
		Status: r.Status, Message: ErrAnswer.Error() + ": " + clean(why), Outcome: "done", Charge: r.Charge, RateLimit: r.RateLimit,
		RequestID: r.RequestID, Replayed: r.Replayed, cause: ErrAnswer,
	}
}

func enveloped(h http.Header, outer map[string]any) bool {
	status, _ := outer["status"].(string)
	payload := map[string]string{"success": "data", "error": "error"}[status]
	if _, ok := outer[payload]; !ok || payload == "" {
		return false
	}
	if mediaType(h) == "application/uim+json" {
		return true
	}
	for name := range outer {
		if name != "status" && name != payload && name != "meta" {
			return false
		}
	}
	return true
}
