package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/money"
)

// The intents of the service, and the case that each covers.
const (
	browse  = "shop.example:browse:v1"  // free, leased, 120 an hour: exhausted in every run
	pulse   = "shop.example:pulse:v1"   // free, leased, 100 a second: the window moves all the time
	search  = "shop.example:search:v1"  // free, 8 a second
	lookup  = "shop.example:lookup:v1"  // free, 5 a minute
	ceiled  = "shop.example:ceiled:v1"  // free, 60 a minute for all agents together
	details = "shop.example:details:v1" // free, limited only by the PAT
	sealed  = "shop.example:sealed:v1"  // free, each call proved
	order   = "shop.example:order:v1"   // 0.01 EUR
	reserve = "shop.example:reserve:v1" // 10 EUR, 40 an hour
	pledge  = "shop.example:pledge:v1"  // 0.01 EUR, each call proved
)

var (
	intents = []string{browse, pulse, search, lookup, ceiled, details, sealed, order, reserve, pledge}
	prices  = map[string]money.Amount{
		order:   {Nano: money.Unit / 100, Currency: "EUR"},
		reserve: {Nano: 10 * money.Unit, Currency: "EUR"},
		pledge:  {Nano: money.Unit / 100, Currency: "EUR"},
	}
	credit = money.Amount{Nano: 100 * money.Unit, Currency: "EUR"}
	// newcomers is the credit of one unapproved agent. Two such agents could owe more than credit, which all of them share.
	newcomers = money.Amount{Nano: 60 * money.Unit, Currency: "EUR"}
)

// searchRate is the maximum per second of the limit that is too small to be leased.
const searchRate = 8

// patRate is the number of calls that an agent may make per hour: more than most agents need, but fewer than the greedy one tries.
var patRate = int64(150 * length / time.Second)

// A term is a limit in the form that the judges use.
type term struct {
	Name    string
	Intents []string // the intents that share the counter
	All     bool     // one counter for all agents
	Max     int
	Period  time.Duration
	// Own means that the configuration sets the limit, not the policy. Such a limit continues from the counts in the database, even if that
	// was restored.
	Own bool
}

func (t term) covers(intent string) bool { return slices.Contains(t.Intents, intent) }

// terms returns the limits of the policy and of the configuration below.
func terms() []term {
	one := func(intent string, n int, period time.Duration) term {
		return term{Name: intent, Intents: []string{intent}, Max: n, Period: period}
	}
	return []term{
		one(browse, 120, time.Hour), one(pulse, 100, time.Second), one(search, searchRate, time.Second), one(lookup, 5, time.Minute),
		one(reserve, 40, time.Hour),
		{Name: "ceiling", Intents: []string{ceiled}, All: true, Max: 60, Period: time.Minute, Own: true},
		{Name: "pat", Intents: intents, Max: int(patRate), Period: time.Hour, Own: true},
	}
}

func agentsFile() string {
	var list []string
	for _, uid := range intents {
		name := strings.Split(uid, ":")[1]
		method, more := "GET", ""
		if !prices[uid].IsZero() {
			method, more = "POST", `, "content_type": "application/json"`
		}
		list = append(list, fmt.Sprintf(`{"intent_uid": %q, "intent_name": %q, "description": "What it says.",
     "input_parameters": [{"name": "ref", "type": "string", "required": true, "maxLength": 100}],
     "output_parameters": [{"name": "ref", "type": "string", "required": true}, {"name": "serial", "type": "integer"}],
     "endpoint": {"url": "https://shop.example/%s", "method": %q%s}}`, uid, name, name, method, more))
	}
	return `{"service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [` + strings.Join(list, ",\n    ") + `]}`
}

func policyFile() string {
	var rules []string
	for _, uid := range intents {
		rule := fmt.Sprintf(`{"uid": "https://shop.example/policy/1#%s", "target": %q, "action": "execute"`, strings.Split(uid, ":")[1], uid)
		for _, t := range terms() {
			if t.Name == uid {
				rule += fmt.Sprintf(`, "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": %d, "unit": %q}]`,
					t.Max, unit(t.Period))
			}
		}
		if price := prices[uid]; !price.IsZero() {
			rule += fmt.Sprintf(`, "duty": [{"action": "pay", "amount": %q, "unit": %q}]`, price.Decimal(), price.Currency)
		}
		rules = append(rules, rule+"}")
	}
	return `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [` + strings.Join(rules, ",\n    ") + `],
  "obligation": [{"target": "` + sealed + `", "action": "signPayload"}]}`
}

func unit(period time.Duration) string {
	switch period {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	default:
		return "hour"
	}
}

// config returns the configuration of every gateway of a run. If store is empty, each gateway has its own SQLite file.
func (w *world) config(store string) string {
	if store != "" {
		store = fmt.Sprintf("store: %q\n", store)
	}
	return store + fmt.Sprintf(`server: {listen: 127.0.0.1:0, per_address: 1000000/second, issue_per_address: 100000/minute, `+
		`drain_timeout: 10s}
admin: {listen: 127.0.0.1:0, token: %s}
billing: {credit: %s, newcomers: %s}
pat: {limit: %d/hour}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: %s, timeout: %s, breaker: {failures: 10000, open_for: 100ms}}
  public_url: `+publicURL+`
  doors: {uagents: {key_file: `+seedFile+`, rules: %s}, aea: {key_file: `+keyFile+`, tcp: 127.0.0.1:0, delegate: 127.0.0.1:0}}
  intents: {%q: {ceiling: 60/minute}, %q: {proof: optional}, %q: {proof: optional}}
`, adminToken, credit, newcomers, patRate, w.upstream.server.URL, upstreamTimeout, w.inbox.rules(), ceiled, order, reserve)
}

const (
	adminToken      = "soak-admin-token-0123456789abcdef"
	issuer          = "shop.example"
	publicURL       = "http://127.0.0.1:1" // shared by all replicas
	service         = "default"
	upstreamTimeout = 3 * time.Second
)
