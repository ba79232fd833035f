package mrp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// FuzzReadSend checks that a message can be read again after it is written.
func FuzzReadSend(f *testing.F) {
	for _, members := range []string{`,"body":1`, `,"attachments":["b",{"blob_id":"c"}]`, `,"body":{"a":[]},"metadata":{"x":"y"},"expires_in":5`} {
		f.Add([]byte(send(members)))
		f.Add([]byte(`{"type":"send","id":"i","message":` + send(members) + `}`))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		_, _ = wire.ReadFrame(document)
		s, refused := wire.ReadSend(document)
		if refused != nil {
			return
		}
		m := wire.Message{
			ID: "m", Recipient: s.Recipient, ContentType: s.ContentType, Body: s.Body, Attachments: s.Attachments, Metadata: s.Metadata,
			ThreadID: s.ThreadID, InReplyTo: s.InReplyTo, Status: wire.Sent,
		}
		text, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		var read wire.Message
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if string(read.Body) != string(s.Body) || read.ThreadID != s.ThreadID || len(read.Attachments) != len(s.Attachments) {
			t.Errorf("%s parses as %+v", text, read)
		}
	})
}

func FuzzReadChange(f *testing.F) {
	f.Add([]byte(`{"display_name":"x","capabilities":["a",{"name":"n","tags":["t"],"input_schema":{}}],"metadata":{},"visibility":"public"}`))
	f.Add([]byte(`{"url":"https://a.example","secret":"x","peer_key":"x","entry_type":"allow"}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		_, _, _ = wire.ReadEntry(document, nil)
		_, _, _ = wire.ReadWebhook(document)
		c, refused := wire.ReadChange(document)
		if refused != nil {
			return
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, refused := wire.ReadChange(text); refused != nil {
			t.Errorf("%v: %s; want nil", refused, text)
		}
	})
}

// FuzzReadAuth checks that ReadAuth accepts only one spelling of a signature and of a key.
func FuzzReadAuth(f *testing.F) {
	f.Add(keyA, noon, sigPost)
	f.Add(alias, "2026-03-05T12:00:00.5+01:00", sigGet)
	f.Fuzz(func(t *testing.T, key, timestamp, signature string) {
		a, refused := wire.ReadAuth(http.Header{"X-M2m-Public-Key": {key}, "X-M2m-Timestamp": {timestamp}, "X-M2m-Signature": {signature}})
		if refused == nil && (a.Key.String() != key || a.Signature.String() != signature || a.Timestamp != timestamp) {
			t.Errorf("%q parses as %s, %q as %s", key, a.Key, signature, a.Signature)
		}
	})
}
