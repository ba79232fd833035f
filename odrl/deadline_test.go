package odrl_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// ODRL IM 2.6.3: the time in a duty is its deadline. After it the duty can no longer be fulfilled, but the permission still requires the
// payment or signature.
func TestLateDutyIsNotExcused(t *testing.T) {
	end := leaf("dateTime", "lteq", "2025-12-31")
	before, after := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for n, tt := range []struct {
		name, constraint string
		purpose          string
		overdue          bool
	}{
		{"a day", end, "", true},
		{"an instant", leaf("dateTime", "lt", "2026-01-01T00:00:00Z"), "", true},
		{"on one day", leaf("dateTime", "eq", "2025-06-01"), "", true},
		{"a window", `{"leftOperand":"timeWindow","operator":"within","rightOperand":{"start":"2025-01-01T00:00:00Z","end":"2025-12-31T00:00:00Z"}}`, "", true},
		{"the later of two", `{"or":[` + end + `,` + leaf("dateTime", "lteq", "2025-06-30") + `]}`, "", true},
		{"for one purpose", end + `,` + leaf("purpose", "eq", "a"), "a", true},
		{"for one purpose, and another is declared", end + `,` + leaf("purpose", "eq", "a"), "b", false},
		{"for one purpose or until then", `{"or":[` + end + `,` + leaf("purpose", "eq", "a") + `]}`, "b", true},
		{"one for each purpose", `{"or":[{"and":[` + end + `,` + leaf("purpose", "eq", "a") + `]},{"and":[` + leaf("dateTime", "lteq",
			"2025-11-30") + `,` + leaf("purpose", "eq", "b") + `]}]}`, "b", true},
		{"from a day on", leaf("dateTime", "gteq", "2027-01-01"), "", false},
		{"in the morning", `{"leftOperand":"timeWindow","operator":"within","rightOperand":{"start":"06:00:00Z","end":"07:00:00Z"}}`, "", false},
	} {
		for i, action := range []string{"pay", "signPayload", "inform"} {
			why := map[string]reason.Reason{
				"pay": reason.PolicyRequiresPayment, "signPayload": reason.PolicyRequiresVerification, "inform": reason.PolicyNotApplicable,
			}[action]
			duty := `{"action":"` + action + `","constraint":[` + tt.constraint + `]}`
			if action == "pay" {
				duty = `{"action":"pay","amount":1,"unit":"USD","constraint":[` + tt.constraint + `]}`
			}
			for role, doc := range map[string]string{
				"duty":       permit(`"duty":[` + duty + `]`),
				"obligation": policy(`"permission":[{`+all+`}]`, `"obligation":[`+duty+`]`),
			} {
				// In make test, all actions and roles are combined for the first constraint; each other has one action in one role, by turns.
				if !odrl.EveryCombination && n > 0 && (n%3 != i || (role == "duty") != (n%2 == 0)) {
					continue
				}
				want := why
				if role == "obligation" && why == reason.PolicyNotApplicable {
					want = reason.PolicyRequiresVerification
				}
				var requests []odrl.Request
				for _, now := range []time.Time{before, after} {
					r := odrl.Request{AgentID: "agent-1", AgentKey: edKey(t), ProofKey: edKey(t), Intent: search.UID, Now: now, Facts: map[string]any{}}
					if tt.purpose != "" {
						r.Facts["purpose"] = tt.purpose
					}
					requests = append(requests, r)
				}
				for i, d := range sameEverywhere(t, []byte(doc), requests...) {
					if denied := i == 1 && tt.overdue; d.Permit == denied || denied && d.Reason != want {
						t.Errorf("%s to %s %s, at %s: permit %v, %s", role, action, tt.name, requests[i].Now, d.Permit, d.Reason)
					}
				}
			}
		}
	}
}

