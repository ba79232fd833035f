package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/payments/x402"
)

const (
	maxIdempotencyKey = 128
	maxUID            = 512
)

// ExecuteOptions are the options of one call. The zero value suits most calls.
type ExecuteOptions struct {
	// IdempotencyKey identifies the call: 1 to 128 visible ASCII characters. If a call is repeated under the same key, the service
	// returns the stored response and does not execute the call again. If IdempotencyKey is empty, the client generates a key for
	// every intent that has a price or is not marked safe, unless the parameters contain a number that services cannot compare
	// exactly.
	IdempotencyKey string
	// Keyed makes the client also generate an idempotency key, and add a proof of key, for safe intents that have no price.
	Keyed bool
	// NoRepeat makes the client send the call only once, without generating an idempotency key.
	NoRepeat bool
	// NoWait makes Execute return ErrIdempotencyInProgress at once if an earlier call under the key is still running.
	NoWait bool
	// Prove adds a proof of key to the call. Without Prove, the client adds a proof to calls to the intents for which it generates
	// keys, and to calls for which the service requests one.
	Prove bool
	// RequestID identifies the call in the service's logs: 1 to 64 characters of A-Z a-z 0-9 . _ -. If it is empty, the service
	// generates an id.
	RequestID string
	// Traceparent continues a trace. See W3C Trace Context.
	Traceparent string
	// Before is called before the call is first sent. It receives the idempotency key of the call, or "" if there is none. A caller that keeps
	// the key can repeat the call after a crash. Before may be nil.
	Before func(idempotencyKey string)
	// Via selects the protocol of the call. It does not affect agreements and renewals.
	Via Via
}

// A Result is the response of an executed intent.
type Result struct {
	Output         any    // decoded by package strictjson
	Raw            []byte // the output as JSON
	Status         int
	Charge         *Charge    // nil if the service does not state it
	RateLimit      *RateLimit // nil if the service does not state it
	RequestID      string
	IdempotencyKey string  // the idempotency key of the call; empty if it has none
	Sunset         *Sunset // when the intent or its terms end; nil if the service announces no end
	Replayed       bool    // the service repeated its response to an earlier call under the same key, and executed nothing now
	Attempts       int
	Paid           bool // a payment by Options.Pay was settled, and is now credit at the service

	Evidence
}

// Execute calls an intent. The parameters may have any values that encoding/json can encode; a number that is too long for float64 must be
// a json.Number. Execute renews the PAT if that is due, and retries the call as the package comment describes. See UIM core, section 3.
//
// Errors: ErrNotAgreed, ErrNoDoor, ErrOptions, ErrParameters, ErrPayment, ErrRelay, *PolicyChangedError, *Error and the errors of package
// fetch. If an *Error wraps ErrAnswer, the service has executed the call and may have charged for it, unless Outcome is unknown.
// After a *fetch.Error with Sent, and after a *LostError, it is unknown whether the call took effect. A *RenewalError that is not
// wrapped in a *LostError means that the call was not sent.
func (s *Service) Execute(ctx context.Context, uid string, params map[string]any, o ExecuteOptions) (Result, error) {
	c, err := s.call(ctx, uid, params, o)
	if err != nil {
		return Result{}, err
	}
	for {
		session, err := s.currentSession(ctx)
		if err != nil {
			return Result{}, c.lost(err)
		}
		if c.attempts++; c.attempts == 1 && o.Before != nil {
			o.Before(c.key)
		}
		result, err := s.attempt(ctx, session, c)
		if err == nil {
			s.account(ctx, session, c, outcome{result.Charge, result.Replayed, &result}, &result.Evidence)
			return result, nil
		}
		if ctx.Err() != nil {
			return Result{}, c.lost(err)
		}
		next := c.nextStep(err, session, s.client)
		if !next.again {
			s.accountError(ctx, session, c, err)
			return Result{}, c.lost(policyChange(err, session.PolicyDigest))
		}
		if next.pay != nil {
			if payErr := s.pay(ctx, c, next.pay); payErr != nil {
				return Result{}, c.lost(errors.Join(payErr, err))
			}
		}
		if next.renew {
			if _, renewErr := s.renewFrom(ctx, session); renewErr != nil {
				return Result{}, c.lost(&RenewalError{errors.Join(renewErr, err)})
			}
		}
		if next.wait > 0 {
			if err := s.client.o.Sleep(ctx, next.wait); err != nil {
				return Result{}, c.lost(errors.Join(err, c.last))
			}
		}
	}
}

