//go:build soak

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	proofs "github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Under load, a policy with another price is announced and takes effect, an intent gets a second version, all signing keys rotate, and a
// process is replaced. No call is refused except orders of agents that have not agreed to the new price when it takes effect, and each
// charge has the price that its agent had agreed to.
func TestChangesUnderLoad(t *testing.T) {
	for engine, begin := range map[string]func(*testing.T) *world{
		"sqlite": sqliteWorld, "postgres": func(t *testing.T) *world { t.Helper(); return postgresWorld(t, pgtest.Start(t)) },
	} {
		t.Run(engine, func(t *testing.T) { (&shop{world: begin(t)}).run() })
	}
}

const (
	customersOfShop = 100
	detailsV2       = "shop.example:details:v2"
	clockSlack      = time.Second // between the test and the gateways
)

var (
	oldPrice = prices[order]
	newPrice = money.Amount{Nano: money.Unit / 50, Currency: "EUR"}
)

// A shop changes its terms while its customers call.
type shop struct {
	*world

	from      time.Time                // when the new price takes effect
	noticed   atomic.Bool              // the new policy is announced
	extended  atomic.Bool              // the second version of details is offered
	second    string                   // digest of the new policy
	priceOf   sync.Map                 // ID of a PAT → price of an order
	customers [customersOfShop]*client // in three equal groups: they agree to the new price for its date, at once, or never
}

// A client is a customer with an agreement to each policy, if it has made it.
type client struct {
	*agent

	kind          int // 0: on the date; 1: at once; 2: never
	present, next atomic.Pointer[token]
}

func (s *shop) run() {
	began := s.clock.now()
	for i := range s.customers {
		s.customers[i] = &client{agent: s.agentNamed(fmt.Sprintf("customer-%d", i), 0), kind: i % 3}
		s.agreeTo(s.customers[i], "", "", &s.customers[i].present, oldPrice)
		s.approve(s.customers[i].agent) // unapproved agents share one credit
	}
	agreed := s.clock.now() - began // agreements under load take longer
	s.over = make(chan struct{})
	for i, c := range s.customers {
		s.worker(s.over, fmt.Sprintf("customer-%d", i), 0, func(ref string) { s.visit(c, ref) })
	}
	pause(nil, length/4)
	s.extend()
	s.announce(length/4 + 3*time.Second + 5*agreed)
	for _, c := range s.customers {
		if effective := [...]string{"on_date", "now", ""}[c.kind]; effective != "" {
			s.agreeTo(c, s.second, effective, &c.next, newPrice)
		}
	}
	if !time.Now().Before(s.from) {
		s.t.Fatal("the agreements took longer than the notice")
	}
	s.noticed.Store(true)
	s.rotate()
	s.replaceProcess(s.gateways[0])
	pause(nil, time.Until(s.from)+length/4+2*clockSlack)
	close(s.over)
	s.loading.Wait()
	set := s.keySet()
	s.judge(s.evidence(), set)
}

// visit looks at details and makes an order, under the agreement that the customer wants to use now.
func (s *shop) visit(c *client, ref string) {
	pause(nil, random(200*time.Millisecond, 600*time.Millisecond))
	use := c.present.Load()
	switch {
	case !s.noticed.Load() || c.kind == 2:
	case c.kind == 1, !time.Now().Before(s.from):
		use = c.next.Load()
	}
	s.insistOn(call{agent: c.agent, token: *use, intent: details, ref: ref + "-details." + string(effectDone)})
	if s.extended.Load() {
		s.insistOn(call{agent: c.agent, token: *use, intent: detailsV2, ref: ref + "-details-2." + string(effectDone)})
	}
	s.insistOn(call{agent: c.agent, token: *use, intent: order, ref: ref + "-order." + string(effectDone), key: "key-" + ref})
}

// insistOn makes a call, and repeats it only while there is no response.
func (s *shop) insistOn(c call) {
	for range 100 {
		if g := s.anyGateway(); g != nil && !c.at(g).Lost {
			return
		}
		pause(nil, 50*time.Millisecond)
	}
	s.t.Errorf("%s got no response", c.ref)
}

