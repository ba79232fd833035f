package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// SetWebhook makes the relay post the messages of this agent to a URL, each signed with the secret. It replaces any earlier webhook, and
// the new one is enabled even if the relay had disabled the earlier one.
func (c *Client) SetWebhook(ctx context.Context, address string, secret wire.Secret) (w wire.Webhook, err error) {
	err = c.askWith(ctx, http.MethodPut, agentPath(c.key)+"/webhook", map[string]string{
		"url": address, "secret": base64.RawURLEncoding.EncodeToString(secret[:]),
	}, &w)
	return w, err
}

// Webhook returns the webhook. If none is set, the error is a *wire.Error with the code not_found.
func (c *Client) Webhook(ctx context.Context) (w wire.Webhook, err error) {
	if err = c.ask(ctx, http.MethodGet, agentPath(c.key)+"/webhook", maxAnswer, &w); err == nil && !wire.Shown(w.URL) {
		return wire.Webhook{}, fmt.Errorf("%w: the response does not describe a webhook", ErrAnswer)
	}
	return w, err
}

// DeleteWebhook removes the webhook.
func (c *Client) DeleteWebhook(ctx context.Context) error {
	return c.ask(ctx, http.MethodDelete, agentPath(c.key)+"/webhook", maxAnswer, nil)
}

// A Handler processes a message. If the Handler returns nil, the message is done; if it returns an error, the message will be delivered
// again. The context ends with the connection or request that delivered the message.
type Handler func(ctx context.Context, m wire.Message) error

// Receive returns the HTTP handler for the URL that was given to SetWebhook. It calls handle for messages that are signed with the secret,
// and responds with 200 once handle has processed them, which should take less than ten seconds. The signature does not cover the time, so
// a delivery can be replayed: Receive uses seen to skip messages that were already processed.
func (c *Client) Receive(secret wire.Secret, seen Seen, handle Handler) http.Handler {
	busy := newBusy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			answerStatus(w, http.StatusMethodNotAllowed)
			return
		}
		signature := r.Header.Values(wire.HeaderWebhookSignature)
		if len(signature) != 1 || strings.TrimSpace(signature[0]) == "" {
			answerStatus(w, http.StatusUnauthorized)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), wire.AuthWithin)
		defer cancel()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if err != nil {
			answerStatus(w, http.StatusRequestEntityTooLarge)
			return
		}
		if !wire.VerifyDelivery(secret, body, signature[0]) {
			answerStatus(w, http.StatusUnauthorized)
			return
		}
		var d struct {
			Message json.RawMessage `json:"message"`
		}
		m, ok := wire.Message{}, false
		if unpack(body, &d) == nil {
			m, ok = c.checked(d.Message)
		}
		switch {
		case !ok || m.Recipient != c.key:
			answerStatus(w, http.StatusBadRequest)
		case !c.o.Now().Before(m.ExpiresAt) || seen.Seen(m.ID):
			answerStatus(w, http.StatusOK)
		case !busy.begin(m.ID):
			answerStatus(w, http.StatusServiceUnavailable) // handle is processing the message; the relay will deliver it again
		default:
			defer busy.end(m.ID)
			if handle(ctx, m) != nil || seen.Record(m.ID, m.ExpiresAt) != nil {
				answerStatus(w, http.StatusInternalServerError)
				return
			}
			answerStatus(w, http.StatusOK)
		}
	})
}

func answerStatus(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
}