// A signature fulfills a duty only if it is made in time. If that depends on a fact that the agent did not declare, the duty is not
// fulfilled.
func TestUntimedSignatureFulfilsNothing(t *testing.T) {
	for _, tt := range []struct {
		constraint string
		facts      map[string]any
		permit     bool
	}{
		{leaf("elapsedTime", "lt", "PT10S"), map[string]any{}, false},
		{leaf("elapsedTime", "lt", "PT10S"), map[string]any{"elapsedTime": "PT5S"}, true},
		{leaf("elapsedTime", "lt", "PT10S"), map[string]any{"elapsedTime": "PT20S"}, false}, // overdue
		{`{"or":[` + leaf("elapsedTime", "lt", "PT10S") + `,` + leaf("dateTime", "lt", "2026-01-01") + `]}`, map[string]any{}, false},
		{leaf("dateTime", "lt", "2027-01-01"), map[string]any{}, true},
		{leaf("purpose", "eq", "a"), map[string]any{}, true},
	} {
		duty := `{"action":"signPayload","constraint":[` + tt.constraint + `]}`
		for role, doc := range map[string]string{
			"duty":       permit(`"duty":[` + duty + `]`),
			"obligation": policy(`"permission":[{`+all+`}]`, `"obligation":[`+duty+`]`),
		} {
			r := odrl.Request{
				AgentID: "agent-1", AgentKey: edKey(t), ProofKey: edKey(t), Intent: search.UID, Facts: tt.facts,
				Now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
			}
			d := sameEverywhere(t, []byte(doc), r)[0]
			if d.Permit != tt.permit || !d.Permit && d.Reason != reason.PolicyRequiresVerification {
				t.Errorf("%s %s with %v: permit %v, %s", role, tt.constraint, tt.facts, d.Permit, d.Reason)
			}
		}
	}
}

// If times are operands of xone, it is uncertain which of them is the deadline.
func TestTimeUnderXoneIsNotADeadline(t *testing.T) {
	if _, problems := odrl.Publish(t.Context(), []byte(permit(`"duty":[{"action":"pay","amount":1,"unit":"USD","constraint":[{"xone":[`+
		leaf("dateTime", "gteq", "2025-01-01")+`,`+leaf("dateTime", "gteq", "2026-01-01")+`]}]}]`)), world()); !problems.Failed() {
		t.Error("published")
	}
}

