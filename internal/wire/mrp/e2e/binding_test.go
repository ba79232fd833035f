package e2e_test

import (
	"encoding/json"
	"errors"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
)

// retyped returns an encrypted body with another content type outside the ciphertext, as a relay may deliver it.
func retyped(t *testing.T, body []byte, contentType string) []byte {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	members["ct_content_type"] = contentType
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestContentTypeIsSealed(t *testing.T) {
	t.Parallel()
	types := []string{wire.TypeRequest, wire.TypeResponse, wire.TypeEvent, wire.TypeStatus}
	for _, sealedAs := range types {
		for _, body := range []string{`{}`, ` {"a":1} `, `{"mrp_content_type":"` + sealedAs + `"}`} {
			s, err := e2e.SealSend(a, wire.Send{Recipient: keyB, ContentType: sealedAs, Body: []byte(body)})
			if err != nil {
				t.Fatal(err)
			}
			m := wire.Message{Sender: keyA, ContentType: wire.TypeEncrypted, Body: s.Body}
			if opened, err := e2e.OpenMessage(b, m); err != nil || !e2e.Names(opened) {
				t.Errorf("%s: %s, %v", sealedAs, opened.Body, err)
			}
			for _, other := range append(types, wire.TypeJSON, wire.TypeText) {
				m.Body = retyped(t, s.Body, other)
				if _, err := e2e.OpenMessage(b, m); other != sealedAs && !errors.Is(err, e2e.ErrType) {
					t.Errorf("%s as %s: %v", sealedAs, other, err)
				}
			}
		}
	}
	if _, err := e2e.SealSend(a, wire.Send{
		Recipient: keyB, ContentType: wire.TypeEvent, Body: []byte(`{"mrp_content_type":"text/plain"}`),
	}); !errors.Is(err, e2e.ErrBody) {
		t.Errorf("a body that names another type: %v, want %v", err, e2e.ErrBody)
	}
	for contentType, body := range map[string]string{wire.TypeJSON: `{"text":"x"}`, wire.TypeRequest: `[1]`} { // sealed unchanged
		s, err := e2e.SealSend(a, wire.Send{Recipient: keyB, ContentType: contentType, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := e2e.OpenMessage(b, wire.Message{Sender: keyA, ContentType: wire.TypeEncrypted, Body: s.Body})
		if err != nil || string(m.Body) != body || e2e.Names(m) {
			t.Errorf("%s: %s, %v", contentType, m.Body, err)
		}
	}
}

func TestReplyNamesItsMessage(t *testing.T) {
	t.Parallel()
	ask := func() []byte {
		s, err := e2e.SealSend(a, wire.Send{Recipient: keyB, ContentType: wire.TypeRequest, Body: []byte(`{"action":"x"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Body
	}
	one, other := ask(), ask()
	s, err := e2e.SealAnswer(b, wire.Send{Recipient: keyA, ContentType: wire.TypeResponse, Body: []byte(`{"status":"ok"}`)}, one)
	if err != nil {
		t.Fatal(err)
	}
	m, err := e2e.OpenMessage(a, wire.Message{Sender: keyB, ContentType: wire.TypeEncrypted, Body: s.Body})
	if err != nil {
		t.Fatal(err)
	}
	digest := func(body []byte) string {
		d, err := e2e.Digest(body)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if err := e2e.Answers(m, digest(one), true); err != nil {
		t.Error(err)
	}
	if err := e2e.Answers(m, digest(other), false); !errors.Is(err, e2e.ErrAnswer) {
		t.Errorf("the reply to another request: %v, want %v", err, e2e.ErrAnswer)
	}
	m.Body = []byte(`{"status":"ok"}`)
	required, free := e2e.Answers(m, digest(one), true), e2e.Answers(m, digest(one), false)
	if !errors.Is(required, e2e.ErrAnswer) || free != nil {
		t.Errorf("a reply that names no request: %v, %v; want %v, nil", required, free, e2e.ErrAnswer)
	}
	standard := []byte(`{"v":2,"enc":"` + sealedEnc + `=","ct":"` + sealedCT + `","ct_content_type":"x"}`)
	if digest(standard) != digest([]byte(sealed)) || digest(one) == digest(other) {
		t.Error("the digest does not match the ciphertext")
	}
	for _, bad := range []string{"", "{}", `{"enc":"AA","ct":"AA"}`} {
		if _, err := e2e.Digest([]byte(bad)); !errors.Is(err, e2e.ErrBody) {
			t.Errorf("%q: %v, want %v", bad, err, e2e.ErrBody)
		}
	}
}
