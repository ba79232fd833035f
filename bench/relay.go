package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/sqlstore"
)

const (
	roleRelay = "relay"
	relayTime = 3 * time.Second // duration of one measurement
	// The memory of a relay is measured with this many registered agents and idle WebSockets.
	idleAgents, idleSockets = 10_000, 1_000
)

// runRelay runs a relay with practically no limits for agents.
func runRelay(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "uimgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	place := os.Getenv(storeVariable)
	state, err := sqlstore.Open(ctx, cmp.Or(place, filepath.Join(dir, "state.db")), sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	defer state.Close() //nolint:errcheck // the state is discarded
	ln, origin, err := listen(ctx)
	if err != nil {
		return err
	}
	const many = 1_000_000
	host, err := relayhost.New(relayhost.Options{
		Listener: ln, State: state, Blobs: filepath.Join(dir, "blobs"), Shared: place != "", Drain: time.Second, Log: zap.NewNop(),
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Settings: relayhost.Settings{
			Blobs: 1 << 30, Agents: many, Messages: many, Bytes: 1 << 30, Waiting: many, Sends: many, Polls: many, Others: many, Newcomers: many,
		},
	})
	if err != nil {
		return err
	}
	use, at, err := listen(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveUntil(ctx, withUsage(http.NotFoundHandler()), use) })
	group.Go(func() error { return host.Run(ctx) })
	if err := ready(addresses{Gateway: origin, Usage: at + "/usage"}); err != nil {
		return err
	}
	return group.Wait()
}

// relays measures messages that are sent and polled, on both engines, and the memory of a relay with many agents.
func relays(ctx context.Context, p plan) (err error) {
	table := newTable("relay\tclients\tsent/s\tp50\tp99\tpolled/s\tp50\tp99\t")
	places := map[string]string{"sqlite": ""}
	server, err := pgtest.New(ctx, nil)
	switch {
	case errors.Is(err, pgtest.ErrNotInstalled):
		fmt.Fprintln(os.Stderr, err)
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, server.Close()) }()
		name, err := server.CreateDatabase(ctx, "")
		if err != nil {
			return err
		}
		places["postgres"] = server.DSN(name)
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		place, ok := places[engine]
		if !ok {
			continue
		}
		if err := relaysOn(ctx, p, engine, place, table); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return relayMemory(ctx)
}

func relaysOn(ctx context.Context, p plan, engine, place string, table io.Writer) error {
	relay, err := start(ctx, roleRelay, "", storeVariable+"="+place)
	if err != nil {
		return err
	}
	defer relay.stop()
	for _, clients := range p.connections {
		agents := make([]*correspondent, clients)
		for i := range agents {
			agents[i] = newCorrespondent(relay.addresses.Gateway, i)
		}
		sent, err := timed(ctx, agents, relayTime, func(a *correspondent) (int, error) {
			body := fmt.Sprintf(`{"recipient_key":%q,"body":{"text":"hello"}}`, wire.KeyOf(a.private))
			return 1, a.ask(ctx, http.MethodPost, "/v1/messages", body, nil)
		})
		if err != nil {
			return err
		}
		polled, err := timed(ctx, agents, time.Minute, func(a *correspondent) (int, error) {
			var page struct{ Messages []json.RawMessage }
			err := a.ask(ctx, http.MethodGet, "/v1/messages?limit=10", "", &page)
			return len(page.Messages), err
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t\n", engine, clients, sent, polled)
	}
	return nil
}

// A correspondent is an agent with its own address and connections.
type correspondent struct {
	relay, address string
	private        ed25519.PrivateKey
	last           time.Time
}

func newCorrespondent(relay string, n int) *correspondent {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return &correspondent{relay: relay, private: private, address: fmt.Sprintf("10.%d.%d.1", n>>8, n&255)}
}

var relayClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}

func (a *correspondent) at() time.Time {
	now := time.Now()
	if !now.After(a.last) {
		now = a.last.Add(1)
	}
	a.last = now
	return now
}

func (a *correspondent) ask(ctx context.Context, method, target, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, a.relay+target, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	wire.Sign(r.Header, a.private, a.at(), method, target, wire.Sum([]byte(body)))
	// One address may send 3,000 requests per minute, so each agent uses many addresses.
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("%s%d", a.address, a.last.UnixMilli()%100))
	answer, err := relayClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s %.300s %w", method, target, answer.Status, text, err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// timed lets each agent repeat an operation for a while, or until there are no messages. It returns the messages per second, and the p50
// and p99 of a request, as cells of the table.
func timed(
	ctx context.Context, agents []*correspondent, most time.Duration, do func(*correspondent) (messages int, err error),
) (string, error) {
	times, counts := make([][]time.Duration, len(agents)), make([]int, len(agents))
	group, _ := errgroup.WithContext(ctx)
	began := time.Now()
	for i, a := range agents {
		group.Go(func() error {
			for time.Since(began) < most {
				before := time.Now()
				n, err := do(a)
				if err != nil {
					return err
				}
				if n == 0 {
					return nil
				}
				times[i], counts[i] = append(times[i], time.Since(before)), counts[i]+n
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	took, all, n := time.Since(began), slices.Concat(times...), 0
	for _, c := range counts {
		n += c
	}
	slices.Sort(all)
	p50, p99 := milliseconds(all[len(all)/2]), milliseconds(all[len(all)*99/100])
	return fmt.Sprintf("%.0f\t%.1f ms\t%.1f ms", float64(n)/took.Seconds(), p50, p99), nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// relayMemory registers many agents, connects many of them through WebSockets, and prints the maximum memory of the relay.
func relayMemory(ctx context.Context) error {
	relay, err := start(ctx, roleRelay, "", storeVariable+"=")
	if err != nil {
		return err
	}
	defer relay.stop()
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(16)
	agents := make([]*correspondent, idleAgents)
	for i := range agents {
		agents[i] = newCorrespondent(relay.addresses.Gateway, i)
		group.Go(func() error {
			return agents[i].ask(each, http.MethodGet, "/v1/agents/"+wire.KeyOf(agents[i].private).String(), "", nil)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, a := range agents[:idleSockets] {
		conn, _, err := websocket.Dial(ctx, strings.Replace(a.relay, "http", "ws", 1)+"/v1/ws", &websocket.DialOptions{
			HTTPHeader: http.Header{"X-Forwarded-For": {a.address}},
		})
		if err != nil {
			return err
		}
		defer func() { _ = conn.CloseNow() }()
		frame, err := json.Marshal(wire.SignSocket(a.private, a.at()))
		if err == nil {
			err = conn.Write(ctx, websocket.MessageText, frame)
		}
		if err == nil {
			_, _, err = conn.Read(ctx)
		}
		if err != nil {
			return err
		}
	}
	u, err := relay.usage(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d agents, %d WebSockets: %d MiB at most\n", idleAgents, idleSockets, u.RSS>>20)
	return nil
}
