package client_test

import (
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// For any document, the texts of errors and progress are printable, and an accepted message is from or to this agent.
func FuzzAnswers(f *testing.F) {
	c, err := mrp.New(mrp.Options{Relay: "https://relay.example", Key: a})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(message("msg_1", nil)))
	f.Add([]byte(`{"error":{"code":"bad_request","message":"a\u001bb","request_id":"r","details":{}}}`))
	f.Add([]byte(`{"status":"error","error":{"code":"x","message":"y"}}`))
	f.Add([]byte(`{"stage":"x","progress":1e400,"detail":"y"}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		if err := mrp.ReadError(400, document); !wire.Shown(err.Error()) {
			t.Errorf("got %q", err)
		}
		if m, ok := c.Checked(document); ok && (m.ID == "" || !wire.Shown(m.ID+m.ContentType) || m.Recipient != keyA && m.Sender != keyA) {
			t.Errorf("got %+v", m)
		}
		if p := mrp.ReadProgress(document); !wire.Shown(p.State+p.Detail) || p.Progress < 0 || p.Progress > 1 {
			t.Errorf("got %+v", p)
		}
		r, err := mrp.ReadResponse(wire.Message{ContentType: wire.TypeResponse, Body: document})
		if (err == nil) != (r.Status != "") || r.Fault != nil && !wire.Shown(r.Fault.Message) ||
			r.Status == wire.ResponseError && r.Fault == nil {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}