// call checks the options and prepares everything that the attempts of a call need.
func (s *Service) call(ctx context.Context, uid string, params map[string]any, o ExecuteOptions) (*call, error) {
	if uid == "" || len(uid) > maxUID {
		return nil, fmt.Errorf("%w: want an intent UID of the form namespace:intent-name:version", ErrParameters)
	}
	if o.IdempotencyKey != "" && !validIdempotencyKey(o.IdempotencyKey) {
		return nil, fmt.Errorf("%w: an idempotency key must have 1 to %d visible ASCII characters", ErrParameters, maxIdempotencyKey)
	}
	if o.RequestID != "" && identifier(o.RequestID) == "" {
		return nil, fmt.Errorf("%w: a request id must have 1 to 64 characters of A-Z a-z 0-9 . _ -", ErrParameters)
	}
	if o.Traceparent != "" && (len(o.Traceparent) > 128 || codeName(o.Traceparent) == "") {
		return nil, fmt.Errorf("%w: the traceparent is invalid", ErrParameters)
	}
	tree, err := parameterTree(params)
	if err != nil {
		return nil, err
	}
	c := &call{uid: uid, parameters: tree, options: o, key: o.IdempotencyKey, prove: o.Prove}
	s.mu.Lock()
	c.prove = c.prove || s.proofRequested[uid]
	s.mu.Unlock()
	session := s.Session()
	mayHaveKey, mayProve := c.key == "" && !o.NoRepeat, !c.prove && s.client.o.Key != nil && session.kept.TokenID != ""
	if (mayHaveKey || mayProve) && strictjson.Exact(tree) == nil && (o.Keyed || !s.isFree(ctx, uid)) {
		c.prove = c.prove || mayProve
		if mayHaveKey {
			c.key, c.ownKey = uuid.NewString(), true
		}
	}
	c.wait, c.free = s.waitFor(ctx, uid), s.client.o.Receipts != "" && s.isFree(ctx, uid)
	if c.body, err = executeBody(session.Dialect, uid, tree); err != nil {
		return nil, err
	}
	c.door, c.tool, err = s.door(ctx, o.Via, uid)
	return c, err
}

// isFree reports whether an intent is known to be safe and to have no price.
func (s *Service) isFree(ctx context.Context, uid string) bool {
	found := s.known(ctx, uid)
	return found != nil && found.Safe && found.Price == ""
}

// callMargin is the time that the client waits for a call beyond the service's time limit: for a queue, the service's records and the
// network.
const callMargin = 20 * time.Second

// waitFor returns how long the service may take to respond to a call to an intent, with callMargin. It returns 0 if the usual limit of an
// exchange applies, because the service states no time or the caller has set Options.Timeout.
func (s *Service) waitFor(ctx context.Context, uid string) time.Duration {
	if s.client.o.Timeout > 0 {
		return 0
	}
	if found := s.known(ctx, uid); found != nil && found.Timeout > 0 {
		return found.Timeout + callMargin
	}
	return 0
}

// known returns the description of an intent, or nil if it cannot be looked up. It reads agents.json if that has not been read.
func (s *Service) known(ctx context.Context, uid string) *intents.Intent {
	s.mu.Lock()
	catalog, found := s.catalog, s.unlisted[uid]
	s.mu.Unlock()
	if catalog == nil && found == nil {
		catalog, _ = s.Catalog(ctx) // an intent that cannot be looked up is not safe
	}
	if catalog != nil {
		if in, ok := lookup(catalog, uid); ok {
			found = in
		}
	}
	return found
}

func validIdempotencyKey(key string) bool {
	return key != "" && len(key) <= maxIdempotencyKey && !strings.ContainsFunc(key, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// parameterTree converts parameters to the form in which they are sent, as decoded by package strictjson.
func parameterTree(params map[string]any) (map[string]any, error) {
	if params == nil {
		return map[string]any{}, nil
	}
	data, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%w: they contain a value that cannot be encoded as JSON", ErrParameters)
	}
	tree, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParameters, err)
	}
	return tree, nil
}

// executeBody encodes the request body in the form of UIM core 3.2, or of the draft for services that use the draft.
func executeBody(dialect intents.Dialect, uid string, tree map[string]any) ([]byte, error) {
	var body any = map[string]any{"intent_uid": uid, "parameters": tree}
	if dialect == intents.Draft {
		body = map[string]any{"intent": map[string]any{"uid": uid, "parameters": tree}, "context": map[string]any{}}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("%w: encoding them: %w", ErrParameters, err)
	}
	return data, nil
}

// attempt sends the call once. If the service executes a call with a proof that it had requested, attempt records that the intent needs
// one.
func (s *Service) attempt(ctx context.Context, session Session, c *call) (Result, error) {
	header := authorization(session)
	for name, value := range map[string]string{
		"Idempotency-Key": c.key, x402.HeaderSignature: c.payment, "Uim-Request-Id": c.options.RequestID, "Traceparent": c.options.Traceparent,
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	if c.prove {
		if s.client.o.Key == nil || session.kept.TokenID == "" {
			return Result{}, fmt.Errorf("%w: a proof of key requires a key, and a PAT with a jti", ErrOptions)
		}
		digest, err := pat.ExecuteDigest(c.uid, c.parameters)
		if err != nil {
			return Result{}, fmt.Errorf("%w: %w", ErrParameters, err)
		}
		if err := s.addProof(header, session, digest); err != nil {
			return Result{}, err
		}
	}
	s.note(ctx, c)
	answer, err := s.send(ctx, session, c, header)
	if err != nil {
		return Result{}, err
	}
	result, err := readResult(answer)
	if err != nil {
		return Result{}, err
	}
	result.IdempotencyKey, result.Attempts = c.key, c.attempts
	result.Paid = c.payment != "" && settledBy(answer)
	if c.prove {
		s.mu.Lock()
		if s.proofRequested == nil {
			s.proofRequested = map[string]bool{}
		}
		s.proofRequested[c.uid] = s.proofRequested[c.uid] || c.proofRequested
		s.mu.Unlock()
	}
	return result, nil
}
