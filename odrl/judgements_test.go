package odrl_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// A truth is the result of a constraint for the facts of one request.
type truth string

const (
	yes     truth = "true"
	no      truth = "false"
	unknown truth = "unknown"
)

// judgements are constraints with the facts of a request and the expected truth. They share publications, because most of the cost of a
// publication does not depend on the number of rules.
type judgements []judgement

type judgement struct {
	constraint string
	now        time.Time
	facts      map[string]any
	want       truth
}

func (l *judgements) add(constraint string, now time.Time, facts map[string]any, want truth) {
	*l = append(*l, judgement{constraint, now, facts, want})
}

// check publishes the constraints, a bounded number in each policy, and compares the truth of each judgement.
func (l judgements) check(t *testing.T) {
	t.Helper()
	const most = 32
	var constraints []string
	at := map[string]int{}
	for _, j := range l {
		if _, seen := at[j.constraint]; !seen {
			at[j.constraint] = len(constraints)
			constraints = append(constraints, j.constraint)
		}
	}
	var policies []*odrl.Policy
	for part := range slices.Chunk(constraints, most) {
		p := publishConstraints(t, part)
		if engine, why := p.Engine(); engine != odrl.EnginePlan {
			t.Errorf("decided by %s: %v; want %v", engine, why, odrl.EnginePlan)
		}
		policies = append(policies, p)
	}
	for _, j := range l {
		i := at[j.constraint]
		if got := judge(t, policies[i/most], i%most, j); got != j.want {
			t.Errorf("%s of %v at %s: %s, want %s", j.constraint, j.facts, j.now.Format(time.RFC3339Nano), got, j.want)
		}
	}
}

// publishConstraints publishes each constraint in four rules with separate intents.
func publishConstraints(t *testing.T, constraints []string) *odrl.Policy {
	t.Helper()
	w := odrl.World{Hosts: []string{"example.com"}}
	var permissions, prohibitions, obligations []string
	for i, c := range constraints {
		for _, name := range []string{"opens", "refines", "forbids", "binds"} {
			name += strconv.Itoa(i)
			w.Intents = append(w.Intents, odrl.Asset{UID: "example.com:" + name + ":v1", Namespace: "example.com", Name: name, Title: name})
		}
		of := func(name string) string { return fmt.Sprintf(`{"target":"example.com:%s%d:v1","action":`, name, i) }
		permissions = append(permissions, of("forbids")+`"execute"}`, of("binds")+`"execute"}`, of("opens")+`"use","constraint":`+c+`}`,
			of("refines")+`{"@id":"odrl:execute","refinement":`+c+`}}`)
		prohibitions = append(prohibitions, of("forbids")+`"execute","constraint":`+c+`}`)
		obligations = append(obligations, of("binds")+`"signPayload","constraint":`+c+`}`)
	}
	return publish(t, []byte(`{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","conflict":"prohibit","permission":[`+
		strings.Join(permissions, ",")+`],"prohibition":[`+strings.Join(prohibitions, ",")+`],"obligation":[`+strings.Join(obligations,
		",")+`]}`), w)
}

// judge derives the truth of a constraint from the decisions about its four rules: a permission applies only if the constraint is true,
// both as a constraint and as a refinement; a prohibition and an obligation bind unless it is false. The agent has signed in all requests
// except the one for the obligation.
func judge(t *testing.T, p *odrl.Policy, i int, j judgement) truth {
	t.Helper()
	about := func(name string) odrl.Decision {
		intent := fmt.Sprintf("example.com:%s%d:v1", name, i)
		r := odrl.Request{AgentID: "a", AgentKey: []byte("k"), ProofKey: []byte("k"), Intent: intent, Now: j.now, Facts: j.facts}
		if name == "binds" {
			r.ProofKey = nil
		}
		return decide(t, p, r)
	}
	opens, refines := about("opens").Permit, about("refines").Permit
	forbids, binds := about("forbids"), about("binds")
	if opens != refines {
		t.Errorf("%s: as a refinement %v, as a constraint %v", j.constraint, refines, opens)
	}
	overdue := strings.Contains(binds.Detail, "deadline") // the constraint is false because its deadline has passed
	if forbids.Permit != (binds.Permit || overdue) {
		t.Errorf("%s: a prohibition and an obligation disagree", j.constraint)
	}
	if !forbids.Permit && forbids.Reason != reason.PolicyViolation || !binds.Permit && binds.Reason != reason.PolicyRequiresVerification {
		t.Errorf("%s: reasons %s, %s", j.constraint, forbids.Reason, binds.Reason)
	}
	switch {
	case opens && !forbids.Permit:
		return yes
	case !opens && forbids.Permit:
		return no
	case !opens:
		return unknown
	default:
		t.Fatalf("%s both opens a permission and lifts a prohibition", j.constraint)
		return ""
	}
}

type list = []any
