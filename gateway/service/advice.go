package service

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

const (
	mostAdvised = 1000 // intents
	mostNamed   = 3    // in one warning
)

// credential are names of parameters whose values are mostly the operator's secret.
var credential = regexp.MustCompile(
	`(?i)^(x[-_])?(api[-_]?key|apikey|client[-_]?secret|secret|(access|auth|api|bearer)[-_]?token|authorization|account[-_]?sid)$`)

// advise warns of what can be served and is hardly meant.
func (l *loading) advise(s *Definition, at int) {
	warn := func(key, format string, args ...any) {
		l.problems = append(l.problems, l.config.Problemf(problem.Warning, fmt.Sprintf("services[%d].%s", at, key), format, args...))
	}
	var uncovered []string
	told := map[string]bool{}
	once := func(text string) {
		if !told[text] {
			told[text] = true
			warn("policy_file", "%s", text)
		}
	}
	for i, in := range s.Catalog.Intents() {
		if in.Retired || i >= mostAdvised {
			continue
		}
		uid := in.UID.String()
		for _, p := range in.Inputs {
			if credential.MatchString(p.Name) {
				warn("agents_file", "%s asks agents for %q, which looks like a credential of yours: give its value in services[%d].fixed, and agents "+
					"neither see nor send it", uid, p.Name, at)
			}
		}
		terms, err := s.Policy.Terms(l.ctx, odrl.Request{Intent: uid, AgentKey: []byte{0}})
		if err != nil {
			continue
		}
		if !terms.Permitted && len(l.config.Services[at].Parties) == 0 {
			uncovered = append(uncovered, uid)
		}
		for _, c := range terms.Candidates {
			for _, limit := range c.Limits {
				if limit.Max == 0 {
					once(c.Rule + " permits 0 calls per " + string(limit.Period) + ": nobody can call " + uid + " under it")
				}
			}
			most := s.Credit.Newcomers
			if s.OpenAdmission && !s.Credit.Prepaid && c.Charge.Currency == most.Currency && c.Charge.Nano > most.Nano {
				once("one call of " + uid + " costs " + c.Charge.String() + ", more than an agent may owe that nobody approved (billing.newcomers, " +
					most.String() + "): only approved agents can call it")
			}
		}
	}
	if len(uncovered) > 0 {
		names := strings.Join(uncovered[:min(mostNamed, len(uncovered))], ", ")
		if more := len(uncovered) - mostNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		warn("policy_file", "no permission covers %s: agents find what they can never call", names)
	}
}
