// Package bridge lets a person's assistant use UIM services. Towards the assistant it is an MCP server on stdin and
// stdout, or over HTTP on a loopback address. It has a tool for each intent or, if there are many, tools that search and
// call intents. Towards each service it is an agent with its own key, agreement, proofs and idempotency keys.
//
//	b, err := bridge.Open(ctx, bridge.Options{Agent: agent.Options{Key: key}, Services: []string{"shop.example"}, …})
//	err = b.Serve(ctx, os.Stdin, os.Stdout)
//
// The bridge signs only policies that its owner has accepted by digest, and stays within the budget that the owner has set. A tool
// returns instructions for the owner until the owner has accepted the policy of the service and, for a call that is not known to be free
// of charge, has set a budget. Calls go to the UIM endpoint of a service, even if the service supports MCP.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/bridge/confirm"
	"github.com/uimgate/uimgate/agent/bridge/outbox"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/money"
)

const (
	// openTime limits the time for finding the services, or reading them again.
	openTime = 20 * time.Second
	// freshFor is the maximum age of a tool list. Clients receive this age with the list, and are notified of changes before the list reaches
	// it. The bridge reads the catalogues and policies again at this interval, and also when a client requests a list and the last read is
	// older than readFor.
	freshFor, readFor = time.Minute, 5 * time.Second
	// firstLook is the first wait before the bridge looks again for services that it could not find; it doubles up to freshFor.
	firstLook = 2 * time.Second
	// pageSize is large because many clients read only one page.
	pageSize = 200
	// maxCalls limits the calls in progress; further calls wait.
	maxCalls = 32
	// settleTime is how long the shutdown waits for calls in progress, so that their charges are known.
	settleTime = time.Second
)

// Options describe the agent, the services and the limits of a bridge.
type Options struct {
	// Agent holds the identity and the limits of the client. A key is required.
	Agent agent.Options
	// Services are the targets of the services, in the forms that agent.Client.Discover accepts: at least one.
	Services []string
	// Tools are the tools in the list. By default, the list has one tool for each intent, or three tools that search, describe and call
	// intents if there are more than 40.
	Tools toolset.Choice
	// Agreements is the directory of agreements, shared with uimgate agent.
	Agreements string
	// Accept lists the digests of the policies that the owner accepts. The bridge signs no other policy.
	Accept []string
	// Plan is the plan that the bridge chooses at each service whose policy it agrees to; empty: none. If an agreement has another plan, and
	// the owner accepts the policy, the bridge agrees again.
	Plan string
	// Budget holds the amounts spent and their limits. It is required.
	Budget *budget.Book
	// Confirm asks the owner about each call that may cost more than the amount of ConfirmAbove in its currency. It also asks about each
	// call whose price is not known or is in another currency. nil: the bridge asks about no call. The bridge closes Confirm.
	Confirm      *confirm.Pages
	ConfirmAbove []money.Amount
	// Outbox is the path of the file that lists the calls whose outcome the host does not know. All bridges of the agent share the file.
	// Outbox is required.
	Outbox string
	// ReadTerms reads the terms of a policy. If it is nil, no terms are known in advance.
	ReadTerms TermsReader
	// Compare compares the agreed policy with the one that the service offers now. nil: an agreement holds only for its own policy.
	Compare PolicyComparer
	// NextCommand returns the command with which the owner agrees to the policy that a service has announced for a later date. plan is the
	// plan of the present agreement; empty: none. NextCommand may be nil.
	NextCommand func(service, plan string) string
	// AgreeCommand returns the command with which the owner agrees to the policy that has the given digest. issuer is the name of an issuer
	// that the service's host does not vouch for; it is empty if the host vouches for the issuer. The issuer is untrusted text from the
	// service, which AgreeCommand must quote. AgreeCommand may be nil.
	AgreeCommand func(service, digest, issuer string) string
	// Version is sent to the host.
	Version string
	// Log is called with each line for the owner; if Log is nil, the lines are discarded.
	Log func(string)
}

// A TermsReader returns the terms of a policy for an agent that calls the intents of a catalogue.
type TermsReader func(ctx context.Context, policy agent.Policy, catalog *intents.Catalog) Terms

// A PolicyComparer compares two policies, given as documents, for the intents of a catalogue. It returns false if one of them cannot be
// read.
type PolicyComparer func(ctx context.Context, agreed, offered []byte, catalog *intents.Catalog) (Difference, bool)

