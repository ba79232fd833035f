package demo

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	searchUID  = "shop.example:search-products:v1"
	detailsUID = "shop.example:product-details:v1"
	orderUID   = "shop.example:place-order:v1"
)

// A tour takes agents through all steps, and checks each result.
type tour struct {
	Options
	gateway, shop string
	doors         map[string]map[string]string // the addresses for agents of other networks
	data          string                       // directory of the gateway's state
	key           crypto.Signer
	shown         *exchanges
	step          int
	service       *agent.Service
	policy        agent.Policy
	orders        []order // the orders that were charged
	quiet         bool    // do not print messages of other networks
}

func (t *tour) walk(ctx context.Context) error {
	if t.Doors {
		return t.networks(ctx)
	}
	t.shown = &exchanges{out: t.Out}
	client, err := agent.New(agent.Options{
		Key: t.key, AgentID: "demo-agent", MaxAttempts: 1, Now: t.Now, Wrap: t.shown.wrap, Receipts: t.receiptsDir(),
	})
	if err != nil {
		return err
	}
	defer client.Close()
	t.printf("An example shop listens at %s, behind the gateway at %s.\n", t.shop, t.gateway)
	if err := t.take(ctx, client, []step{
		{"Discover: what does the service offer?", t.discover},
		{"Policy: on which terms?", t.readPolicy},
		{"Agree: sign exactly that policy, and get a Policy Adherence Token (PAT)", t.agree},
		{"Execute a free intent", t.search},
		{"Execute an intent with a path parameter", t.details},
		{"Execute a paid intent: the charge is held before the shop is called, captured after", t.order},
		{"Repeat it with the same Idempotency-Key: the same result, not executed or charged again", t.repeat},
		{"The same order as an MCP tool call and as an A2A task: the same agreement, the same charge", t.otherWays},
		{"An assistant orders through the bridge (MCP on stdio), with a separate key and a budget for one order per day", t.assistant},
		{"A person without a key agrees on the consent page: free intents work, an order does not", t.person},
		{"An assistant without a key buys within its person's budget, stops above it, and goes on after a confirmation", t.spender},
		{"The ledger: one line for each order, whichever door it came through", t.ledger},
		{"An invalid call: refused before anything is forwarded, counted or charged", t.mistake},
		{"The limit: 30 searches per minute, and not one more", t.limit},
		{"Renew the PAT with a proof of key: the counts continue", t.renew},
		{"Revoke the PAT: it is refused from then on", t.revoke},
		{"Verify the receipts of the orders offline, and find one altered byte", t.receipts},
	}); err != nil {
		return err
	}
	t.printf("\nEvery step succeeded.\n")
	return nil
}

// A step is one part of a tour.
type step struct {
	title string
	do    func(context.Context, *agent.Client) error
}

// take prints and takes the steps in order, until a step fails.
func (t *tour) take(ctx context.Context, client *agent.Client, steps []step) error {
	for _, step := range steps {
		t.step++
		t.printf("\n%d. %s\n", t.step, step.title)
		if err := step.do(ctx, client); err != nil {
			return fmt.Errorf("step %d (%s) failed: %w", t.step, step.title, err)
		}
	}
	return nil
}

func (t *tour) printf(format string, args ...any) { fmt.Fprintf(t.Out, format, args...) }

func (t *tour) discover(ctx context.Context, c *agent.Client) (err error) {
	if t.service, err = c.Discover(ctx, t.gateway); err != nil {
		return err
	}
	catalog, err := t.service.Catalog(ctx)
	if err != nil {
		return err
	}
	for _, in := range catalog.Intents() {
		t.printf("   %-34s %s\n", in.UID, in.Description)
	}
	return expect(len(catalog.Intents()) == 3, "three intents")
}

func (t *tour) readPolicy(ctx context.Context, _ *agent.Client) (err error) {
	t.policy, err = t.service.Policy(ctx)
	t.printf("   its digest, which the agreement names: %s\n", t.policy.Digest)
	return err
}

func (t *tour) agree(ctx context.Context, _ *agent.Client) error {
	got, err := t.service.Agree(ctx, agent.Acceptance{Digest: t.policy.Digest})
	if err != nil {
		return err
	}
	t.printf("   agreement %s; the PAT is valid until %s for\n", got.ID, got.ExpiresAt.Format(time.TimeOnly))
	for _, entry := range got.Scope {
		t.printf("     %s\n", entry)
	}
	return expect(len(got.Scope) == 3, "a scope of three intents")
}

