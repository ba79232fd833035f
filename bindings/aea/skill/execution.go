package skill

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill/echo"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	aeawire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/pat"
)

const headerIdempotencyKey = "Idempotency-Key"

// request replies to a message of the http protocol with the response of the API. It ignores the scheme and the host of the URL.
func (s *Skill) request(ctx context.Context, m runtime.Message) error {
	request, ok := m.Content.(protocol.HTTPMessage)
	if !ok || request.Performative != protocol.HTTPRequest {
		return nil
	}
	answer := &response{header: http.Header{}}
	target, err := url.Parse(request.URL)
	switch {
	case err != nil || target.Opaque != "":
		err = reason.MalformedRequest.Refusal("The url of the request is malformed.")
	case strings.HasSuffix(target.Path, "/pat/issue"):
		err = s.mayAgree()
	}
	if err != nil {
		s.refuse(answer, refusal.For(err), "")
	} else {
		s.serve(ctx, m, answer, target, &request)
	}
	return s.reply(m, answer, func() protocol.Content {
		return protocol.HTTPMessage{
			Performative: protocol.HTTPResponse, Version: request.Version, Status: answer.status, StatusText: http.StatusText(answer.status),
			Header: answer.header, Body: answer.body.Bytes(),
		}
	})
}

// call replies to a message of the default protocol whose bytes are a call. The reply is the output of the intent, or an error in the
// form that all doors share.
func (s *Skill) call(ctx context.Context, m runtime.Message) error {
	message, ok := m.Content.(protocol.DefaultMessage)
	if !ok || message.Performative != protocol.DefaultBytes {
		return nil
	}
	answer := &response{header: http.Header{}}
	if of := s.Serving(); of != nil && int64(len(message.Bytes)) > of.MaxBody {
		s.refuse(answer, reason.BodyTooLarge.Refusal(""), "")
	} else {
		c, draft, err := s.readCall(ctx, message.Bytes)
		switch {
		case errors.Is(err, protocol.ErrMessage) && s.variables.Load().Echo && !m.Inside() && echo.Takes(message.Bytes):
			return nil
		case errors.Is(err, protocol.ErrMessage) && m.Inside(): // the runtime sends no errors to components
			return m.Reply(protocol.DefaultMessage{
				Performative: protocol.DefaultError, Code: protocol.CodeInvalidMessage, Text: "The bytes are not a call in JSON.",
			})
		case errors.Is(err, protocol.ErrMessage):
			return err
		case err != nil:
			s.refuse(answer, refusal.For(err), "")
		default:
			s.execute(ctx, m, answer, c, draft)
		}
	}
	return s.reply(m, answer, func() protocol.Content {
		return protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: answer.body.Bytes()}
	})
}

// origin describes the sender of a message for the host.
func (s *Skill) origin(m runtime.Message) door.Origin {
	o := door.Origin{
		Door: s.Door, Service: s.ID, RequestID: execute.RequestIDFrom(""), Sender: pat.AgentID(m.Sender), Confidential: m.Confidential || s.Clear,
	}
	if m.Inside() { // a skill or a connection of this agent, which may pass on the call of any agent
		o.Sender, o.Confidential = "", o.Confidential || m.Connection == (aeawire.PublicID{})
	}
	return o
}

// execute executes a call and writes the output to answer, in the draft's envelope if draft is set. If the call has no idempotency key,
// the key is derived from the message, so that a repeated message gets the same reply and is not executed again.
func (s *Skill) execute(ctx context.Context, m runtime.Message, answer *response, c door.Call, draft bool) {
	from, began := s.origin(m), s.Now()
	if c.IdempotencyKey == "" {
		c.IdempotencyKey = s.key(m)
	}
	result, err := s.Host.Execute(ctx, from, c)
	body := result.Output
	if err == nil && draft {
		body, err = door.DraftEnvelope(&result, s.Now().Sub(began))
	}
	if err != nil {
		s.refuse(answer, refusal.For(err), from.RequestID)
		return
	}
	_, _ = answer.Write(body)
}

