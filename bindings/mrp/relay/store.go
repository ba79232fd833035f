package relay

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

// A Store stores the data of a relay. Changes are durable when a method returns. The errors are those of package mail; any other error
// means that the store is unavailable.
type Store interface {
	Ready(ctx context.Context) error

	// Admit records the signature of a request, and creates the agent if it is new. It returns mail.ErrReplayed if the signature was
	// already used. It updates the time of the agent's last activity only if the stored time is older than touch.
	Admit(ctx context.Context, g mail.Guard, touch time.Duration) (a mail.Agent, isNew bool, err error)
	Agent(ctx context.Context, key mail.Key) (mail.Agent, error)
	Update(ctx context.Context, key mail.Key, p mail.Profile) (mail.Agent, error)
	Delete(ctx context.Context, key mail.Key) (blobs []string, err error)
	Suspend(ctx context.Context, key mail.Key, suspended bool) error
	Discover(ctx context.Context, s mail.Search) (list []mail.Agent, more bool, err error)
	Tags(ctx context.Context, after *mail.TagCount, limit int) (list []mail.TagCount, more bool, err error)

	Send(ctx context.Context, s mail.NewMessage) (m mail.Message, repeated bool, err error)
	// SendSigned does Admit and Send in one transaction. isNew is valid even if the error refuses only the message.
	SendSigned(ctx context.Context, g mail.Guard, touch time.Duration, s mail.NewMessage) (m mail.Message, repeated, isNew bool, err error)
	Messages(ctx context.Context, q mail.Query) (list []mail.Message, more bool, err error)
	// Waiting lists the messages that wait for a recipient, in the order of Messages, without their content.
	Waiting(ctx context.Context, recipient mail.Key, after *mail.Place, limit int) (list []mail.WaitingMessage, more bool, err error)
	Message(ctx context.Context, id string) (mail.Message, error)
	Thread(ctx context.Context, thread string, agent mail.Key, after *mail.Place, limit int) (list []mail.Message, more bool, err error)
	Delivered(ctx context.Context, recipient mail.Key, ids []string) error
	// Woken returns the recipients of messages that any process has stored since the given time, and the time for the next call.
	Woken(ctx context.Context, since time.Time) (keys []mail.Key, next time.Time, err error)

	SetEntry(ctx context.Context, owner, peer mail.Key, kind string) (mail.Entry, error)
	Entry(ctx context.Context, owner, peer mail.Key) (mail.Entry, error)
	Entries(ctx context.Context, owner mail.Key, kind string, after int64, limit int) (list []mail.Entry, more bool, err error)
	DeleteEntry(ctx context.Context, owner, peer mail.Key) error

	AddBlob(ctx context.Context, b mail.Blob, bounds mail.BlobBounds) (used int64, err error)
	ReadableBlob(ctx context.Context, id string, reader mail.Key) (mail.Blob, error)
	DeleteBlob(ctx context.Context, id string, owner mail.Key) error
	// UnknownBlobs returns the ids that have no record.
	UnknownBlobs(ctx context.Context, ids []string) (unknown []string, err error)
	BlobUse(ctx context.Context, owner mail.Key) (count, bytes int64, err error)

	SetWebhook(ctx context.Context, w mail.Webhook) (mail.Webhook, error)
	Webhook(ctx context.Context, owner mail.Key) (mail.Webhook, error)
	DeleteWebhook(ctx context.Context, owner mail.Key) error
	// Postings claims messages that are due to be posted. Messages of owners with the fewest posts in progress come first.
	Postings(ctx context.Context, c mail.Claim) ([]mail.WebhookPost, error)
	// Posted records the result of an attempt. After a failure, the next attempt is due at next; after disableAt consecutive failures,
	// the webhook is disabled.
	Posted(ctx context.Context, p mail.WebhookPost, next time.Time, ok bool, disableAt int) error

	Sweep(ctx context.Context, limit int) (blobs []string, more bool, err error)
	Totals(ctx context.Context) (mail.Totals, error)
}
