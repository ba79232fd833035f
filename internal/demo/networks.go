package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/bindings/uagents/envelope"
	"github.com/uimgate/uimgate/bindings/uagents/identity"
	"github.com/uimgate/uimgate/bindings/uagents/protocol"
	"github.com/uimgate/uimgate/internal/reason"
)

// A guest is an agent of another network, which comes in by a door of its own.
type guest interface {
	// agree agrees with the key that the agent has, and returns what it may call.
	agree(ctx context.Context) (scope string, err error)
	// call calls an intent, and returns the charge as it was told; empty: none. A refusal is a *refused.
	call(ctx context.Context, uid string, parameters map[string]any) (charge string, err error)
	// revoke ends the PAT.
	revoke(ctx context.Context) error
	close()
}

// A refused is a refusal of UIM, as a guest was told of it.
type refused struct{ reason, message string }

func (r *refused) Error() string { return r.reason + ": " + r.message }

// networks shows one agent of each network.
func (t *tour) networks(ctx context.Context) error {
	t.printf("A shop listens at %s; nobody but the gateway at %s knows it.\n", t.shop, t.gateway)
	for _, n := range []struct {
		name string
		make func(ctx context.Context) (g guest, address string, err error)
	}{{"uAgents", t.uagent}, {"AEA", t.aea}} {
		g, address, err := n.make(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		defer g.close()
		if err := t.take(ctx, nil, []step{
			{"An agent of " + n.name + " agrees, with the key that its address is: " + brief(address), t.guestAgrees(g)},
			{"It executes what is free, and orders", t.guestOrders(g, n.name)},
			{"The limit: 30 searches a minute, also for it", t.guestIsLimited(g)},
			{"Its PAT is revoked: from then on it opens nothing", t.guestIsRevoked(g)},
		}); err != nil {
			return err
		}
	}
	if err := t.take(ctx, nil, []step{{"The ledger: one line for each order, whichever way it came", t.ledger}}); err != nil {
		return err
	}
	t.printf("\nEvery step did what it should.\n")
	return nil
}

func (t *tour) guestAgrees(g guest) func(context.Context, *agent.Client) error {
	return func(ctx context.Context, _ *agent.Client) error {
		scope, err := g.agree(ctx)
		t.printf("   the PAT is good for %s\n", scope)
		return errors.Join(err, expect(strings.Contains(scope, searchUID) && strings.Contains(scope, orderUID), "a scope with search and order"))
	}
}

func (t *tour) guestOrders(g guest, name string) func(context.Context, *agent.Client) error {
	return func(ctx context.Context, _ *agent.Client) error {
		if charge, err := g.call(ctx, searchUID, map[string]any{"query": "lamp"}); err != nil || charge != "" {
			return errors.Join(err, expect(charge == "", "a free call"))
		}
		charge, err := g.call(ctx, orderUID, orderParameters)
		if err != nil {
			return err
		}
		t.printf("   charged %s\n", charge)
		return t.paid(charge, name)
	}
}

func (t *tour) guestIsLimited(g guest) func(context.Context, *agent.Client) error {
	return func(ctx context.Context, _ *agent.Client) error {
		t.quiet = true
		defer func() { t.quiet = false }()
		for n := 2; n <= 40; n++ { // one search was made
			_, err := g.call(ctx, searchUID, map[string]any{"query": "desk"})
			if f, ok := errors.AsType[*refused](err); ok && f.reason == string(reason.RateLimitExceeded) {
				t.printf("   refused at search %d\n", n)
				return expect(n == 31, "30 searches admitted, the 31st refused")
			}
			if err != nil {
				return err
			}
		}
		return errors.New("the limit never refused")
	}
}

func (t *tour) guestIsRevoked(g guest) func(context.Context, *agent.Client) error {
	return func(ctx context.Context, _ *agent.Client) error {
		if err := g.revoke(ctx); err != nil {
			return err
		}
		_, err := g.call(ctx, detailsUID, map[string]any{"product_id": "desk-lamp"})
		f, ok := errors.AsType[*refused](err)
		if ok {
			t.printf("   refused: %s\n", f)
		}
		return expect(ok && f.reason == string(reason.RevokedToken), "the revoked PAT to be refused")
	}
}

// A uagent is a guest whose messages are signed envelopes.
type uagent struct {
	client  *agent.Client
	service *agent.Service
	session agent.Session // with the PAT, kept over its end
}

func (t *tour) uagent(ctx context.Context) (guest, string, error) {
	key, err := identity.FromSeed(agent.NewSeed(), 0)
	if err != nil {
		return nil, "", err
	}
	client, err := agent.New(agent.Options{UAgent: &agent.UAgent{Key: key}, MaxAttempts: 1, Now: t.Now, Wrap: t.showEnvelopes})
	if err != nil {
		return nil, "", err
	}
	service, err := client.Discover(ctx, t.gateway)
	return &uagent{client: client, service: service}, string(key.Address()), err
}

// showEnvelopes prints which messages go and come in envelopes.
func (t *tour) showEnvelopes(next http.RoundTripper) http.RoundTripper {
	read := func(body io.ReadCloser) (name string, again io.ReadCloser) {
		raw, _ := io.ReadAll(io.LimitReader(body, envelope.MaxBytes))
		_ = body.Close()
		e, _ := envelope.Parse(raw)
		name, _ = protocol.NameOf(e.SchemaDigest)
		return name, io.NopCloser(bytes.NewReader(raw))
	}
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body == nil || r.URL.Path != "/submit" || t.quiet {
			return next.RoundTrip(r)
		}
		r = r.Clone(r.Context())
		var sent, came string
		sent, r.Body = read(r.Body)
		answer, err := next.RoundTrip(r)
		if err == nil {
			came, answer.Body = read(answer.Body)
			t.printf("   > %s\n   < %s\n", sent, came)
		}
		return answer, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (u *uagent) agree(ctx context.Context) (string, error) {
	policy, err := u.service.Policy(ctx)
	if err != nil {
		return "", err
	}
	got, err := u.service.Agree(ctx, agent.Acceptance{Digest: policy.Digest})
	u.session = u.service.Session()
	return strings.Join(got.Scope, " "), err
}

func (u *uagent) call(ctx context.Context, uid string, parameters map[string]any) (string, error) {
	got, err := u.service.Execute(ctx, uid, parameters, agent.ExecuteOptions{NoRepeat: true})
	if f, ok := errors.AsType[*agent.Error](err); ok {
		return "", &refused{f.Reason, f.Message}
	}
	if err != nil || got.Charge == nil {
		return "", err
	}
	return got.Charge.String(), nil
}

func (u *uagent) revoke(ctx context.Context) (err error) {
	if err = u.service.Revoke(ctx); err == nil {
		u.service, err = u.client.Resume(u.session) // as an agent that kept the PAT
	}
	return err
}

func (u *uagent) close() { u.client.Close() }

// revokeToken ends a PAT at the gateway, which whoever has it may. UIM core 4.5.
func (t *tour) revokeToken(ctx context.Context, token string) error {
	client := fetch.New(fetch.Options{})
	defer client.Close()
	answer, err := client.Do(ctx, fetch.Request{
		Method: http.MethodPost, URL: t.gateway + "/api/pat/revoke", Header: http.Header{"Authorization": {"Bearer " + token}}, Max: maxPage,
	})
	return errors.Join(err, expect(err != nil || answer.Status == http.StatusOK, "the PAT to be revoked"))
}