// agreeTo agrees to the policy with a digest or, if that is empty, to the one in force, and keeps the PAT.
func (s *shop) agreeTo(c *client, digest, effective string, keep *atomic.Pointer[token], price money.Amount) {
	s.t.Helper()
	err := s.retry(func(g *gateway) (err error) {
		if digest == "" {
			if digest, err = s.policyDigest(g); err != nil {
				return err
			}
		}
		signed, err := pat.SignAgreement(c.key, pat.AgreementClaims{
			AgentID: pat.AgentID(c.id), Audience: issuer, URL: publicURL + "/api/pat/issue", IssuedAt: time.Now(),
			PolicyUID: "https://shop.example/policy/1", PolicyDigest: digest,
		})
		if err != nil {
			return err
		}
		body := map[string]any{"agent_id": c.id, "signed_policy": signed, "agent_public_key": c.publicKey()}
		if effective != "" {
			body["effective"] = effective
		}
		return c.take(s.do(http.MethodPost, g.url()+"/api/pat/issue", mustJSON(body), nil))
	})
	if err != nil {
		s.t.Fatalf("%s: %v", c.id, err)
	}
	newest := c.tokens[len(c.tokens)-1]
	s.priceOf.Store(newest.id, price)
	keep.Store(&newest)
}

// dearer returns the new policy.
func dearer(policy string) string {
	return strings.Replace(policy, fmt.Sprintf(`"amount": %q`, oldPrice.Decimal()), fmt.Sprintf(`"amount": %q`, newPrice.Decimal()), 1)
}

// announce offers the new policy at every gateway. It takes effect after the notice.
func (s *shop) announce(notice time.Duration) {
	s.from = time.Now().Add(notice).Truncate(time.Second)
	second := dearer(extendedPolicy())
	digest, err := pat.PolicyDigest([]byte(second))
	s.must(err)
	s.second = digest
	for _, g := range s.gateways {
		s.must(g.write("dearer.json", second))
		s.must(g.write("uimgate.yaml", strings.Replace(s.configOf(g), "  policy_file: policy.json\n",
			"  policies: [{file: policy.json}, {file: dearer.json, from: "+s.from.UTC().Format(time.RFC3339)+"}]\n", 1)))
		s.must(s.operate(g, "/reload"))
	}
}

// configOf returns the present configuration of a gateway.
func (s *shop) configOf(g *gateway) string {
	text, err := os.ReadFile(filepath.Join(g.dir, "uimgate.yaml"))
	s.must(err)
	return string(text)
}

// extendedPolicy returns the policy with a permission for the second version of details. The terms of the other intents stay the same.
func extendedPolicy() string {
	return strings.Replace(policyFile(), `"permission": [`,
		`"permission": [{"uid": "https://shop.example/policy/1#details-2", "target": "`+detailsV2+`", "action": "execute"},`, 1)
}

// extend offers a second version of details beside the first one, which ends long after the test. Calls go on under the agreements so far;
// for the new intent, the customers agree again.
func (s *shop) extend() {
	catalog := agentsFile()
	at := strings.Index(catalog, `{"intent_uid": "`+details)
	end := at + strings.Index(catalog[at:], "}}") + 2
	second := strings.NewReplacer(details, detailsV2, "example/details", "example/details2").Replace(catalog[at:end])
	first := strings.Replace(catalog[at:end], `"input_parameters"`, `"retire_after": "2090-01-01T00:00:00Z", "input_parameters"`, 1)
	for _, g := range s.gateways {
		s.must(g.write("policy.json", extendedPolicy()))
		s.must(g.write("agents.json", catalog[:at]+first+",\n"+second+catalog[end:]))
		s.must(s.operate(g, "/reload"))
	}
	for _, c := range s.customers {
		s.agreeTo(c, "", "", &c.present, oldPrice)
	}
	s.extended.Store(true)
}

// rotate rotates the signing keys of all gateways, and waits until each of them signs with a new one.
func (s *shop) rotate() {
	before := map[string]string{}
	for _, g := range s.gateways {
		before[g.name] = s.signingKey(g)
	}
	g := s.gateways[len(s.gateways)-1]
	status, _, body, err := s.do(http.MethodPost, g.admin()+"/admin/v1/keys/rotate", []byte(`{"all":true}`),
		map[string]string{"Authorization": "Bearer " + adminToken})
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("rotating the keys: %d %.300s %v", status, body, err)
	}
	for _, g := range s.gateways {
		for end := s.clock.now() + 10*time.Second; s.signingKey(g) == before[g.name]; pause(nil, 20*time.Millisecond) {
			if s.clock.now() > end {
				s.t.Fatalf("%s still signs with the key from before the rotation", g.name)
			}
		}
	}
}

func (s *shop) signingKey(g *gateway) string {
	_, _, body, err := s.do(http.MethodGet, g.admin()+"/admin/v1/status", nil, map[string]string{"Authorization": "Bearer " + adminToken})
	s.must(err)
	var status struct {
		Key string `json:"signing_key"`
	}
	s.must(json.Unmarshal(body, &status))
	return status.Key
}