// sameEverywhere decides as a gateway does, and fails if Evaluate of the published policy or policy decide with the document alone decides
// differently. It returns nil if the policy cannot be published.
func sameEverywhere(t *testing.T, doc []byte, requests ...odrl.Request) []odrl.Decision {
	t.Helper()
	w := world()
	w.AnyAssignee = true
	p, _ := odrl.Publish(t.Context(), doc, w)
	if p == nil {
		return nil
	}
	alone, problems := odrl.Load(t.Context(), doc, odrl.LoadOptions{Lenient: true})
	if alone == nil {
		t.Fatalf("%s: %v", doc, problems)
	}
	out := make([]odrl.Decision, 0, len(requests))
	for _, req := range requests {
		d, err := p.Decide(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		message := p.Reproduce(req, d.Facts)
		for name, policy := range map[string]*odrl.Policy{"policy decide": alone, "published": p} {
			e, err := policy.Evaluate(t.Context(), message.Question, message.World, odrl.EvaluateOptions{DutyMode: message.DutyMode})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(message)
			if e.Permit != d.Permit || e.Reason != d.Reason || e.Rule != d.Rule {
				t.Fatalf("%s\n%s\ngateway %v %s %s\n%s %v %s %s", doc, text, d.Permit, d.Reason, d.Rule, name, e.Permit, e.Reason, e.Rule)
			}
			if d.Permit && d.Candidates[0].Charge.IsZero() != (len(e.Charges) == 0) {
				t.Fatalf("%s\n%s\ngateway charges %v, %s %v", doc, text, d.Candidates[0].Charge, name, e.Charges)
			}
		}
		out = append(out, d)
	}
	return out
}

func edKey(tb testing.TB) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

// A dutyChooser generates policies with conditional duties, and requests, from bytes.
type dutyChooser struct{ rest []byte }

func (c *dutyChooser) of(n int) int {
	if len(c.rest) == 0 {
		return 0
	}
	b := int(c.rest[0])
	c.rest = c.rest[1:]
	return b % n
}

func (c *dutyChooser) one(list ...string) string { return list[c.of(len(list))] }

func (c *dutyChooser) constraint(depth int) string {
	if depth > 0 && c.of(3) == 2 {
		text := `{"` + c.one("or", "and", "andSequence", "xone") + `":{"@list":[` + c.constraint(depth-1)
		for range 1 + c.of(2) {
			text += `,` + c.constraint(depth-1)
		}
		return text + `]}}`
	}
	days := []string{"2025-12-31", "2026-06-15", "2026-06-15T12:00:00Z", "2027-01-01"}
	switch c.of(8) {
	case 0:
		return leaf("purpose", c.one("eq", "neq"), c.one("a", "b"))
	case 1:
		return leaf("elapsedTime", c.one("lteq", "lt", "gteq", "eq"), c.one("P30D", "PT10S"))
	case 2:
		return `{"leftOperand":"timeWindow","operator":"` + c.one("within", "outside") + `","rightOperand":{"start":"09:00:00Z","end":"12:00:00Z"}}`
	case 3:
		return `{"leftOperand":"timeRange","operator":"` + c.one("within", "outside") +
			`","rightOperand":{"start":"2025-12-31T00:00:00Z","end":"2026-06-15T12:00:00Z"}}`
	default:
		return leaf("dateTime", c.one("lteq", "lt", "eq", "gteq", "gt", "neq"), c.one(days...))
	}
}

func (c *dutyChooser) duty() string {
	text := `{"action":"`
	switch action := c.one("pay", "signPayload", "inform", "attribute"); action {
	case "pay":
		text += `pay","amount":1,"unit":"USD`
	default:
		text += action
	}
	text += `","constraint":[` + c.constraint(2)
	for range c.of(2) {
		text += `,` + c.constraint(2)
	}
	return text + `]}`
}

func (c *dutyChooser) duties(most int) string {
	text := ""
	for range c.of(most + 1) {
		if text != "" {
			text += `,`
		}
		text += c.duty()
	}
	return `[` + text + `]`
}

func (c *dutyChooser) policy() []byte {
	permissions := `{` + all + `,"duty":` + c.duties(2) + `}`
	if c.of(2) == 1 {
		permissions += `,{` + all + `,"constraint":[` + c.constraint(1) + `],"duty":` + c.duties(2) + `}`
	}
	return []byte(policy(`"permission":[`+permissions+`]`, `"obligation":`+c.duties(2)))
}

func (c *dutyChooser) request(key []byte) odrl.Request {
	at := []time.Time{
		time.Date(2025, 6, 1, 10, 0, 0, 0, time.UTC), time.Date(2025, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 15, 11, 0, 0, 0, time.UTC),
		time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC), time.Date(2026, 6, 16, 0, 0, 0, 0, time.UTC),
		time.Date(2028, 1, 1, 10, 0, 0, 0, time.UTC),
	}
	r := odrl.Request{AgentID: "agent-1", AgentKey: key, Intent: search.UID, Now: at[c.of(len(at))], Facts: map[string]any{}}
	if purpose := c.one("", "a", "b"); purpose != "" {
		r.Facts["purpose"] = purpose
	}
	if elapsed := c.one("", "PT10S", "P10D", "P40D"); elapsed != "" {
		r.Facts["elapsedTime"] = elapsed
	}
	if c.of(2) == 1 {
		r.ProofKey = key
	}
	return r
}

func differOnDuties(t *testing.T, data []byte) bool {
	t.Helper()
	c := &dutyChooser{data}
	doc, key := c.policy(), edKey(t)
	return sameEverywhere(t, doc, c.request(key), c.request(key), c.request(key)) != nil
}

// FuzzDuties checks that a gateway, the published policy and policy decide agree on conditional duties, whether their times are past,
// present or future.
func FuzzDuties(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(dutyBytes(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 120
		differOnDuties(t, data[:min(len(data), most)])
	})
}

func dutyBytes(seed uint64) []byte {
	r := rand.New(rand.NewPCG(15, seed))
	data := make([]byte, 100)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func TestDecideAndEvaluateAgreeOnDuties(t *testing.T) {
	published := 0
	for seed := range uint64(odrl.DutiesCompared) {
		if differOnDuties(t, dutyBytes(seed)) {
			published++
		}
	}
	if published < odrl.DutiesCompared/4 {
		t.Errorf("only %d published, want at least %v", published, odrl.DutiesCompared/4)
	}
}
