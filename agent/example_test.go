package agent_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/uimgate/uimgate/agent"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
	"github.com/uimgate/uimgate/pat/keys"
)

// startShop starts the service of the examples: a shop with one free intent and one that costs money.
func startShop() *agenttest.Service {
	shop, err := agenttest.Start(agenttest.Canonical)
	if err != nil {
		log.Fatal(err)
	}
	shop.Clock.SetNow()
	return shop
}

// agreeWith agrees to the policy of a shop, as Example shows in full.
func agreeWith(ctx context.Context, shop *agenttest.Service) (*agent.Client, *agent.Service) {
	key, err := agent.NewKey(keys.EdDSA)
	if err != nil {
		log.Fatal(err)
	}
	client, err := agent.New(agent.Options{Key: key, AgentID: "my-agent"})
	if err != nil {
		log.Fatal(err)
	}
	service, err := client.Discover(ctx, shop.URL)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := service.Agree(ctx, agent.Acceptance{Digest: shop.Digest()}); err != nil {
		log.Fatal(err)
	}
	return client, service
}

// An agent discovers a service, agrees to its policy and executes an intent.
func Example() {
	ctx := context.Background()
	shop := startShop()
	defer shop.Close()

	key, err := agent.NewKey(keys.EdDSA)
	if err != nil {
		log.Fatal(err)
	}
	client, err := agent.New(agent.Options{Key: key, AgentID: "my-agent"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	service, err := client.Discover(ctx, shop.URL) // or a domain, such as shop.example
	if err != nil {
		log.Fatal(err)
	}
	policy, err := service.Policy(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// policy.Raw is the ODRL document: read it, then accept exactly this one.
	agreement, err := service.Agree(ctx, agent.Acceptance{Digest: policy.Digest})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("agreed:", agreement.PolicyUID)

	result, err := service.Execute(ctx, "shop.example:search:v1", map[string]any{"query": "tea"}, agent.ExecuteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("output: %s\n", result.Raw)
	fmt.Println("calls left:", result.RateLimit.Remaining)
	// Output:
	// agreed: https://shop.example/policy/1
	// output: {"echo":{"query":"tea"}}
	// calls left: 99
}

// An agent without a key can read the catalog of a service.
func ExampleClient_Discover() {
	ctx := context.Background()
	shop := startShop()
	defer shop.Close()

	client, err := agent.New(agent.Options{})
	if err != nil {
		log.Fatal(err)
	}
	service, err := client.Discover(ctx, shop.URL)
	if err != nil {
		log.Fatal(err)
	}
	catalog, err := service.Catalog(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, in := range catalog.Intents() {
		fmt.Println(in.UID, "costs", cmp.Or(in.Price, "nothing"))
	}
	// Output:
	// shop.example:search:v1 costs nothing
	// shop.example:order:v1 costs 0.01 USD
}

// The client does not sign a policy that has changed since the agent read it.
func ExampleService_Agree() {
	ctx := context.Background()
	shop := startShop()
	defer shop.Close()
	_, service := agreeWith(ctx, shop)

	read := agent.Acceptance{Digest: "sha-256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
	_, err := service.Agree(ctx, read)
	if changed, ok := errors.AsType[*agent.PolicyChangedError](err); ok && changed.Offered == shop.Digest() {
		fmt.Println("read the policy again")
	}
	// Output:
	// read the policy again
}

// The client makes an idempotency key for a call that costs money, and adds a proof of key if the service asks for one.
func ExampleService_Execute() {
	ctx := context.Background()
	shop := startShop()
	defer shop.Close()
	_, service := agreeWith(ctx, shop)

	result, err := service.Execute(ctx, "shop.example:order:v1", map[string]any{"query": "tea"}, agent.ExecuteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("charge:", result.Charge)
	fmt.Println("sent under a key:", result.IdempotencyKey != "")
	// Output:
	// charge: 0.01 USD; id=execution-1; state=captured
	// sent under a key: true
}

// An error holds the exact reason, a suggestion, and the parameters that are wrong.
func ExampleError() {
	ctx := context.Background()
	shop := startShop()
	defer shop.Close()
	_, service := agreeWith(ctx, shop)
	shop.Script(agenttest.Reply{Status: 400, Body: `{"error": {"code": "INVALID_PARAMETER", "message": "limit is too large",
		"details": {"reason": "PARAMETER_OUT_OF_RANGE", "suggestion": "Use at most 50.",
			"violations": [{"pointer": "/limit", "message": "at most 50"}]}}}`})

	_, err := service.Execute(ctx, "shop.example:search:v1", map[string]any{"limit": 51}, agent.ExecuteOptions{})
	if errors.Is(err, agent.ErrParameterOutOfRange) {
		refusal, _ := errors.AsType[*agent.Error](err)
		fmt.Println(refusal.Violations[0].Pointer+":", refusal.Suggestion)
	}
	// Output:
	// /limit: Use at most 50.
}

// A session outlives the process, because its PAT is in a file that only the owner can read.
func ExampleClient_Resume() {
	ctx := context.Background()
	shop := startShop()
	defer shop.Close()
	client, service := agreeWith(ctx, shop)
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, service.Session().FileName())
	if err := agent.SaveSession(path, service.Session()); err != nil {
		log.Fatal(err)
	}
	session, err := agent.LoadSession(path)
	if err != nil {
		log.Fatal(err)
	}
	resumed, err := client.Resume(session)
	if err != nil {
		log.Fatal(err)
	}
	result, err := resumed.Execute(ctx, "shop.example:search:v1", map[string]any{"query": "tea"}, agent.ExecuteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("attempts:", result.Attempts)
	// Output:
	// attempts: 1
}
