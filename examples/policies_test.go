package examples_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/examples"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

const (
	search  = "shop.example:search-products:v1"
	details = "shop.example:product-details:v1"
	order   = "shop.example:place-order:v1"

	partnerKey = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs" // the thumbprint of RFC 7638 3.1
)

var every = []string{search, details, order}

// agentKey and otherKey represent public keys: a policy that elides its key only compares them.
var agentKey, otherKey = []byte("the agreed key"), []byte("another key")

// An ask is one call and the decision of the policy. deny is a reason, or empty. candidates are the permissions that can authorize the
// call, best first, each with its limits and its price.
type ask struct {
	intents    []string
	agent, key string // if empty, "agent-1" and "key-1"
	at         string // if empty, noon
	proof      []byte
	plan       string // of the agreement; empty: none
	deny       reason.Reason
	rule       string // checked if it is set
	candidates []string
}

// settings has the keys that a policy needs in uimgate.yaml.
type settings struct{ credit, assignee, partner string }

// policies has, for each policy in policies/, the contents of its row in the README.
var policies = map[string]struct {
	needs    settings
	warnings []string // codes of problems that are reported and do not refuse
	asks     []ask
	notice   string
	// forbidsExceeding means that exceeding a limit may block the agent.
	forbidsExceeding bool
	oneCounter       bool // its intents count together
}{
	"free-for-all": {asks: []ask{{intents: every, candidates: []string{"free"}}}},
	"rate-limit": {asks: []ask{
		{intents: []string{search}, candidates: []string{"30/minute free"}},
		{intents: []string{details, order}, deny: reason.PolicyNotApplicable},
	}, forbidsExceeding: true},
	"shared-limit":   {asks: []ask{{intents: every, candidates: []string{"100/hour free"}}}, oneCounter: true},
	"limit-each":     {asks: []ask{{intents: every, candidates: []string{"100/hour free"}}}},
	"two-periods":    {asks: []ask{{intents: []string{search}, candidates: []string{"10/minute 200/day free"}}}},
	"lifetime-quota": {asks: []ask{{intents: []string{order}, candidates: []string{"5/lifetime free"}}}},
	"priced-call": {needs: settings{credit: "10 EUR"}, asks: []ask{
		{intents: []string{search}, candidates: []string{"free"}},
		{intents: []string{order}, candidates: []string{"0.05 EUR"}},
	}},
	"price-steps": {
		needs: settings{credit: "10 EUR"}, warnings: []string{"meaningless"},
		asks: []ask{{
			intents: []string{order}, candidates: []string{"100/month 0.02 EUR", "1000/month 0.05 EUR"},
			rule: "https://shop.example/policy/price-steps#first",
		}},
	},
	"signed-calls": {asks: []ask{
		{intents: []string{search, details}, candidates: []string{"free"}},
		{intents: []string{order}, proof: agentKey, candidates: []string{"free"}},
		{intents: []string{order}, deny: reason.PolicyRequiresVerification, rule: "https://shop.example/policy/signed-calls#sign"},
		{intents: []string{order}, proof: otherKey, deny: reason.PolicyRequiresVerification},
	}},
	"named-agent": {needs: settings{partner: "https://shop.example/agents/partner"}, asks: []ask{
		{intents: []string{search}, candidates: []string{"free"}},
		{intents: []string{order}, deny: reason.PolicyNotApplicable},
		{intents: []string{order}, agent: "partner-1", key: "another key", deny: reason.PolicyNotApplicable},
		{intents: []string{search, order}, agent: "partner-1", key: partnerKey, candidates: []string{"free"}},
	}},
	"plans": {needs: settings{credit: "10 EUR"}, oneCounter: true, asks: []ask{
		{intents: []string{details}, deny: reason.PolicyNotApplicable},
		{intents: []string{details}, plan: "partner", deny: reason.PolicyNotApplicable},
		{intents: []string{details}, plan: "free", candidates: []string{"20/day free"}, rule: "https://shop.example/policy/plans#free"},
		{intents: []string{details}, plan: "pro", candidates: []string{"5000/day 0.01 EUR"}, rule: "https://shop.example/policy/plans#pro"},
		{intents: []string{search}, candidates: []string{"free"}},
		{intents: []string{search}, plan: "pro", candidates: []string{"free"}},
	}},
	"opening-hours": {asks: []ask{
		{intents: []string{order}, at: "2026-06-15T09:00:00Z", candidates: []string{"free"}},
		{intents: []string{order}, at: "2026-06-15T16:59:59.9Z", candidates: []string{"free"}},
		{intents: []string{order}, at: "2026-06-15T17:00:00Z", deny: reason.PolicyNotApplicable, rule: "/permission/0"},
		{intents: []string{order}, at: "2026-06-15T08:59:59Z", deny: reason.PolicyNotApplicable},
	}},
	"ends-at-a-date": {asks: []ask{
		{intents: every, at: "2030-12-31T23:59:59Z", candidates: []string{"free"}},
		{intents: every, at: "2031-01-01T00:00:00Z", deny: reason.PolicyNotApplicable},
	}},
	"prohibition": {asks: []ask{
		{intents: []string{order}, candidates: []string{"free"}},
		{
			intents: []string{order}, at: "2026-06-15T23:30:00Z", deny: reason.PolicyViolation,
			rule: "https://shop.example/policy/prohibition#maintenance",
		},
		{intents: []string{order}, at: "2026-06-15T00:59:59Z", deny: reason.PolicyViolation},
		{intents: []string{order}, at: "2026-06-15T01:00:00Z", candidates: []string{"free"}},
		{intents: []string{search, details}, at: "2026-06-15T23:30:00Z", candidates: []string{"free"}},
	}},
	"attribution": {asks: []ask{{intents: every, candidates: []string{"free"}}}, notice: "Product data: shop.example"},
	"uim-core": {
		needs: settings{credit: "10 USD", partner: "http://example.com/ai-agent/1"}, warnings: []string{"public-key"},
		asks: []ask{
			{intents: every, agent: "partner-1", key: partnerKey, proof: agentKey, candidates: []string{"1000/hour 0.01 USD"}},
			{intents: every, agent: "partner-1", key: partnerKey, deny: reason.PolicyRequiresVerification},
			{intents: every, proof: agentKey, deny: reason.PolicyNotApplicable},
		}, forbidsExceeding: true, oneCounter: true,
	},
	"reference-form": {
		needs: settings{credit: "10 EUR", assignee: "anyone"}, warnings: []string{"assignee"},
		asks: []ask{
			{intents: []string{search}, candidates: []string{"400/hour free"}},
			{intents: []string{order}, candidates: []string{"100/hour 0.05 EUR"}},
			{intents: []string{details}, deny: reason.PolicyNotApplicable},
		},
	},
}