// readCall decodes a call. The decoded tree can be many times larger than its text, so it takes memory from the budget that requests share,
// as an unauthenticated request does. draft reports whether the member accept requests the draft's envelope. The error is
// protocol.ErrMessage if the text is not a JSON object, and otherwise a *reason.Refusal.
func (s *Skill) readCall(ctx context.Context, text []byte) (c door.Call, draft bool, err error) {
	share := s.Memory.Open()
	defer share.Close()
	if err := wire.Affords(membudget.With(ctx, share), text); err != nil {
		return c, false, err
	}
	tree, err := strictjson.DecodeObjectOf(text, wire.MaxValues)
	if err != nil {
		return c, false, protocol.ErrMessage
	}
	var accept string
	for member, into := range map[string]*string{"pat": &c.Token, "idempotency_key": &c.IdempotencyKey, "accept": &accept} {
		if v := tree[member]; v != nil {
			var isText bool
			if *into, isText = v.(string); !isText {
				return c, false, reason.MalformedRequest.Refusal("The member " + member + " must be a string.")
			}
		}
		delete(tree, member)
	}
	switch accept {
	case "", "application/json", wire.MediaType:
	default:
		return c, false, reason.MalformedRequest.Refusal("The member accept must be application/json or " + wire.MediaType + ".")
	}
	if c.Body, err = strictjson.Append(nil, tree); err != nil {
		return c, false, reason.MalformedRequest.Refusal("The call could not be encoded.").Because(err)
	}
	return c, accept == wire.MediaType, nil
}

// serve passes the HTTP request of a message to the API. If a POST has no idempotency key, the key is derived from the message, so that a
// repeated message gets the stored response and is not executed again.
func (s *Skill) serve(ctx context.Context, m runtime.Message, answer *response, target *url.URL, request *protocol.HTTPMessage) {
	origin := s.origin(m)
	r, err := http.NewRequestWithContext(origin.In(ctx), strings.ToUpper(request.Method), "/", bytes.NewReader(request.Body))
	if err != nil {
		s.refuse(answer, reason.MethodNotAllowed.Refusal(""), "")
		return
	}
	r.URL = &url.URL{Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery}
	if r.Header = request.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	if _, sent := r.Header[headerIdempotencyKey]; !sent && r.Method == http.MethodPost {
		r.Header.Set(headerIdempotencyKey, s.key(m))
	}
	s.API.ServeHTTP(answer, r)
	answer.WriteHeader(http.StatusOK)
	for _, hop := range []string{"Connection", "Keep-Alive", "Transfer-Encoding"} {
		answer.header.Del(hop)
	}
}

// key returns the idempotency key for a message without one. It is unique among the messages of the sender.
func (s *Skill) key(m runtime.Message) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", m.Dialogue.Protocol().Name, m.Message.StarterRef, m.Message.ID))
	return s.Door + ":" + hex.EncodeToString(sum[:])
}

// refuse sets answer to a refusal. id is the id of the request that the host logged; it is empty if the skill itself refuses.
func (s *Skill) refuse(answer *response, f *reason.Refusal, id execute.RequestID) {
	wire.WriteHeader(answer.header, f, "")
	answer.status = f.Status()
	answer.body.Reset()
	answer.body.Write(s.envelope(s.Serving(), f, id))
}

// reply sends a reply. If the reply is too long for an envelope, it sends an error instead, with the outcome done if the call succeeded.
func (s *Skill) reply(m runtime.Message, answer *response, content func() protocol.Content) error {
	if !answer.long {
		if err := m.Reply(content()); !errors.Is(err, aeawire.ErrUnsendable) {
			return err
		}
	}
	f := reason.ResponseInvalid.Refusal("The response is longer than the " + strconv.Itoa(aeawire.MaxEnvelope) + " bytes of an envelope.")
	if answer.status < http.StatusBadRequest {
		f.With("outcome", "done")
		f.With("suggestion",
			"The call took effect and may have been charged, so do not repeat it. In later calls, ask for a shorter response, or use HTTP.")
	}
	s.refuse(answer, f, "")
	return m.Reply(content())
}

// A response records a response of the API up to the maximum size of an envelope.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
	long   bool // the response was longer, and body is empty
}

// Header returns the header fields.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sets the status. Later calls have no effect.
func (w *response) WriteHeader(status int) { w.status = cmp.Or(w.status, status) }

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.long = w.long || w.body.Len()+len(p) > aeawire.MaxEnvelope; w.long {
		w.body = bytes.Buffer{}
		return len(p), nil
	}
	return w.body.Write(p)
}
