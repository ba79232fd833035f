package mrp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	apiwire "github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// The door retries a call while another process of the gateway, or an earlier one, is executing a call with the same idempotency key.
const (
	runningTries = 30
	runningPause = 2 * time.Second
)

// A call is a request to execute an intent.
type call struct {
	uid               string
	parameters        []byte // an object, as encoded by the sender; nil: none
	token, proof, key string
}

// execute handles actionExecute, which calls any intent.
func (x *exchange) execute(ctx context.Context, r request) answer {
	var c call
	if err := x.params(ctx, r, "parameters", func(m *apiwire.Members) error {
		c = call{
			uid: m.Text("intent_uid", true), token: m.Text("pat", false), proof: m.Text("proof", false), key: m.Text("idempotency_key", false),
		}
		if raw, ok := m.Take("parameters"); ok {
			if c.parameters, _ = raw.(json.RawMessage); !strictjson.IsObject(c.parameters) {
				return m.Wrong("parameters", "must be an object")
			}
		}
		return nil
	}); err != nil {
		return x.refuse(err)
	}
	return x.call(ctx, c)
}

// call executes a call and returns the reply. If the call has no idempotency key, call derives one from the message, so that a repeated
// message gets the same result and is not executed again. While another process executes the call, call waits for up to a minute. For an
// encrypted message, the key is derived from the ciphertext, because the relay chooses the id, and could deliver the message again under
// another id.
func (x *exchange) call(ctx context.Context, c call) answer {
	w := strictjson.NewWriter(nil)
	w.Text("intent_uid", c.uid)
	w.JSON("parameters", c.parameters)
	body, err := w.End()
	if err != nil {
		return x.refuse(apiwire.Malformed(err))
	}
	from := x.origin()
	if c.proof == "" {
		from.Proved = x.proved()
	}
	own := c.key == ""
	if own {
		c.key = keyOf(Name+":", cmp.Or(x.sealed, x.received.ID))
	}
	execute := func() (execute.Result, error) {
		return x.a.d.Host.Execute(ctx, from, door.Call{Token: c.token, Proof: c.proof, IdempotencyKey: c.key, Body: body})
	}
	done, err := execute()
	for try := 1; own && try < runningTries && err != nil && refusal.For(err).Reason == reason.IdempotencyInProgress; try++ {
		if delay.For(ctx, runningPause) != nil {
			break
		}
		done, err = execute()
	}
	if err != nil {
		return x.failed(err)
	}
	beside := http.Header{}
	door.WriteHeader(beside, &done)
	w = strictjson.NewWriter(nil)
	w.JSON("output", done.Output)
	w.Optional("charge", beside.Get(apiwire.Charge))
	w.Optional("rate_limit", beside.Get("Ratelimit"))
	w.Text("request_id", string(x.requestID))
	w.JSON("replayed", strconv.AppendBool(nil, done.Replayed))
	return result(w)
}

// provesFor is how long after its signing time a request counts as a proof of key. The used signature is remembered until that time has
// passed.
const provesFor = 15 * time.Minute

// proved returns the message as a proof of key. The sender signed the HTTP request that brought the message to the relay of this process,
// and the signature covers the recipient and the whole call. If there is no valid and recent signature, proved returns nil; a remote relay
// never passes signatures on.
func (x *exchange) proved() *pat.Proof {
	e := x.received.Evidence
	if e == nil || e.Method != http.MethodPost || !sends(e.Target) {
		return nil
	}
	a, s, err := e.Verify(x.received.Sender)
	age := x.a.d.Now().Sub(a.Time)
	if err != nil || s.Recipient != x.a.key || s.ContentType != x.received.ContentType || !bytes.Equal(s.Body, x.received.Body) ||
		!slices.EqualFunc(s.Attachments, x.received.Attachments, func(a, b wire.Attachment) bool { return a.BlobID == b.BlobID }) ||
		age >= provesFor || age <= -provesFor {
		return nil
	}
	sum := sha256.Sum256(a.Signature[:])
	return &pat.Proof{Nonce: hex.EncodeToString(sum[:]), Until: a.Time.Add(provesFor + pat.ProofWindow), Key: x.key}
}

// sends reports whether the target of a request is the messages endpoint, under any path prefix of the relay.
func sends(target string) bool {
	u, err := url.ParseRequestURI(target)
	return err == nil && strings.HasSuffix(u.Path, "/v1/messages")
}
