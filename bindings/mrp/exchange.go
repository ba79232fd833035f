package mrp

import (
	"context"
	"errors"
	"mime"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/reason"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
	"github.com/uimgate/uimgate/pat/keys"
)

// progressAfter is how long a sender waits for a reply before it gets a progress report.
const progressAfter = 2 * time.Second

// An exchange is one message and its reply.
type exchange struct {
	a        *agent
	service  *service.Service
	received relay.Arrival // as received
	says     wire.Message  // the same, or the message sealed in it
	sealed   string        // the digest of the ciphertext, which the encrypted reply names; empty: it was not encrypted
	key      keys.Key      // of the sender

	requestID execute.RequestID
}

// An answer is the content of a message.
type answer struct {
	contentType string
	body        []byte
}

// answer returns the message to send; nil: none.
func (a *agent) answer(ctx context.Context, m relay.Arrival) *wire.Send {
	x := &exchange{
		a: a, service: door.Serving(a.d.Services(), a.service), received: m, says: m.Message, requestID: execute.RequestIDFrom(""),
	}
	if m.Sender == a.key || !m.ExpiresAt.After(a.d.Now()) || x.service == nil || wantsNone(m.ContentType) {
		return nil
	}
	leave, err := a.places.Take(ctx, a.party(ctx, m.Sender))
	if ctx.Err() != nil {
		if err == nil {
			leave()
		}
		return nil
	}
	if err != nil {
		a.d.Shed(reason.ShedEnvelopes)
		return x.send(x.refuse(reason.Overloaded.Refusal("As many messages wait for their answers as may.").
			After(lineWait).ShedFor(reason.ShedEnvelopes)), "re:")
	}
	defer leave()
	if !m.ExpiresAt.After(a.d.Now()) {
		return nil
	}
	return x.send(x.answer(ctx), "re:")
}

// party is a sender among those that share the places.
func (a *agent) party(ctx context.Context, sender wire.Key) fairqueue.Party {
	of := fairqueue.Party{Name: sender.String(), Unapproved: true}
	if key, err := keys.New(sender.Public()); err == nil {
		of.Unapproved = a.d.Host.Unapproved(ctx, a.service, key.Thumbprint())
	}
	return of
}

// wantsNone reports whether messages of a type get no reply: they are replies, or concern replies.
func wantsNone(contentType string) bool {
	switch mediaType(contentType) {
	case wire.TypeResponse, wire.TypeEvent, wire.TypeStatus:
		return true
	default:
		return false
	}
}

func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return strings.ToLower(contentType)
	}
	return kind
}

// answer replies to a message by its type. One without a content type gets no reply.
func (x *exchange) answer(ctx context.Context) answer {
	if mediaType(x.says.ContentType) == wire.TypeEncrypted {
		if err := x.open(); err != nil {
			return x.refuse(err)
		}
		if wantsNone(x.says.ContentType) {
			return answer{}
		}
	}
	var err error
	if x.key, err = keys.New(x.received.Sender.Public()); err != nil {
		return x.refuse(refusal.For(err))
	}
	switch mediaType(x.says.ContentType) {
	case wire.TypeRequest:
		if len(x.says.Attachments) > 0 {
			return x.refuse(reason.MalformedRequest.Refusal("Attachments are not read here: put all parameters into the body."))
		}
		return x.requested(ctx)
	case wire.TypeText, wire.TypeJSON:
		return x.talk(ctx)
	default:
		return x.refuse(reason.UnsupportedMediaType.Refusal(
			"Messages of this type are not read here: send a request, of type " + wire.TypeRequest + "."))
	}
}

// open decrypts the message. The relay can change the content type outside the ciphertext, and so make the service execute a message that
// its sender meant otherwise: therefore a request has its type inside.
func (x *exchange) open() error {
	m, err := e2e.OpenMessage(x.a.private, x.received.Message)
	switch {
	case errors.Is(err, e2e.ErrType):
		return reason.MalformedRequest.Refusal("The content type of the message is not the one that its sender encrypted.")
	case err != nil:
		return reason.MalformedRequest.Refusal("The message cannot be decrypted with the keys of its sender and of this agent.")
	}
	if x.sealed, err = e2e.Digest(x.received.Body); err != nil {
		return reason.MalformedRequest.Refusal("The message cannot be decrypted with the keys of its sender and of this agent.")
	}
	x.says = m
	if mediaType(m.ContentType) == wire.TypeRequest && !e2e.Names(m) {
		return reason.MalformedRequest.Refusal("An encrypted request has to name its type, which the relay could change.").
			With("suggestion", `Put the member "mrp_content_type": "`+wire.TypeRequest+`" into the request before you encrypt it.`)
	}
	return nil
}

// requested answers a request, and sends one progress report if that takes long.
func (x *exchange) requested(ctx context.Context) answer {
	telling, done := context.WithCancel(ctx)
	var progress sync.WaitGroup
	progress.Go(func() {
		if sleep(telling, progressAfter) != nil {
			return
		}
		working := answer{wire.TypeStatus, []byte(`{"state":"working","progress":0,"detail":"The request is being worked on."}`)}
		if s := x.send(working, "st:"); s != nil {
			_, _ = x.a.box.Send(telling, *s) // the reply supersedes it
		}
	})
	defer progress.Wait()
	defer done()
	return x.request(ctx)
}

// send is an answer as a message to the sender, in its thread; nil: there is none. What comes twice is answered under one key, so that
// the sender has one answer.
func (x *exchange) send(of answer, prefix string) *wire.Send {
	if of.contentType == "" {
		return nil
	}
	sent := x.message(of, prefix)
	if sent == nil || len(sent.Body) > wire.MaxBody {
		sent = x.message(x.long(), prefix)
	}
	return sent
}

func (x *exchange) message(of answer, prefix string) *wire.Send {
	m := wire.Send{
		Recipient: x.received.Sender, ContentType: of.contentType, Body: of.body, InReplyTo: x.received.ID, ThreadID: x.received.ThreadID,
		IdempotencyKey: keyOf(prefix, x.received.ID),
	}
	if m.ThreadID == "" {
		m.ThreadID = x.received.ID
	}
	if x.sealed == "" || len(of.body) > wire.MaxBody {
		return &m
	}
	sealed, err := e2e.SealAnswer(x.a.private, m, x.received.Body)
	if err != nil { // it was opened with this key
		return nil
	}
	return &sealed
}
