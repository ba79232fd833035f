package client_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

func TestSetWebhook(t *testing.T) {
	secret := wire.Secret{1, 2, 3}
	s := stubRelay(t, map[string]http.HandlerFunc{
		"PUT /v1/agents/{key}/webhook": func(w http.ResponseWriter, r *http.Request) {
			var got map[string]string
			_ = json.NewDecoder(r.Body).Decode(&got)
			if got["url"] != "https://a.example/in" || got["secret"] != base64.RawURLEncoding.EncodeToString(secret[:]) || len(got) != 2 {
				t.Errorf("set %v", got)
			}
			says(200, `{"url":"https://a.example/in","enabled":true,"consecutive_failures":0,"created_at":"2026-03-05T12:00:00Z"}`)(w, r)
		},
		"GET /v1/agents/{key}/webhook":    says(404, `{"error":{"code":"not_found","message":"none"}}`),
		"DELETE /v1/agents/{key}/webhook": says(204, ""),
	})
	c := client(t, s)
	if w, err := c.SetWebhook(t.Context(), "https://a.example/in", secret); err != nil || !w.Enabled {
		t.Errorf("got %+v, %v", w, err)
	}
	_, err := c.Webhook(t.Context())
	if refused, ok := errors.AsType[*wire.Error](err); !ok || refused.Code != wire.NotFound || refused.Status != 404 {
		t.Error(err)
	}
	if err := c.DeleteWebhook(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReceive(t *testing.T) {
	c, err := mrp.New(mrp.Options{Relay: "https://relay.example", Key: a})
	if err != nil {
		t.Fatal(err)
	}
	secret := wire.Secret{7}
	var handled []string
	failing := true
	handler := c.Receive(secret, mrp.Remember(), func(_ context.Context, m wire.Message) error {
		if handled = append(handled, m.ID); m.ID == "msg_2" && failing {
			failing = false
			return errors.New("not now")
		}
		return nil
	})
	delivery := func(message string) string { return `{"delivery_id":"dlv_1","message":` + message + `}` }
	first := delivery(message("msg_1", nil))
	for _, step := range []struct {
		name, method, body, signature string
		status                        int
	}{
		{"a delivery", "POST", first, wire.SignDelivery(secret, []byte(first)), 200},
		{"the same delivery again", "POST", first, wire.SignDelivery(secret, []byte(first)), 200},
		{"another method", "GET", "", "", 405},
		{"no signature", "POST", first, "", 401},
		{"another secret", "POST", first, wire.SignDelivery(wire.Secret{8}, []byte(first)), 401},
		{"another body", "POST", first + " ", wire.SignDelivery(secret, []byte(first)), 401},
		{"a handler that fails", "POST", delivery(message("msg_2", nil)), "sign", 500},
		{"the next attempt", "POST", delivery(message("msg_2", nil)), "sign", 200},
		{"without a message", "POST", `{"delivery_id":"dlv_1"}`, "sign", 400},
		{"not JSON", "POST", `x`, "sign", 400},
		{"for another agent", "POST", delivery(message("msg_3", func(m *wire.Message) { m.Recipient, m.Sender = keyB, keyA })), "sign", 400},
		{"an expired message", "POST", delivery(message("msg_4", func(m *wire.Message) { m.ExpiresAt = time.Now().Add(-time.Second) })), "sign", 200},
		{"too large", "POST", strings.Repeat("x", 3<<20), "sign", 413},
	} {
		r := httptest.NewRequestWithContext(t.Context(), step.method, "/in", strings.NewReader(step.body))
		if step.signature == "sign" {
			step.signature = wire.SignDelivery(secret, []byte(step.body))
		}
		if step.signature != "" {
			r.Header.Set("X-M2M-Webhook-Signature", step.signature)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != step.status || w.Body.Len() != 0 {
			t.Errorf("%s: %d %q, want %d", step.name, w.Code, w.Body, step.status)
		}
	}
	if got := strings.Join(handled, " "); got != "msg_1 msg_2 msg_2" {
		t.Errorf("got %q, want %q", got, "msg_1 msg_2 msg_2")
	}
}
