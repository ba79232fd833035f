// Package uagents is the door of the uAgents protocol. Each service that opens the door is an agent with an address. The door accepts
// signed envelopes at its path, and replies in the HTTP response, or later at an endpoint of the sender. It supports UIMProtocol, with
// which an agent can find intents, agree and call intents with signed messages only, and the usual protocols for chat, tools and health.
package uagents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/pat"
)

// Name is the door's name in logs, metrics and audit records.
const Name = "uagents"

// The header fields of the protocol, in the canonical form of net/http.
const (
	connectionKey = "X-Uagents-Connection"
	addressKey    = "X-Uagents-Address"
	statusKey     = "X-Uagents-Status"
	hintKey       = "X-Uagents-Response-Time-Hint"

	synchronous = "sync"
	jsonType    = "application/json"
)

// A Door handles envelopes at the path of each service that opens it. It is safe for concurrent use.
type Door struct {
	data     *config.DataDir
	now      func() time.Time
	services func() []*service.Service

	outbox    *outbox
	registry  *almanac.Registry
	registrar *registrar
	tools     tool.Made
}

// Name implements door.Module.
func (d *Door) Name() string { return Name }

// Blocks implements door.Configurable.
func (d *Door) Blocks() config.Blocks {
	return config.Blocks{Doors: []config.Block{{
		Key: Name, Settings: (*Settings)(nil), Paths: []string{infoPath, manifestPath},
		Doc: "The uAgents protocol: the service accepts signed envelopes, and replies in the response or later. Open if this block is present; it may be {}.",
	}}}
}

// Form implements door.FormSource.
func (d *Door) Form() pat.Form { return agreement.Form() }

// Provision implements door.Module.
func (d *Door) Provision(_ context.Context, p door.Process) error {
	registrations, ok := p.State.(almanac.Store)
	if !ok {
		return errNoRegistrations
	}
	d.data, d.now, d.services = p.Data, p.Now, p.Services
	d.outbox, d.registry = newOutbox(p.Now), almanac.NewRegistry(registrations, p.Now)
	d.registrar = &registrar{client: d.outbox.almanac, registry: d.registry, now: p.Now, sole: p.Sole, log: p.Log}
	return nil
}

var errNoRegistrations = errors.New("the store does not support registrations of agents")

// Prepare implements door.Preparer.
func (d *Door) Prepare(s *service.Definition) (err error) {
	own := SettingsOf(s)
	if own == nil {
		return nil
	}
	seed := own.seed
	if seed.IsEmpty() {
		seed, err = d.data.Seed(Name, s.ID)
	}
	if err == nil {
		own.key, err = identity.FromSeed(seed.Reveal(), 0)
	}
	if err != nil {
		return fmt.Errorf("the uAgents identity of %s: %w", s.ID, err)
	}
	own.Address = string(own.key.Address())
	return nil
}

// Route returns one name for the configured path, one for all paths of the Almanac, and one for all mailboxes. It returns the paths of the
// service's descriptions unchanged, and "" for the paths of other doors.
func (d *Door) Route(s *service.Definition, path string) string {
	own := SettingsOf(s)
	if own == nil {
		return ""
	}
	_, below := inAlmanac(path)
	_, _, polls := inMailbox(path)
	switch {
	case path == own.Path:
		return "/submit"
	case below && own.Registry:
		return almanac.Path
	case polls && own.Mailbox:
		return mailboxPath
	case path == infoPath, path == manifestPath:
		return path
	default:
		return ""
	}
}

// A submission is one HTTP request to the door: the exchange, and the writer of the response.
type submission struct {
	exchange
	w http.ResponseWriter
}

// Serve handles one HTTP request. It makes the checks in the order of the reference implementation.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request, v *door.Request) {
	h := w.Header()
	x := &submission{exchange{Request: v, d: d, r: r, header: h, goodFor: goodFor}, w}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "*")
	h.Set("Access-Control-Allow-Credentials", "false")
	h.Set("Cache-Control", "no-store")
	path, below := inAlmanac(r.URL.Path)
	address, id, polls := inMailbox(r.URL.Path)
	switch {
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	case below && x.settings().Registry:
		x.looked(path)
		return
	case x.settings().Mailbox && polls:
		x.polled(address, id)
		return
	case r.URL.Path != x.settings().Path:
		x.informed(r.URL.Path)
		return
	}
	switch r.Method {
	case http.MethodHead:
		x.status()
	case http.MethodGet, http.MethodPost:
		x.submitted()
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS, POST")
		x.fail(&fault{reason.MethodNotAllowed.Refusal(""), "method not allowed", "Send the envelope with POST."})
	}
}