func (t *tour) search(ctx context.Context, _ *agent.Client) error {
	got, err := t.service.Execute(ctx, searchUID, map[string]any{"query": "lamp", "max_price": json.Number("50")}, agent.ExecuteOptions{})
	if err != nil {
		return err
	}
	return expect(got.Charge == nil && got.RateLimit != nil, "a free call, with its limits")
}

func (t *tour) details(ctx context.Context, _ *agent.Client) error {
	_, err := t.service.Execute(ctx, detailsUID, map[string]any{"product_id": "desk-lamp"}, agent.ExecuteOptions{})
	return err
}

var orderParameters = map[string]any{"product_id": "desk-lamp", "quantity": json.Number("2")}

func (t *tour) order(ctx context.Context, _ *agent.Client) error {
	got, err := t.service.Execute(ctx, orderUID, orderParameters, agent.ExecuteOptions{IdempotencyKey: "demo-order-1"})
	if err != nil {
		return err
	}
	return t.charged(got, "UIM")
}

func (t *tour) repeat(ctx context.Context, _ *agent.Client) error {
	got, err := t.service.Execute(ctx, orderUID, orderParameters, agent.ExecuteOptions{IdempotencyKey: "demo-order-1"})
	if err != nil {
		return err
	}
	return expect(got.Replayed, "the result of the first call")
}

func (t *tour) mistake(ctx context.Context, _ *agent.Client) error {
	_, err := t.service.Execute(ctx, orderUID, map[string]any{"prodct_id": "desk-lamp", "quantity": 0}, agent.ExecuteOptions{})
	refused, ok := errors.AsType[*agent.Error](err)
	return expect(ok && len(refused.Violations) >= 3, "a refusal that lists every violation")
}

func (t *tour) limit(ctx context.Context, _ *agent.Client) error {
	for n := 1; n <= 40; n++ {
		_, err := t.service.Execute(ctx, searchUID, map[string]any{"query": "desk"}, agent.ExecuteOptions{NoRepeat: true})
		refused, ok := errors.AsType[*agent.Error](err)
		switch {
		case err == nil:
			continue
		case ok && refused.Reason == string(reason.RateLimitExceeded):
			t.printf("   refused at search %d, with Retry-After %s\n", n+1, refused.RetryAfter)
			return expect(n == 30 && refused.RetryAfter > 0, "29 more searches to be admitted and the 30th to be refused")
		default:
			return err
		}
	}
	return errors.New("no search was refused")
}

func (t *tour) renew(ctx context.Context, _ *agent.Client) error {
	if _, err := t.service.Renew(ctx); err != nil {
		return err
	}
	_, err := t.service.Execute(ctx, searchUID, map[string]any{"query": "desk"}, agent.ExecuteOptions{NoRepeat: true})
	return expect(errors.Is(err, agent.ErrTooManyRequests), "the same limit to apply to the new PAT")
}

func (t *tour) revoke(ctx context.Context, c *agent.Client) error {
	before := t.service.Session()
	if err := t.service.Revoke(ctx); err != nil {
		return err
	}
	thief, err := c.Resume(before) // like an agent that kept the PAT
	if err != nil {
		return err
	}
	_, err = thief.Execute(ctx, detailsUID, map[string]any{"product_id": "desk-lamp"}, agent.ExecuteOptions{NoRepeat: true})
	return expect(errors.Is(err, agent.ErrUnauthorized), "the revoked PAT to be refused")
}

func expect(held bool, what string) error {
	if !held {
		return fmt.Errorf("expected %s", what)
	}
	return nil
}

func (t *tour) stay(a daemon.Addresses, tokenFile string) {
	t.printf(`
The gateway keeps running. Try it from another terminal:

  curl -s %[1]s/agents.json
  %[5]s agent keygen
  %[5]s agent agree %[1]s --yes
  %[5]s agent execute %[2]s query=lamp
  %[5]s agent execute %[2]s query=lamp --via mcp
  %[5]s usage accounts --admin %[3]s --admin-token-file %[4]s

Press Ctrl-C to stop it.
`, a.Listen, searchUID, a.Admin, tokenFile, t.Program)
}