// replaceProcess ends a gateway in order, and starts its successor, as a rollout does: new calls go elsewhere first.
func (s *shop) replaceProcess(g *gateway) {
	s.avoided.Store(g)
	pause(nil, clockSlack)
	s.must(g.restart(context.WithoutCancel(s.t.Context()), syscall.SIGTERM))
	s.avoided.Store(nil)
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// keySet returns the keys of all gateways.
func (s *shop) keySet() proofs.KeySet {
	s.t.Helper()
	_, _, body, err := s.do(http.MethodGet, s.gateways[0].url()+"/.well-known/jwks.json", nil, nil)
	s.must(err)
	set, err := proofs.ParseKeySet(body)
	s.must(err)
	return set
}

// judgeReceipt checks that the receipt of an order proves its charge: the price that the agent had agreed to, under the policy with this
// price.
func (s *shop) judgeReceipt(a attempt, price money.Amount, set proofs.KeySet) error {
	r, err := proofs.ParseReceipt(a.Receipt)
	if err == nil {
		err = r.Verify(set)
	}
	if err != nil {
		return err
	}
	e := r.Entry
	switch {
	case e.ID != a.Execution, e.To != proofs.StateCaptured, e.Token != a.Token, e.Intent != a.Intent, e.Account.Agent != a.Agent:
		return fmt.Errorf("it is about another call: %+v", e)
	case e.Amount != price, (e.Policy == s.second) != (price == newPrice):
		return fmt.Errorf("%s under the policy %s, want %s", e.Amount, e.Policy, price)
	}
	return nil
}

// judge compares the responses with their receipts, the ledger and the log of the upstream.
func (s *shop) judge(e *evidence, set proofs.KeySet) {
	s.t.Helper()
	breaches := 0
	breach := func(format string, args ...any) {
		if breaches++; breaches <= maxBreaches {
			s.t.Errorf(format, args...)
		}
	}
	fromAt := s.from.Sub(e.Began)
	n := map[string]int{}
	reported := map[string]attempt{}
	for _, a := range e.Attempts {
		price, _ := s.priceOf.Load(a.Token)
		over := price == oldPrice && a.Intent == order && a.Answered > fromAt-clockSlack
		switch {
		case a.Lost:
			n["lost"]++
		case a.Status == http.StatusOK:
			n["done "+a.Intent]++
		case over && a.Reason == "POLICY_REQUIRES_AGREEMENT":
			n["refused after the notice"]++
		default:
			breach("%s of %s, %s before the date: %d %s", a.Ref, a.Agent, fromAt-a.Answered, a.Status, a.Reason)
		}
		if over && a.Status == http.StatusOK && a.Sent > fromAt+clockSlack {
			breach("%s of %s, %s after the date, was done at the old price", a.Ref, a.Agent, a.Sent-fromAt)
		}
		if a.Intent == order && a.Status == http.StatusOK {
			reported[a.Execution] = a
			agreed, _ := price.(money.Amount)
			if err := s.judgeReceipt(a, agreed, set); err != nil {
				breach("the receipt of %s: %v", a.Ref, err)
			}
			n["receipts"]++
		}
	}
	arrived := group(e.Arrivals, func(a arrival) string { return a.Execution })
	for _, x := range e.Executions {
		if x.Intent != order {
			continue
		}
		if x.State == store.Released && len(arrived[x.ID]) == 0 { // the notice ended before it was sent
			n["released"]++
			continue
		}
		price, known := s.priceOf.Load(string(x.TokenID))
		a, isReported := reported[x.ID]
		switch {
		case !known || x.Charge != price:
			breach("execution %s of %s was charged %s, want %v", x.ID, x.AgentID, x.Charge, price)
		case x.State != store.Captured || !isReported || a.Charge != "captured" || len(arrived[x.ID]) != 1:
			breach("execution %s: %s in the ledger, %q to the agent, and arrived %d times at the service", x.ID, x.State, a.Charge, len(arrived[x.ID]))
		}
		n["charged "+x.Charge.String()]++
		delete(reported, x.ID)
	}
	for id := range reported {
		breach("execution %s was reported, and is not in the ledger", id)
	}
	if e.Unbalanced != nil {
		breach("the ledger: %v", e.Unbalanced)
	}
	s.t.Logf("events: %v", n)
	for _, what := range []string{
		"done " + details, "done " + detailsV2, "refused after the notice", "charged " + oldPrice.String(), "charged " + newPrice.String(),
	} {
		if n[what] < customersOfShop/4 {
			s.t.Errorf("%s: %d times, want at least %d", what, n[what], customersOfShop/4)
		}
	}
	if breaches > maxBreaches {
		s.t.Error(errors.New("more breaches were found"), breaches)
	}
	e.judgeLogs(breach)
}
