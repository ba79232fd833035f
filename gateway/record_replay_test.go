package gateway_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

const replayedPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1", "permission": [{
	"uid": "https://shop.example/policy/1#search", "target": "https://shop.example/api/intents", "action": "execute",
	"constraint": {"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"}}]}`

// replayedWorld returns the World of the policy.
func replayedWorld() odrl.World {
	return odrl.World{
		Intents: []odrl.Asset{{UID: "shop.example:search:v1", Namespace: "shop.example", Name: "search"}}, Hosts: []string{"shop.example"},
	}
}

// Replay repeats a decision from a line of the Audit and the policy document alone.
func TestReplayOfRecordedDecisions(t *testing.T) {
	published, problems := odrl.Publish(t.Context(), []byte(replayedPolicy), replayedWorld())
	if published == nil {
		t.Fatal(problems)
	}
	policy, problems := odrl.Load(t.Context(), []byte(replayedPolicy), odrl.LoadOptions{})
	if policy == nil {
		t.Fatal(problems)
	}
	digest, err := pat.PolicyDigest([]byte(replayedPolicy))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2030, 6, 15, 12, 0, 0, 5000, time.UTC)
	const rule = "https://shop.example/policy/1#search"
	permit, deny := record.Verdict{Decision: "permit", Rule: rule}, record.Verdict{
		Decision: "deny", Code: reason.PolicyNotApplicable,
		Rule: rule,
	}
	for _, test := range []struct {
		name, purpose string
		change        func(*execute.Event)
		want          record.Replay
		err           error
	}{
		{"a permission", "research", nil, record.Replay{Gateway: permit, Policy: permit, Same: true}, nil},
		{"a denial", "resale", nil, record.Replay{Gateway: deny, Policy: deny, Same: true}, nil},
		{"a denial by a limit", "research", func(v *execute.Event) {
			v.Decision, v.Reason = "deny", reason.RateLimitExceeded
		}, record.Replay{Gateway: permit, Policy: permit, Same: true}, nil},
		{"another decision", "resale", func(v *execute.Event) {
			v.Decision, v.Reason = "permit", ""
		}, record.Replay{Gateway: permit, Policy: deny}, nil},
		{"another policy", "research", func(v *execute.Event) { v.Digest = "sha-256:other" }, record.Replay{}, record.ErrOtherPolicy},
		{"no decision", "research", func(v *execute.Event) { v.Reproduction = nil }, record.Replay{}, record.ErrOtherPolicy},
		{"extra terms", "research", func(v *execute.Event) { v.Rule = odrl.ExtraRule }, record.Replay{}, record.ErrOtherPolicy},
		{"facts withheld", "research", func(v *execute.Event) { v.FromParameters = []string{"purpose"} }, record.Replay{}, record.ErrWithheld},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := odrl.Request{AgentID: "agent-1", Intent: "shop.example:search:v1", Now: at, Facts: map[string]any{"purpose": test.purpose}}
			d, err := published.Decide(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			query := published.Reproduce(request, d.Facts)
			v := &execute.Event{
				At: at, RequestID: "r-1", AgentID: "agent-1", Intent: request.Intent, Digest: digest, Decision: "permit", Rule: d.Rule,
				Reason: d.Reason, Facts: d.Facts, Reproduction: &query,
			}
			if !d.Permit {
				v.Decision = "deny"
			}
			if test.change != nil {
				test.change(v)
			}
			var out disk
			a, _ := newAudit(func() (record.File, error) { return &out, nil })
			a.Record(v)
			if err := a.Flush(); err != nil {
				t.Fatal(err)
			}
			line, err := record.ParseLine(out.Bytes())
			if err != nil {
				t.Fatalf("%v: %s", err, out.Bytes())
			}
			if !line.At.Equal(at) || line.RequestID != "r-1" || line.Agent != "agent-1" || line.Intent != request.Intent {
				t.Errorf("the line is %+v, want the time and the names of %+v", line, v)
			}
			got, err := line.Replay(t.Context(), policy, digest)
			if !errors.Is(err, test.err) || got != test.want {
				t.Errorf("got %+v, %v, want %+v, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestParseLineRejectsOtherText(t *testing.T) {
	for _, text := range []string{"", "nonsense", "[]", `{"at": 5}`, `{"asked": []}`} {
		if _, err := record.ParseLine([]byte(text)); !errors.Is(err, record.ErrNoLine) {
			t.Errorf("%q: %v, want %v", text, err, record.ErrNoLine)
		}
	}
	if _, err := record.ParseLine([]byte(`{"asked": {"request": {}, "world": {}}}`)); !errors.Is(err, odrl.ErrQuestion) {
		t.Errorf("%v, want %v", err, odrl.ErrQuestion)
	}
}
