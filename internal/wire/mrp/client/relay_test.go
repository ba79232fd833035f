package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A realRelay is the relay of this project. A test can stop it and start it again with the same data and address.
type realRelay struct {
	*testing.T
	place, blobs, address string
	stop                  func()
}

func startRelay(t *testing.T) *realRelay {
	t.Helper()
	r := &realRelay{T: t, place: filepath.Join(t.TempDir(), "state.db"), blobs: t.TempDir(), address: "127.0.0.1:0"}
	sqlitetest.Empty.Copy(t, r.place)
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *realRelay) start() {
	r.Helper()
	db, err := sqlstore.Open(context.Background(), r.place, sqlstore.Options{Now: time.Now})
	if err != nil {
		r.Fatal(err)
	}
	made, err := relay.New(relay.Options{
		Store: sqlmail.New(db, sqlmail.Options{MaxAgents: 1000}), Blobs: r.blobs, Now: db.Now, PrivateWebhooks: true,
		Limits: relay.Limits{Sends: 10_000, Polls: 10_000, Others: 10_000},
	})
	if err != nil {
		r.Fatal(err)
	}
	ln, err := net.Listen("tcp", r.address)
	if err != nil {
		r.Fatal(err)
	}
	r.address = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(made)
	_ = server.Listener.Close()
	server.Listener = ln
	server.Start()
	var running sync.WaitGroup
	running.Go(func() { made.Run(ctx) })
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		server.Close()
		if err := db.Close(); err != nil {
			r.Error(err)
		}
	})
}

func (r *realRelay) client(key ed25519.PrivateKey, change ...func(*mrp.Options)) *mrp.Client {
	r.Helper()
	o := mrp.Options{Relay: "http://" + r.address, Key: key, Backoff: time.Millisecond, Reconnect: time.Millisecond}
	for _, f := range change {
		f(&o)
	}
	c, err := mrp.New(o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(c.Close)
	return c
}

// must ends the test if a call returns an error.
func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func code(err error) wire.Code {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		return refused.Code
	}
	return ""
}

func TestRelayDiscovery(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	ca, cb := r.client(a), r.client(b)
	p := must[wire.Profile](t)(ca.Profile(t.Context(), keyA))
	if p.Visibility != wire.Private || p.InboxPolicy != wire.BlockList || p.Status != wire.Active || p.DisplayName != nil {
		t.Errorf("got %+v; want Visibility %v, InboxPolicy %v, Status %v and DisplayName nil", p, wire.Private, wire.BlockList, wire.Active)
	}
	if _, err := ca.Profile(t.Context(), keyB); code(err) != wire.AgentNotFound {
		t.Error(err)
	}
	name := "Übersetzer"
	p = must[wire.Profile](t)(ca.Update(t.Context(), wire.Change{
		DisplayName: &name, Visibility: wire.Public, Metadata: json.RawMessage(`{"x":"y"}`),
		Capabilities: []wire.Capability{{Name: "text:translate", Description: "Translates", Tags: []string{"text", "de"}, Version: "1"}},
	}))
	if *p.DisplayName != name || p.Visibility != wire.Public || len(p.Capabilities) != 1 || string(p.Metadata) != `{"x":"y"}` {
		t.Errorf("got %+v", p)
	}
	found := 0
	for agent, err := range cb.All(t.Context(), mrp.Search{Tags: []string{"de", "text"}, Text: "translates", Name: "übers", ActiveSince: time.Now().Add(-time.Hour), Limit: 1}) {
		if found++; err != nil || agent.PublicKey != keyA || *agent.DisplayName != name {
			t.Errorf("got %+v, %v", agent, err)
		}
	}
	tags, next, err := cb.Tags(t.Context(), "")
	if err != nil || found != 1 || len(tags) != 2 || next != "" {
		t.Errorf("found %d, %+v, %v", found, tags, err)
	}
	if list := must[[]wire.Capability](t)(cb.Capabilities(t.Context(), keyA)); len(list) != 1 || list[0].Name != "text:translate" {
		t.Errorf("got %+v; want length 1 and [0].Name %q", list, "text:translate")
	}
	if err := ca.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := cb.Profile(t.Context(), keyA); code(err) != wire.AgentNotFound {
		t.Error(err)
	}
}