// A Difference describes the changes for an agent when one policy replaces another.
type Difference struct {
	Same  map[string]bool // UIDs of the intents whose terms stay the same: the agreement holds for them
	Words string          // the changes in plain words
}

// Terms are the terms of a policy, as far as they could be read.
type Terms struct {
	Words   string              // the policy in plain words; empty if it could not be put into words
	Intents map[string]CallTerm // by UID; the terms of an intent that is missing are unknown
}

// A CallTerm is the maximum cost of one call. Words describes the cost, and how often the call may be made, in a sentence or two.
type CallTerm struct {
	Most  money.Amount // zero means free of charge
	Words string
}

// A Bridge is an MCP server in front of UIM services.
type Bridge struct {
	o        Options
	client   *agent.Client
	server   *mcp.Server
	services []*service
	outbox   *outbox.Box
	sleep    func(context.Context, time.Duration) error
	now      func() time.Time
	places   chan struct{}
	unproved chan struct{}   // holds the single slot for a call whose price is not certain
	running  context.Context //nolint:containedctx // ends with the shutdown
	shutDown context.CancelFunc
	working  sync.WaitGroup

	listing  sync.Mutex // one refresh at a time
	offering sync.Mutex // one change of the list at a time
	mu       sync.Mutex
	tools    map[string]tool   // by name
	shown    map[string]string // the listed tools as JSON, by name
	listed   time.Time         // when the catalogues were read
}

// Open creates a bridge, finds the services, and agrees to the policies that the owner accepts. It logs the services that it cannot find;
// Serve and ServeHTTP look for them again. The error wraps agent.ErrOptions or, if no service was found and one of the targets does not
// name a service, agent.ErrTarget.
func Open(ctx context.Context, o Options) (*Bridge, error) {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	b := &Bridge{
		o: o, places: make(chan struct{}, maxCalls), unproved: make(chan struct{}, 1),
		tools: map[string]tool{}, shown: map[string]string{},
	}
	b.running, b.shutDown = context.WithCancel(context.WithoutCancel(ctx))
	o.Agent.Wrap, o.Agent.Sleep = gated(o.Agent.Wrap), b.patient(o.Agent.Sleep)
	b.sleep, b.now = o.Agent.Sleep, o.Agent.Now
	if b.now == nil {
		b.now = time.Now //nolint:forbidigo // the default clock of the bridge
	}
	b.outbox = outbox.Open(o.Outbox, b.now)
	client, err := agent.New(o.Agent)
	if err != nil {
		return nil, err
	}
	b.client = client
	for _, target := range o.Services {
		b.services = append(b.services, &service{b: b, target: target})
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if err := b.find(ctx); errors.Is(err, agent.ErrTarget) {
		client.Close()
		return nil, err
	}
	b.server = mcp.NewServer(&mcp.Implementation{Name: "uimgate", Title: "UIM services", Version: o.Version}, &mcp.ServerOptions{
		Instructions: b.instructions(), PageSize: pageSize,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = int(freshFor.Milliseconds()), "private"
		},
	})
	b.server.AddReceivingMiddleware(b.receive)
	b.offer()
	return b, nil
}

// find looks for all services concurrently, and reads again those that were found before. If no service has been found yet, the error
// wraps the errors of all services.
func (b *Bridge) find(ctx context.Context) error {
	errs := make([]error, len(b.services))
	var wg sync.WaitGroup
	for n, s := range b.services {
		wg.Go(func() {
			if errs[n] = s.find(ctx); errs[n] != nil {
				b.o.Log(fmt.Sprintf("%s: %s", oneLine(s.target, maxTitle), oneLine(errs[n].Error(), maxNote)))
			}
		})
	}
	wg.Wait()
	b.mu.Lock()
	b.listed = time.Now() //nolint:forbidigo // this is only the age of the copies; no rule depends on it
	b.mu.Unlock()
	for _, s := range b.services {
		if s.found() {
			return nil
		}
	}
	return errors.Join(errs...)
}

// instructions describes the services to the model, and the settings that the owner has not made yet.
func (b *Bridge) instructions() string {
	var out []string
	for _, s := range b.services {
		out = append(out, s.introduction())
	}
	if len(b.o.Budget.Limits()) == 0 {
		out = append(out, "Calls that cost money are refused: the owner of this agent has set no budget.")
	}
	return severalLines(strings.Join(out, "\n"), maxSentence)
}
