package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

const (
	maxIdempotencyKey = 128
	maxUID            = 512
)

// ExecuteOptions are the options of one call. The zero value suits most calls.
type ExecuteOptions struct {
	// IdempotencyKey identifies the call: 1 to 128 visible ASCII characters. The service answers a repeated call under the same key and
	// does not execute it again. If the key is empty, the client makes one for every intent that is not marked safe or has a price,
	// unless the parameters hold a number that services cannot compare exactly.
	IdempotencyKey string
	// Keyed also makes a key for safe intents without a price, and with it a proof of key.
	Keyed bool
	// NoRepeat sends the call once and makes no key.
	NoRepeat bool
	// Prove adds a proof of key. Otherwise one is added to the calls that have an idempotency key, and where the service requests it.
	Prove bool
	// RequestID correlates the call in the service's logs: 1 to 64 of A-Z a-z 0-9 . _ -; empty: the service makes one.
	RequestID string
	// Traceparent continues a trace. W3C Trace Context.
	Traceparent string
	// Via is the way that the call takes. Agreement and renewal always use UIM's endpoints.
	Via Via
}

// A Result is the response of an executed intent.
type Result struct {
	Output         any    // a tree of package strictjson
	Raw            []byte // the output as it was sent
	Status         int
	Charge         *Charge    // nil: not stated by the service
	RateLimit      *RateLimit // nil: not stated by the service
	RequestID      string
	IdempotencyKey string // of the call; empty: none
	Replayed       bool   // the response of an earlier call under the same key; nothing was executed now
	Attempts       int
}

// Execute calls an intent with its parameters: any value that encoding/json writes as an object; numbers too long for float64 as
// json.Number. It renews the PAT when that is due, and repeats the call as the package comment describes. Errors: ErrNotAgreed,
// ErrNoDoor, ErrParameters, *PolicyChangedError, *Error (see its sentinels; after one that is ErrAnswer the call has been made and may
// have been charged, unless its Outcome is unknown), and those of package fetch: after a *fetch.Error with Sent, and after a *LostError,
// it is unknown whether the call took effect; a *RenewalError around them, without a *LostError around it, means that the call was not
// sent. UIM core 3.
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
		c.attempts++
		result, err := s.attempt(ctx, session, c)
		if err == nil {
			return result, nil
		}
		if ctx.Err() != nil {
			return Result{}, c.lost(err)
		}
		next := c.nextStep(err, session, s.client)
		if !next.again {
			return Result{}, c.lost(policyChange(err, session.PolicyDigest))
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

// call checks the options and prepares what every attempt needs.
func (s *Service) call(ctx context.Context, uid string, params map[string]any, o ExecuteOptions) (*call, error) {
	if uid == "" || len(uid) > maxUID {
		return nil, fmt.Errorf("%w: an intent is named namespace:intent-name:version", ErrParameters)
	}
	if o.IdempotencyKey != "" && !validIdempotencyKey(o.IdempotencyKey) {
		return nil, fmt.Errorf("%w: an idempotency key is 1 to %d visible ASCII characters", ErrParameters, maxIdempotencyKey)
	}
	if o.RequestID != "" && identifier(o.RequestID) == "" {
		return nil, fmt.Errorf("%w: a request id is 1 to 64 of A-Z a-z 0-9 . _ -", ErrParameters)
	}
	if o.Traceparent != "" && (len(o.Traceparent) > 128 || codeName(o.Traceparent) == "") {
		return nil, fmt.Errorf("%w: this is not a traceparent", ErrParameters)
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
	mayHaveKey, mayProve := c.key == "" && !o.NoRepeat, !c.prove && s.client.o.Key != nil && session.tokenID != ""
	if (mayHaveKey || mayProve) && strictjson.Exact(tree) == nil && (o.Keyed || !s.isFree(ctx, uid)) {
		c.prove = c.prove || mayProve
		if mayHaveKey {
			c.key, c.ownKey = uuid.NewString(), true
		}
	}
	if c.body, err = executeBody(session.Dialect, uid, tree); err != nil {
		return nil, err
	}
	c.door, c.tool, err = s.door(ctx, o.Via, uid)
	return c, err
}

// isFree reports whether an intent is known to be safe and to have no price.
func (s *Service) isFree(ctx context.Context, uid string) bool {
	s.mu.Lock()
	catalog, found := s.catalog, s.unlisted[uid]
	s.mu.Unlock()
	if catalog == nil && found == nil {
		catalog, _ = s.Catalog(ctx) // an unknown intent is not safe
	}
	if catalog != nil {
		if in, ok := lookup(catalog, uid); ok {
			found = in
		}
	}
	return found != nil && found.Safe && found.Price == ""
}

func validIdempotencyKey(key string) bool {
	return key != "" && len(key) <= maxIdempotencyKey && !strings.ContainsFunc(key, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// parameterTree converts parameters into the sent form: a tree of package strictjson.
func parameterTree(params map[string]any) (map[string]any, error) {
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

// executeBody writes the body in the form of core, or of the draft for services that use it. UIM core 3.2.
func executeBody(dialect intents.Dialect, uid string, tree map[string]any) ([]byte, error) {
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

// attempt sends the call once.
func (s *Service) attempt(ctx context.Context, session Session, c *call) (Result, error) {
	header := authorization(session)
	for name, value := range map[string]string{
		"Idempotency-Key": c.key, "Uim-Request-Id": c.options.RequestID, "Traceparent": c.options.Traceparent,
	} {
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
		if err := s.addProof(header, session, digest); err != nil {
			return Result{}, err
		}
	}
	answer, err := s.send(ctx, session, c, header)
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
		if s.proofRequested == nil {
			s.proofRequested = map[string]bool{}
		}
		s.proofRequested[c.uid] = s.proofRequested[c.uid] || c.proofRequested
		s.mu.Unlock()
	}
	return result, nil
}