func TestRelayMessagesAndThreads(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	ca, cb, other := r.client(a), r.client(b), r.client(private(0x40))
	sent := wire.Send{Recipient: keyA, Body: []byte(`{"text":  "1.0"}`), Metadata: json.RawMessage(`{"k":"v"}`), IdempotencyKey: "one"}
	first := must[wire.Receipt](t)(cb.Send(t.Context(), sent))
	if again := must[wire.Receipt](t)(cb.Send(t.Context(), sent)); again.MessageID != first.MessageID {
		t.Errorf("the same message is %s and %s", first.MessageID, again.MessageID)
	}
	page := must[mrp.Page](t)(ca.Poll(t.Context(), mrp.Filter{Wait: 30 * time.Second}))
	if len(page.Messages) != 1 || page.Dropped != 0 || string(page.Messages[0].Body) != `{"text":  "1.0"}` || page.Messages[0].Sender != keyB {
		t.Fatalf("got %+v", page)
	}
	m := page.Messages[0]
	reply := must[wire.Receipt](t)(ca.Reply(t.Context(), m, wire.Send{ContentType: wire.TypeText, Body: []byte(`"yes"`)}))
	thread := must[mrp.Page](t)(cb.Thread(t.Context(), m.ID, mrp.Filter{}))
	if len(thread.Messages) != 2 || thread.Messages[1].ID != reply.MessageID || thread.Messages[1].InReplyTo != m.ID {
		t.Errorf("got %+v; want Messages of length 2, Messages[1].ID %v and Messages[1].InReplyTo %v", thread, reply.MessageID, m.ID)
	}
	if got := must[wire.Message](t)(cb.Message(t.Context(), m.ID)); got.Status != wire.Delivered || got.DeliveredAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	if status := must[wire.Receipt](t)(ca.Status(t.Context(), reply.MessageID)); status.Status != wire.Sent {
		t.Errorf("got %+v, want Status %v", status, wire.Sent)
	}
	if _, err := other.Message(t.Context(), m.ID); code(err) != wire.Forbidden {
		t.Error(err)
	}
	if _, err := other.Status(t.Context(), "msg_0"); code(err) != wire.MessageNotFound {
		t.Error(err)
	}
	if p := must[mrp.Page](t)(ca.Poll(t.Context(), mrp.Filter{Status: wire.Delivered, Sender: &keyB})); len(p.Messages) != 1 {
		t.Errorf("got %+v, want Messages of length 1", p)
	}
	for i := range 5 {
		must[wire.Receipt](t)(cb.Send(t.Context(), wire.Send{Recipient: keyA, Body: fmt.Append(nil, i)}))
	}
	f := mrp.Filter{Limit: 2}
	var got []string
	for {
		p := must[mrp.Page](t)(ca.Poll(t.Context(), f))
		for _, m := range p.Messages {
			got = append(got, string(m.Body))
		}
		if f.Cursor = p.Next; f.Cursor == "" {
			break
		}
	}
	if strings.Join(got, "") != "01234" {
		t.Error(got)
	}
}

func TestRelayAccessList(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	ca, cb := r.client(a), r.client(b)
	send := func() error {
		_, err := cb.Send(t.Context(), wire.Send{Recipient: keyA, Body: []byte(`1`)})
		return err
	}
	must[wire.Profile](t)(ca.Update(t.Context(), wire.Change{InboxPolicy: wire.AllowList}))
	if err := send(); code(err) != wire.ACLDenied {
		t.Error(err)
	}
	if e := must[wire.Entry](t)(ca.Permit(t.Context(), keyB, wire.Allow)); e.Peer != keyB || e.Owner != keyA || e.Type != wire.Allow {
		t.Errorf("got %+v; want Peer %v, Owner %v and Type %v", e, keyB, keyA, wire.Allow)
	}
	if err := send(); err != nil {
		t.Error(err)
	}
	list, next, err := ca.Entries(t.Context(), wire.Allow, "")
	if err != nil || len(list) != 1 || next != "" {
		t.Errorf("got %+v, %v", list, err)
	}
	if e := must[wire.Entry](t)(ca.Entry(t.Context(), keyB)); e.Type != wire.Allow {
		t.Errorf("got %+v, want Type %v", e, wire.Allow)
	}
	if err := ca.Forget(t.Context(), keyB); err != nil {
		t.Error(err)
	}
	if _, err := ca.Entry(t.Context(), keyB); code(err) != wire.NotFound {
		t.Error(err)
	}
	if err := send(); code(err) != wire.ACLDenied {
		t.Error(err)
	}
}