func TestPolicies(t *testing.T) {
	for name, want := range policies {
		t.Run(name, func(t *testing.T) {
			document, err := examples.Files.ReadFile("policies/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			p, problems := odrl.Publish(t.Context(), document, world(t, want.needs))
			if p == nil {
				t.Fatalf("refused: %v", problems)
			}
			if diff := cmp.Diff(want.warnings, codes(problems)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s\n%v", diff, problems)
			}
			counters, permitted := map[string]bool{}, 0
			for _, a := range want.asks {
				for _, intent := range a.intents {
					d := decide(t, p, a, intent)
					if !d.Permit {
						continue
					}
					permitted++
					if d.ForbidsExceeding != want.forbidsExceeding {
						t.Errorf("%s: forbids exceeding: %v, want %v", intent, d.ForbidsExceeding, want.forbidsExceeding)
					}
					if got := notice(d); got != want.notice {
						t.Errorf("%s: notice %q, want %q", intent, got, want.notice)
					}
					if limits := d.Candidates[0].Limits; len(limits) > 0 {
						counters[limits[0].ID] = true
					}
				}
			}
			if permitted == 0 {
				t.Error("the policy permits none of the calls")
			}
			if want.oneCounter && len(counters) != 1 || name == "limit-each" && len(counters) != len(every) {
				t.Errorf("%d counters", len(counters))
			}
		})
	}
}

// If the limit of the best permission is exhausted, the next best one authorizes the call. They are price steps of one number only if both
// share a counter.
func TestPriceStepsShareACounter(t *testing.T) {
	document, err := examples.Files.ReadFile("policies/price-steps.json")
	if err != nil {
		t.Fatal(err)
	}
	p, problems := odrl.Publish(t.Context(), document, world(t, settings{}))
	if p == nil {
		t.Fatal(problems)
	}
	d := decide(t, p, policies["price-steps"].asks[0], order)
	if first, further := d.Candidates[0].Limits[0].ID, d.Candidates[1].Limits[0].ID; first != further {
		t.Errorf("%s and %s are different counters", first, further)
	}
}

// decide makes one decision, and compares it with the row.
func decide(t *testing.T, p *odrl.Policy, a ask, intent string) odrl.Decision {
	t.Helper()
	r := odrl.Request{AgentID: "agent-1", KeyID: "key-1", AgentKey: agentKey, ProofKey: a.proof, Intent: intent, Now: noon(t)}
	if a.agent != "" {
		r.AgentID, r.KeyID = a.agent, a.key
	}
	if a.at != "" {
		r.Now = instant(t, a.at)
	}
	r.Facts = map[string]any{"version": "v1", "recipient": r.AgentID} // all that the gateway sets
	if a.plan != "" {
		r.Facts[odrl.Plan] = a.plan
	}
	d, err := p.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if d.Reason != a.deny || d.Permit != (a.deny == "") {
		t.Errorf("%s by %s at %s: %+v, want %q", intent, r.AgentID, r.Now, d, a.deny)
	}
	if a.rule != "" && d.Rule != a.rule {
		t.Errorf("%s: decided by %s, want %s", intent, d.Rule, a.rule)
	}
	var got []string
	for _, c := range d.Candidates {
		words := []string{}
		for _, l := range c.Limits {
			words = append(words, l.String())
		}
		price := "free"
		if !c.Charge.IsZero() {
			price = c.Charge.String()
		}
		got = append(got, strings.Join(append(words, price), " "))
	}
	if diff := cmp.Diff(a.candidates, got); diff != "" {
		t.Errorf("%s: candidates (-want +got):\n%s", intent, diff)
	}
	return d
}

func notice(d odrl.Decision) string {
	for _, duty := range d.Duties {
		if duty.Action == "attribute" {
			return duty.Notice
		}
	}
	return ""
}

func noon(t *testing.T) time.Time { t.Helper(); return instant(t, "2026-06-15T12:00:00Z") }

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func codes(problems problem.List) []string {
	var list []string
	for _, p := range problems {
		list = append(list, p.Code)
	}
	slices.Sort(list)
	return list
}

// world returns the names that a policy of the shop can refer to, as the gateway does.
func world(t *testing.T, needs settings) odrl.World {
	t.Helper()
	document, err := examples.Files.ReadFile("shop/agents.json")
	if err != nil {
		t.Fatal(err)
	}
	catalog, problems := intents.Parse(document, intents.Options{Strict: true})
	if len(problems) > 0 {
		t.Fatalf("got %v, want none", problems)
	}
	w := odrl.World{Hosts: []string{"127.0.0.1:8080"}, AnyAssignee: needs.assignee == "anyone", Parties: map[string]odrl.Party{}}
	if needs.partner != "" {
		w.Parties[needs.partner] = odrl.Party{AgentID: "partner-1", KeyID: partnerKey}
	}
	for _, in := range catalog.Intents() {
		w.Intents = append(w.Intents, odrl.Asset{UID: in.UID.String(), Namespace: in.UID.Namespace, Name: in.UID.Name, Title: in.Name})
	}
	u, err := url.Parse(catalog.Service.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.Hosts = append(w.Hosts, catalog.Namespaces()...)
	w.Hosts = append(w.Hosts, u.Host)
	return w
}

// Every policy can be used in the configuration of the shop, with exactly those settings that the README lists for it.
func TestPoliciesLoadIntoTheGateway(t *testing.T) {
	for name, want := range policies {
		t.Run(name, func(t *testing.T) {
			problems := slices.DeleteFunc(load(t, yaml(name, want.needs)), func(p config.Problem) bool {
				return strings.Contains(p.Message, "no permission covers") // each policy here covers only a part of the shop
			})
			if problems.Failed() || len(problems) != len(want.warnings) {
				t.Errorf("got %v", problems)
			}
			for _, less := range []settings{
				{"", want.needs.assignee, want.needs.partner},
				{want.needs.credit, "", want.needs.partner},
				{want.needs.credit, want.needs.assignee, ""},
			} {
				if less != want.needs && !load(t, yaml(name, less)).Failed() {
					t.Errorf("loads with %+v too", less)
				}
			}
		})
	}
}

func yaml(name string, needs settings) string {
	s := "services:\n- agents_file: shop/agents.json\n  policy_file: policies/" + name + ".json\n  upstream: {url: http://127.0.0.1:9000}\n"
	if needs.assignee != "" {
		s += "  assignee: " + needs.assignee + "\n"
	}
	if needs.partner != "" {
		s += "  parties:\n    " + needs.partner + ": {agent_id: partner-1, key: " + partnerKey + "}\n"
	}
	if needs.credit != "" {
		s += "billing: {credit: " + needs.credit + "}\n"
	}
	return s
}

// load reads a configuration of this directory, and all files that it names, as the serve command does.
func load(t *testing.T, text string) config.Problems {
	t.Helper()
	c, problems := config.Parse("uimgate.yaml", []byte(text), config.Overrides{Blocks: bindings.Blocks(), Env: noEnvironment})
	if c == nil {
		return problems
	}
	_, more := service.Load(t.Context(), c, time.Now)
	return append(problems, more...)
}

func noEnvironment(string) (string, bool) { return "", false }
