package mrp

import (
	"cmp"
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
	"github.com/uimgate/uimgate/internal/delay"
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
	says     wire.Message  // the same message, decrypted if it was encrypted
	sealed   string        // the digest of the ciphertext, which the encrypted reply names; empty: the message was not encrypted
	key      keys.Key      // the key of the sender

	requestID execute.RequestID
}

// An answer is the content of a reply. If the content type is empty, no reply is sent.
type answer struct {
	contentType string
	body        []byte
}

// answer returns the reply to a message, or nil if the message gets no reply.
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
		return x.send(x.refuse(reason.Overloaded.Refusal("Too many messages are pending.").
			After(lineWait).ShedFor(reason.ShedEnvelopes)), "re:")
	}
	defer leave()
	if !m.ExpiresAt.After(a.d.Now()) {
		return nil
	}
	return x.send(x.answer(ctx), "re:")
}

// party returns the sender as a fairqueue.Party. The party is unapproved unless the operator has approved the sender.
func (a *agent) party(ctx context.Context, sender wire.Key) fairqueue.Party {
	of := fairqueue.Party{Name: sender.String(), Unapproved: true}
	if key, err := keys.New(sender.Public()); err == nil {
		of.Unapproved = a.d.Host.Unapproved(ctx, a.service, key.Thumbprint())
	}
	return of
}

// wantsNone reports whether messages of a type get no reply: responses, events and progress reports.
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

// answer returns the reply to the message, which depends on the content type of the message.
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
			return x.refuse(reason.MalformedRequest.Refusal("This agent does not read attachments: put all parameters into the body."))
		}
		return x.requested(ctx)
	case wire.TypeText, wire.TypeJSON:
		return x.talk(ctx)
	default:
		return x.refuse(reason.UnsupportedMediaType.Refusal(
			"This agent does not read messages of this type: send a request, with the type " + wire.TypeRequest + "."))
	}
}

// open decrypts the message. The relay can change the content type outside the ciphertext, and so could make the service execute a message
// that its sender did not send as a request. Therefore a request must also name its type inside the ciphertext.
func (x *exchange) open() error {
	m, err := e2e.OpenMessage(x.a.private, x.received.Message)
	switch {
	case errors.Is(err, e2e.ErrType):
		return reason.MalformedRequest.Refusal("The content type of the message differs from the one inside the encrypted body.")
	case err != nil:
		return reason.MalformedRequest.Refusal("The message cannot be decrypted with the keys of its sender and of this agent.")
	}
	if x.sealed, err = e2e.Digest(x.received.Body); err != nil {
		return reason.MalformedRequest.Refusal("The message cannot be decrypted with the keys of its sender and of this agent.")
	}
	x.says = m
	if mediaType(m.ContentType) == wire.TypeRequest && !e2e.Names(m) {
		return reason.MalformedRequest.Refusal("An encrypted request must name its type inside the encrypted body, because the relay could change the type outside.").
			With("suggestion", `Put the member "mrp_content_type": "`+wire.TypeRequest+`" into the request before you encrypt it.`)
	}
	return nil
}

// requested handles a request, and sends one progress report if the request takes longer than progressAfter.
func (x *exchange) requested(ctx context.Context) answer {
	telling, done := context.WithCancel(ctx)
	var progress sync.WaitGroup
	progress.Go(func() {
		if delay.For(telling, progressAfter) != nil {
			return
		}
		working := answer{wire.TypeStatus, []byte(`{"state":"working","progress":0,"detail":"The request is in progress."}`)}
		if s := x.send(working, "st:"); s != nil {
			_, _ = x.a.box.Send(telling, *s) // the reply supersedes it
		}
	})
	defer progress.Wait()
	defer done()
	return x.request(ctx)
}

// send returns an answer as a message to the sender, in the thread of the sender's message, or nil if the answer is empty. If the answer is
// too long for a message, send replaces it with the result of long. A message that arrives twice gets two replies with the same idempotency
// key, so the relay accepts only one of them.
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
	m.ThreadID = cmp.Or(m.ThreadID, x.received.ID)
	if x.sealed == "" || len(of.body) > wire.MaxBody {
		return &m
	}
	sealed, err := e2e.SealAnswer(x.a.private, m, x.received.Body)
	if err != nil { // cannot happen: the message was decrypted with this key
		return nil
	}
	return &sealed
}
