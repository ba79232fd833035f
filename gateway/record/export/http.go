package export

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	sendTimeout = 30 * time.Second
	maxAnswer   = 1 << 20
)

// HTTP sends records as a batch of CloudEvents, in the JSON format (CloudEvents 1.0, HTTP protocol binding 3.3), and signs the body as
// notices are signed.
type HTTP struct {
	url, secret string
	client      *fetch.Client
	now         func() time.Time
}

// NewHTTP returns a Sender that posts to a URL. private permits http and addresses that are not on the public internet. secure is the TLS
// configuration; nil means Go's default.
func NewHTTP(url, secret string, private bool, secure *tls.Config, now func() time.Time) *HTTP {
	return &HTTP{url, secret, newClient(private, secure), now}
}

func newClient(private bool, secure *tls.Config) *fetch.Client {
	return fetch.New(fetch.Options{AllowInsecure: private, Timeout: sendTimeout, UserAgent: "uimgate", TLS: secure})
}

// Send implements Sender.
func (h *HTTP) Send(ctx context.Context, records []Record) error {
	body, err := json.Marshal(events(records))
	if err != nil {
		return err
	}
	_, err = wire.Post(ctx, h.client, h.url, http.Header{
		"Content-Type":       {"application/cloudevents-batch+json; charset=utf-8"},
		wire.SignatureHeader: {wire.Sign(h.secret, h.now(), body)},
	}, body, maxAnswer)
	return err
}

// Close implements Sender.
func (h *HTTP) Close() { h.client.Close() }

// An Event is a CloudEvent 1.0.
type Event struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Time        time.Time       `json:"time"`
	ContentType string          `json:"datacontenttype"`
	Data        json.RawMessage `json:"data"`
}

// eventType is the type of the CloudEvents.
const eventType = "io.uimgate.audit.call.v1"

func events(records []Record) []Event {
	out := make([]Event, 0, len(records))
	for _, r := range records {
		out = append(out, Event{
			SpecVersion: "1.0", ID: r.ID, Source: "/services/" + r.Service, Type: eventType, Time: r.At, ContentType: "application/json",
			Data: bytes.TrimSpace(r.JSON),
		})
	}
	return out
}
