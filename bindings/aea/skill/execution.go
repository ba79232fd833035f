package skill

import (
	"bytes"
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
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	aeawire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/pat"
)

// The header fields of the API that the skill sets.
const (
	headerAuthorization  = "Authorization"
	headerContentType    = "Content-Type"
	headerIdempotencyKey = "Idempotency-Key"
	headerAccept         = "Accept"
)

// request answers a message of http as the API answers such a request. Scheme and host of its URL have no part in it.
func (s *Skill) request(ctx context.Context, m runtime.Message) error {
	asked, ok := m.Content.(protocol.HTTPMessage)
	if !ok || asked.Performative != protocol.HTTPRequest {
		return nil
	}
	answer := &response{header: http.Header{}}
	target, err := url.Parse(asked.URL)
	switch {
	case err != nil || target.Opaque != "":
		err = reason.MalformedRequest.Refusal("The url of the request cannot be read.")
	case strings.HasSuffix(target.Path, "/pat/issue"):
		err = s.mayAgree()
	}
	if err != nil {
		s.refuse(answer, refusal.For(err))
	} else {
		s.serve(ctx, m, answer, target, &asked)
	}
	return s.reply(m, answer, func() protocol.Content {
		return protocol.HTTPMessage{
			Performative: protocol.HTTPResponse, Version: asked.Version, Status: answer.status, StatusText: http.StatusText(answer.status),
			Header: answer.header, Body: answer.body.Bytes(),
		}
	})
}

// call answers a message of default, whose bytes are a call, with the output of the intent, or the error as every door has it.
func (s *Skill) call(ctx context.Context, m runtime.Message) error {
	said, ok := m.Content.(protocol.DefaultMessage)
	if !ok || said.Performative != protocol.DefaultBytes {
		return nil
	}
	answer := &response{header: http.Header{}}
	of := s.Serving()
	if of != nil && int64(len(said.Bytes)) > of.MaxBody {
		s.refuse(answer, reason.BodyTooLarge.Refusal(""))
	} else {
		asked, err := s.readCall(ctx, said.Bytes)
		switch {
		case errors.Is(err, protocol.ErrMessage):
			return err
		case err != nil:
			s.refuse(answer, refusal.For(err))
		default:
			s.serve(ctx, m, answer, &url.URL{Path: "/api/intents/execute"}, asked)
		}
	}
	return s.reply(m, answer, func() protocol.Content {
		return protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: answer.body.Bytes()}
	})
}

// readCall reads a call. Its tree, which may be many times as large as its text, comes out of the memory that requests share, as that
// of a stranger. The error is protocol.ErrMessage of what is no JSON object, or a refusal.
func (s *Skill) readCall(ctx context.Context, text []byte) (*protocol.HTTPMessage, error) {
	share := s.Memory.Open()
	defer share.Close()
	if err := wire.Affords(membudget.With(ctx, share), text); err != nil {
		return nil, err
	}
	tree, err := strictjson.DecodeObjectOf(text, wire.MaxValues)
	if err != nil {
		return nil, protocol.ErrMessage
	}
	asked, f := callOf(tree)
	if f != nil {
		return nil, f
	}
	return asked, nil
}

// callOf is the request to the API that a call is. With the member accept, of application/uim+json, the answer has the output in an
// envelope, with what the call has cost and how the tightest limit stands.
func callOf(tree strictjson.Object) (*protocol.HTTPMessage, *reason.Refusal) {
	r := &protocol.HTTPMessage{Method: http.MethodPost, Header: http.Header{headerContentType: {"application/json"}}}
	for member, into := range map[string]struct{ field, before string }{
		"pat": {headerAuthorization, "Bearer "}, "idempotency_key": {headerIdempotencyKey, ""}, "accept": {headerAccept, ""},
	} {
		switch v := tree[member].(type) {
		case nil:
		case string:
			r.Header.Set(into.field, into.before+v)
		default:
			return nil, reason.MalformedRequest.Refusal("The member " + member + " must be a string.")
		}
		delete(tree, member)
	}
	switch r.Header.Get(headerAccept) {
	case "", "application/json", wire.MediaType:
	default:
		return nil, reason.MalformedRequest.Refusal("The member accept must be application/json or " + wire.MediaType + ".")
	}
	var err error
	if r.Body, err = strictjson.Append(nil, tree); err != nil {
		return nil, reason.MalformedRequest.Refusal("The call cannot be read.").Because(err)
	}
	return r, nil
}

// serve has the API answer a request of the sender of a message. One without an idempotency key has that of the message, so that
// one which comes again gets the kept answer, and is not done again.
func (s *Skill) serve(ctx context.Context, m runtime.Message, answer *response, target *url.URL, asked *protocol.HTTPMessage) {
	origin := &door.Origin{Door: s.Door, Service: s.ID, Sender: pat.AgentID(m.Sender), Confidential: m.Confidential || s.Clear}
	r, err := http.NewRequestWithContext(origin.In(ctx), strings.ToUpper(asked.Method), "/", bytes.NewReader(asked.Body))
	if err != nil {
		s.refuse(answer, reason.MethodNotAllowed.Refusal(""))
		return
	}
	r.URL = &url.URL{Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery}
	if r.Header = asked.Header.Clone(); r.Header == nil {
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

// key is the idempotency key of a message that brings none. Only its sender names the dialogue so.
func (s *Skill) key(m runtime.Message) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", m.Dialogue.Protocol().Name, m.Message.StarterRef, m.Message.ID))
	return s.Door + ":" + hex.EncodeToString(sum[:])
}

// refuse answers with a refusal of the skill's own.
func (s *Skill) refuse(answer *response, f *reason.Refusal) {
	wire.WriteHeader(answer.header, f, "")
	answer.status = f.Status()
	answer.body.Reset()
	answer.body.Write(s.told(s.Serving(), f))
}

// reply sends an answer. One that is too long for an envelope is said to be: the call was made.
func (s *Skill) reply(m runtime.Message, answer *response, content func() protocol.Content) error {
	if !answer.long {
		if err := m.Reply(content()); !errors.Is(err, aeawire.ErrUnsendable) {
			return err
		}
	}
	f := reason.ResponseInvalid.Refusal("The answer is longer than an envelope, which holds " + strconv.Itoa(aeawire.MaxEnvelope) + " bytes.")
	if answer.status < http.StatusBadRequest {
		f.With("outcome", "done")
	}
	s.refuse(answer, f)
	return m.Reply(content())
}

// A response keeps what the API answers, as far as an envelope can hold it.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
	long   bool // there was more
}

// Header returns the header fields.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sets the status, once.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.long = w.long || w.body.Len()+len(p) > aeawire.MaxEnvelope; w.long {
		w.body = bytes.Buffer{}
		return len(p), nil
	}
	return w.body.Write(p)
}