func TestRelayBlobs(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	ca, cb := r.client(a), r.client(b)
	content := bytes.Repeat([]byte("0123456789"), 200_000)
	kept := must[wire.Blob](t)(ca.Upload(t.Context(), bytes.NewReader(content), "text/plain"))
	info := must[wire.Blob](t)(ca.BlobInfo(t.Context(), kept.ID))
	if info.Hash != kept.Hash || info.Size != 2_000_000 || info.ContentType != "text/plain" {
		t.Errorf("got %+v; want Hash %v, Size 2_000_000 and ContentType %q", info, kept.Hash, "text/plain")
	}
	if _, err := cb.Download(t.Context(), kept.ID, "", io.Discard); code(err) != wire.Forbidden {
		t.Error(err)
	}
	sealed, err := ca.Attach(t.Context(), keyB, []byte("for B"), "note.txt")
	if err != nil {
		t.Fatal(err)
	}
	must[wire.Receipt](t)(ca.Send(t.Context(), wire.Send{
		Recipient: keyB, Attachments: []wire.Attachment{{BlobID: kept.ID, Filename: "digits"}, sealed},
	}))
	m := must[mrp.Page](t)(cb.Poll(t.Context(), mrp.Filter{})).Messages[0]
	if len(m.Attachments) != 2 || m.Attachments[0].Size != 2_000_000 || m.Attachments[0].Hash != kept.Hash {
		t.Fatalf("got %+v; want Attachments of length 2, Attachments[0].Size 2_000_000 and Attachments[0].Hash %v", m, kept.Hash)
	}
	for i, want := range [][]byte{content, []byte("for B")} {
		if got := must[[]byte](t)(cb.Attached(t.Context(), m, m.Attachments[i])); !bytes.Equal(got, want) {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
	}
	if err := ca.DeleteBlob(t.Context(), kept.ID); code(err) != wire.BlobReferenced {
		t.Error(err)
	}
	loose := must[wire.Blob](t)(ca.Upload(t.Context(), strings.NewReader(""), ""))
	if err := ca.DeleteBlob(t.Context(), loose.ID); err != nil {
		t.Error(err)
	}
	if _, err := ca.Download(t.Context(), loose.ID, "", io.Discard); code(err) != wire.BlobNotFound {
		t.Error(err)
	}
}

// The agent handles a message posted to its webhook once, and the relay marks it delivered.
func TestRelayWebhooks(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	ca, cb := r.client(a), r.client(b)
	secret, came := wire.Secret{9}, make(chan wire.Message, 1)
	server := httptest.NewServer(ca.Receive(secret, mrp.Remember(), func(_ context.Context, m wire.Message) error {
		came <- m
		return nil
	}))
	t.Cleanup(server.Close)
	if w := must[wire.Webhook](t)(ca.SetWebhook(t.Context(), server.URL, secret)); !w.Enabled || w.URL != server.URL {
		t.Errorf("got %+v", w)
	}
	sent := must[wire.Receipt](t)(cb.Send(t.Context(), wire.Send{Recipient: keyA, Body: []byte(`1`)}))
	if m := <-came; m.ID != sent.MessageID {
		t.Errorf("got %+v, want ID %v", m, sent.MessageID)
	}
	if w := must[wire.Webhook](t)(ca.Webhook(t.Context())); w.URL != server.URL || w.Failures != 0 {
		t.Errorf("got %+v; want URL %v and Failures 0", w, server.URL)
	}
	if err := ca.DeleteWebhook(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := ca.Webhook(t.Context()); code(err) != wire.NotFound {
		t.Error(err)
	}
}
