package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// One agent sends many requests at once, encrypted and plain, to an agent that listens. The first agent listens or polls.
func TestRelayRequestsAndReplies(t *testing.T) {
	t.Parallel()
	for name, listens := range map[string]bool{"while it listens": true, "while it does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRelay(t)
			ca, cb := r.client(a), r.client(b)
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			defer group.Wait()
			defer cancel()
			group.Go(func() {
				err := cb.Listen(ctx, mrp.ListenOptions{Parallel: 4}, func(ctx context.Context, m wire.Message) error { return echo(ctx, cb, m) })
				if err != nil {
					t.Error(err)
				}
			})
			if listens {
				group.Go(func() {
					_ = ca.Listen(ctx, mrp.ListenOptions{}, func(_ context.Context, m wire.Message) error {
						t.Errorf("the handler got an answer: %+v", m)
						return nil
					})
				})
			}
			var asking sync.WaitGroup
			for i := range 12 {
				asking.Go(func() {
					reported := false
					got, err := ca.Ask(ctx, keyB, wire.Request{Action: "echo", Params: map[string]any{"n": i}}, mrp.AskOptions{
						Encrypt: i%2 == 0, Progress: func(wire.Progress) { reported = true },
					})
					if err != nil || got.Status != wire.ResponseOK || fmt.Sprint(got.Result) != fmt.Sprint(i) || !reported {
						t.Errorf("%d: %+v, %v, progress %v", i, got, err, reported)
					}
				})
			}
			asking.Wait()
		})
	}
}

// echo reports progress, and then answers a request with its parameter.
func echo(ctx context.Context, c *mrp.Client, m wire.Message) error {
	opened := m
	if m.ContentType == wire.TypeEncrypted {
		var err error
		if opened, err = c.Open(m); err != nil {
			return err
		}
	}
	var request struct {
		Params struct{ N json.RawMessage }
	}
	if err := json.Unmarshal(opened.Body, &request); err != nil {
		return err
	}
	if _, err := c.Reply(ctx, m, wire.Send{ContentType: wire.TypeStatus, Body: []byte(`{"state":"working","progress":0.5}`)}); err != nil {
		return err
	}
	_, err := c.Reply(ctx, m, wire.Send{
		ContentType: wire.TypeResponse, Body: fmt.Appendf(nil, `{"status":"ok","result":%s}`, request.Params.N),
	})
	return err
}

// A proxy cuts connections in the middle of messages, and the relay restarts. The client still handles every message once and reports
// it as done.
func TestRelayDeliversExactlyOnce(t *testing.T) {
	t.Parallel()
	const n = 60
	r := startRelay(t)
	cb := r.client(b)
	cut := cutting(t, r.address)
	ca := r.client(a, func(o *mrp.Options) { o.Relay = "http://" + cut })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	handled := map[string]int{}
	done := make(chan string, 10*n)
	var group sync.WaitGroup
	group.Go(func() {
		o := mrp.ListenOptions{Parallel: 3, Done: func(m wire.Message) { done <- m.ID }}
		err := ca.Listen(ctx, o, func(_ context.Context, m wire.Message) error {
			mu.Lock()
			defer mu.Unlock()
			handled[m.ID]++
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	var ids []string
	for i := range n {
		if i == n/2 {
			r.stop()
			r.start()
		}
		body := fmt.Appendf(nil, `"%s"`, strings.Repeat("x", 50*(i%30)))
		ids = append(ids, must[wire.Receipt](t)(cb.Send(ctx, wire.Send{Recipient: keyA, Body: body})).MessageID)
	}
	for range n {
		<-done
	}
	cancel()
	group.Wait()
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if handled[id] != 1 {
			t.Errorf("%s was handled %d times", id, handled[id])
		}
	}
	if len(handled) != n {
		t.Errorf("%d messages were handled, of %d", len(handled), n)
	}
}

// cutting starts a proxy and returns its address. The proxy cuts each connection after a number of bytes from the relay, which grows
// with each connection.
func cutting(t *testing.T, to string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); group.Wait() })
	group.Go(func() {
		for bytes := int64(300); ; bytes += 700 {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer from.Close()
				there, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer there.Close()
				group.Go(func() {
					_, _ = io.Copy(there, from)
					there.Close()
				})
				_, _ = io.CopyN(from, there, bytes)
			})
		}
	})
	return ln.Addr().String()
}
