package doors

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
)

// uagents is the state of the checks of the uAgents endpoint.
type uagents struct {
	url     string
	address identity.Address
}

// The header fields of the protocol.
const (
	uagentsAddress    = "X-Uagents-Address"
	uagentsStatus     = "X-Uagents-Status"
	uagentsConnection = "X-Uagents-Connection"
)

// verifierSeed is the seed of the agent that makes the checks. It may be public, because this agent requests only public data.
const verifierSeed = "uimgate verify asks for what is public"

func (d *Doors) uagentsURL(context.Context) point.Finding {
	text, isText := d.Named["uim-uagents"].(string)
	if d.Named["uim-uagents"] == nil {
		return notOffered("agents.json names no uim-uagents")
	}
	address, err := identity.ParseAddress(text)
	if !isText || err != nil || !address.Agent() {
		return point.Wrong.Because("uim-uagents is not the address of an agent (agent1…)")
	}
	d.uagents.address = address
	var f point.Finding
	if d.uagents.url, f = d.named("uim-uagents-endpoint"); d.uagents.url == "" && f.Outcome == point.Skipped {
		return point.Skipped.Because("agents.json names no uim-uagents-endpoint: rules or an Almanac may name the endpoints")
	}
	return f
}

// uagentsHere checks that HEAD reports the agent as ready, and an agent that does not exist as not ready.
func (d *Doors) uagentsHere(ctx context.Context) point.Finding {
	absent, err := identity.FromSeed(verifierSeed, 1)
	if err != nil {
		return point.Failed(err)
	}
	for _, c := range []struct {
		address identity.Address
		want    string
	}{{d.uagents.address, "ready"}, {absent.Address(), "not-ready"}} {
		a, err := d.ask(ctx, http.MethodHead, d.uagents.url, http.Header{uagentsAddress: {string(c.address)}}, nil)
		switch {
		case err != nil:
			return point.Failed(err)
		case a.Status != http.StatusOK || a.Header.Get(uagentsStatus) != c.want:
			return point.Wrong.Because("the response to HEAD for %s is %d with x-uagents-status %q, not %s", shortAddress(c.address), a.Status,
				a.Header.Get(uagentsStatus), c.want)
		}
	}
	return point.Pass
}

func shortAddress(a identity.Address) string {
	const ends = 10
	return string(a[:ends]) + "…" + string(a[len(a)-ends:])
}

// asks sends an envelope that requests the policy, and returns the envelope and the response. change may modify the envelope before it is
// sent.
func (d *Doors) asks(ctx context.Context, change func(*envelope.Envelope, identity.Key)) (envelope.Envelope, fetch.Answer, error) {
	key, err := identity.FromSeed(verifierSeed, 0)
	if err != nil {
		return envelope.Envelope{}, fetch.Answer{}, err
	}
	const goodFor = time.Minute
	until := uint64(d.Now().Add(goodFor).Unix())
	e := envelope.Envelope{
		Target: d.uagents.address, Session: envelope.Session(uuid.NewString()), SchemaDigest: protocol.Standard("UIMPolicyRequest").Digest,
		ProtocolDigest: protocol.UIM().Digest, Payload: envelope.Pack([]byte("{}")), Expires: &until,
	}.Sign(key)
	change(&e, key)
	body, err := json.Marshal(e)
	if err != nil {
		return e, fetch.Answer{}, fmt.Errorf("encoding the envelope: %w", err)
	}
	a, err := d.ask(ctx, http.MethodPost, d.uagents.url, http.Header{
		"Content-Type": {"application/json"}, uagentsConnection: {"sync"},
	}, body)
	return e, a, err
}

// uagentsAnswers requests the policy. The response must be signed with the key of the service's address.
func (d *Doors) uagentsAnswers(ctx context.Context) point.Finding {
	sent, a, err := d.asks(ctx, func(*envelope.Envelope, identity.Key) {})
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status != http.StatusOK:
		return point.Wrong.Because("the response to an envelope is %d, but agents accept only 200", a.Status)
	}
	e, err := envelope.Parse(a.Body)
	switch {
	case err != nil:
		return point.Wrong.Because("the response is not an envelope")
	case e.Verify() != nil:
		return point.Wrong.Because("the response is not signed with the key of an agent")
	case e.Sender != d.uagents.address || e.Target != sent.Sender || e.Session != sent.Session:
		return point.Wrong.Because("the sender, the target or the session of the response is wrong")
	case e.SchemaDigest != protocol.Standard("UIMPolicy").Digest:
		return point.Wrong.Because("the response to UIMPolicyRequest is not a UIMPolicy")
	}
	text, err := e.Message()
	if err != nil {
		return point.Wrong.Because("the response contains no message")
	}
	got, err := strictjson.DecodeObject(text)
	if err != nil {
		return point.Wrong.Because("the message in the response is not a JSON object")
	}
	if digest, err := pat.PolicyDigest([]byte(got.Text("document"))); err != nil || digest != got.Text("digest") {
		return point.Wrong.Because("the digest in UIMPolicy does not match its document")
	}
	return point.Pass
}

// uagentsForged sends an envelope that was changed after it was signed.
func (d *Doors) uagentsForged(ctx context.Context) point.Finding {
	_, a, err := d.asks(ctx, func(e *envelope.Envelope, _ identity.Key) { e.Session = envelope.NewSession() })
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status != http.StatusBadRequest:
		return point.Wrong.Because("the response to an envelope that was changed after it was signed is %d, not 400", a.Status)
	}
	return point.Pass
}

// uagentsExpired sends an expired envelope.
func (d *Doors) uagentsExpired(ctx context.Context) point.Finding {
	_, a, err := d.asks(ctx, func(e *envelope.Envelope, key identity.Key) {
		const over = time.Hour
		until := uint64(d.Now().Add(-over).Unix())
		e.Expires = &until
		*e = e.Sign(key)
	})
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	}
	if e, err := envelope.Parse(a.Body); err == nil && e.SchemaDigest == protocol.Standard("UIMPolicy").Digest {
		return point.Wrong.Because("an envelope that expired an hour ago gets a normal reply")
	}
	return point.Pass
}
