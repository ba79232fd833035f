package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
)

// A networkAgent is an agent of another network, which uses the door for that network.
type networkAgent interface {
	// agree makes an agreement with the agent's key, and returns its scope.
	agree(ctx context.Context) (scope string, err error)
	// call calls an intent, and returns the charge, which is empty for a free call. If the call is refused, the error is a *refusal.
	call(ctx context.Context, uid string, parameters map[string]any) (charge string, err error)
	// revoke revokes the PAT.
	revoke(ctx context.Context) error
	close()
}

// A refusal is a UIM refusal as an agent received it.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.reason + ": " + r.message }

// networks takes the steps of one agent of each network.
func (t *tour) networks(ctx context.Context) error {
	t.printf("An example shop listens at %s, behind the gateway at %s.\n", t.shop, t.gateway)
	for _, n := range []struct {
		name, kind string
		make       func(ctx context.Context) (g networkAgent, address string, err error)
	}{{"uAgents", "A uAgent", t.uagent}, {"AEA", "An AEA agent", t.aeaAgent}, {"MRP", "An MRP agent", t.relayed}} {
		g, address, err := n.make(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		defer g.close()
		if err := t.take(ctx, nil, []step{
			{n.kind + " agrees, with the key of its address: " + brief(address), t.networkAgentAgrees(g)},
			{"It executes a free intent and a paid one", t.networkAgentOrders(g, n.name)},
			{"It reaches the limit of 30 searches per minute", t.networkAgentIsLimited(g)},
			{"Its PAT is revoked, and then refused", t.networkAgentIsRevoked(g)},
		}); err != nil {
			return err
		}
	}
	if err := t.take(ctx, nil, []step{{"The ledger: one line for each order, whichever door it came through", t.ledger}}); err != nil {
		return err
	}
	t.printf("\nEvery step succeeded.\n")
	return nil
}

func (t *tour) networkAgentAgrees(g networkAgent) func(context.Context, *agent.Client) error {
	return func(ctx context.Context, _ *agent.Client) error {
		scope, err := g.agree(ctx)
		t.printf("   the PAT is valid for %s\n", scope)
		return errors.Join(err, expect(strings.Contains(scope, searchUID) && strings.Contains(scope, orderUID), "a scope with search and order"))
	}
}

func (t *tour) networkAgentOrders(g networkAgent, name string) func(context.Context, *agent.Client) error {
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

func (t *tour) networkAgentIsLimited(g networkAgent) func(context.Context, *agent.Client) error {
	return func(ctx context.Context, _ *agent.Client) error {
		t.quiet = true
		defer func() { t.quiet = false }()
		for n := 2; n <= 40; n++ { // one search was already made
			_, err := g.call(ctx, searchUID, map[string]any{"query": "desk"})
			if f, ok := errors.AsType[*refusal](err); ok && f.reason == string(reason.RateLimitExceeded) {
				t.printf("   refused at search %d\n", n)
				return expect(n == 31, "30 searches to be admitted and the 31st to be refused")
			}
			if err != nil {
				return err
			}
		}
		return errors.New("no search was refused")
	}
}

func (t *tour) networkAgentIsRevoked(g networkAgent) func(context.Context, *agent.Client) error {
	return func(ctx context.Context, _ *agent.Client) error {
		if err := g.revoke(ctx); err != nil {
			return err
		}
		_, err := g.call(ctx, detailsUID, map[string]any{"product_id": "desk-lamp"})
		f, ok := errors.AsType[*refusal](err)
		if ok {
			t.printf("   refused: %s\n", f)
		}
		return expect(ok && f.reason == string(reason.RevokedToken), "the revoked PAT to be refused")
	}
}

// revokeToken revokes a PAT at the gateway, as any holder of the PAT may. See UIM core, section 4.5.
func (t *tour) revokeToken(ctx context.Context, token string) error {
	client := fetch.New(fetch.Options{})
	defer client.Close()
	answer, err := client.Do(ctx, fetch.Request{
		Method: http.MethodPost, URL: t.gateway + "/api/pat/revoke", Header: http.Header{"Authorization": {"Bearer " + token}}, Max: maxPage,
	})
	return errors.Join(err, expect(err != nil || answer.Status == http.StatusOK, "the PAT to be revoked"))
}