// status reports in a header, without a body, whether the service has the address in the request.
func (x *submission) status() {
	h := x.w.Header()
	switch address := x.r.Header.Get(addressKey); address {
	case "":
		h.Set(statusKey, "indeterminate")
	case x.settings().Address:
		h.Set(statusKey, "ready")
		h.Set(hintKey, "5") // seconds
	default:
		h.Set(statusKey, "not-ready")
	}
	x.w.WriteHeader(http.StatusOK)
}

// submitted handles a request that should contain an envelope.
func (x *submission) submitted() {
	mediaType := x.r.Header.Get("Content-Type")
	switch {
	case mediaType == "" && x.r.Header.Get("User-Agent") != "": // a person opened the URL in a browser
		x.write(http.StatusOK, []byte(`{"status": "OK - Agent is running"}`))
		return
	case mediaType == "":
		x.fail(malformed("missing header: content-type", ""))
		return
	case !strings.Contains(mediaType, jsonType):
		x.fail(malformed("invalid content-type", ""))
		return
	}
	if f := x.read(); f != nil {
		x.fail(f)
		return
	}
	x.dispatch()
}

// dispatch responds with the reply to the envelope. If the sender does not wait for the reply, dispatch acknowledges the envelope and
// postpones the reply.
func (x *submission) dispatch() {
	if !answered(x.SchemaDigest) {
		x.write(http.StatusOK, []byte("{}"))
		return
	}
	if x.r.Header.Get(connectionKey) != synchronous {
		x.postpone()
		return
	}
	answer, f := x.answer()
	if f != nil {
		x.fail(f)
		return
	}
	body, err := json.Marshal(answer)
	if err != nil {
		x.fail(unwritable(err))
		return
	}
	if err := x.holds(body); err != nil {
		x.fail(&fault{refusal.For(err), "the gateway has no memory for the reply", "Send the same envelope again after a few seconds."})
		return
	}
	x.write(http.StatusOK, body)
}

// read reads the envelope. It returns a fault unless the envelope is addressed to this service and signed with the sender's key. Envelopes
// of users need no signature if Settings.Unsigned is set.
func (x *submission) read() *fault {
	var err error
	if x.raw, err = wire.ReadBody(x.r, min(envelope.MaxBytes, x.Service.MaxBody)); err == nil {
		err = wire.Affords(x.r.Context(), x.raw)
	}
	if err != nil {
		f := refusal.For(err)
		return &fault{refusal: f, text: "empty or invalid payload", detail: f.Message}
	}
	if x.Envelope, err = envelope.Parse(x.raw); err != nil {
		return unreadable(err)
	}
	err = x.Verify()
	if user := errors.Is(err, envelope.ErrAnonymous); err != nil && (!user || !x.settings().Unsigned) {
		return unproved(err)
	}
	if string(x.Target) != x.settings().Address {
		return misrouted()
	}
	return nil
}

// unreadable returns the fault for a body that is not an envelope.
func unreadable(err error) *fault {
	const noEnvelope = "contents do not match envelope schema"
	member, isMember := errors.AsType[*envelope.MemberError](err)
	coded := errors.Is(err, identity.ErrBech32)
	switch {
	case errors.Is(err, envelope.ErrJSON):
		return malformed("empty or invalid payload", "")
	case !isMember || !coded && !errors.Is(err, identity.ErrPrefix):
		return malformed(noEnvelope, err.Error())
	case member.Member == "target":
		return misrouted()
	case coded:
		return malformed("Unable to decode value", err.Error())
	case member.Member == "sender":
		return malformed("Unable to decode agent address", err.Error())
	case member.Member == "signature":
		return malformed("Unable to decode signature", err.Error())
	}
	return malformed(noEnvelope, err.Error())
}

// unproved returns the fault for an envelope that is not signed with the key of an agent.
func unproved(err error) *fault {
	f := &fault{refusal: refusal.For(reason.BadSignature.Refusal("")), text: "Signature verification failed"}
	switch {
	case errors.Is(err, envelope.ErrUnsigned):
		f.text = "Envelope signature is missing"
	case errors.Is(err, envelope.ErrAnonymous):
		f.text, f.detail = "unverified senders are not served", "Send the envelope from an agent, whose address encodes its key: the identity of a user cannot be verified."
	}
	return f
}

func misrouted() *fault {
	return malformed("unable to route envelope", "The service does not have the target address. Its address is the member uim-uagents of its agents.json.")
}
