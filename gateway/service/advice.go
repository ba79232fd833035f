package service

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

const (
	mostAdvised = 1000 // intents that advise checks
	mostNamed   = 3    // intents that one warning lists
)

// adviseService adds warnings for parts of a valid configuration, other than the policy, that are probably mistakes.
func (l *loadState) adviseService(s *Definition, at int) {
	warn := func(key, format string, args ...any) {
		l.problems = append(l.problems, l.config.Problemf(problem.Warning, fmt.Sprintf("services[%d].%s", at, key), format, args...))
	}
	l.adviseCredentials(at, warn)
	credentials := map[string][]string{} // UIDs, by the name of a credential
	for i, in := range s.Catalog.Intents() {
		if in.Retired || i >= mostAdvised {
			continue
		}
		for _, p := range in.Inputs {
			if intents.IsCredential(p.Name) {
				credentials[p.Name] = append(credentials[p.Name], in.UID.String())
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		verb := "asks"
		if len(credentials[name]) > 1 {
			verb = "ask"
		}
		warn("agents_file", "%s %s agents for %q, which looks like a credential of the service: set its value in services[%d].fixed, so that "+
			"agents neither see nor send it", firstOf(credentials[name]), verb, name, at)
	}
}

// advisePolicy adds warnings for parts of a valid policy that are probably mistakes. path is the path of its setting in the configuration
// of the service.
func (l *loadState) advisePolicy(s *Definition, at int, path string) {
	warn := func(format string, args ...any) {
		l.problems = append(l.problems, l.config.Problemf(problem.Warning, fmt.Sprintf("services[%d].%s", at, path), format, args...))
	}
	var uncovered []string
	seen := map[string]bool{}
	once := func(text string) {
		if !seen[text] {
			seen[text] = true
			warn("%s", text)
		}
	}
	for i, in := range s.Catalog.Intents() {
		if in.Retired || i >= mostAdvised {
			continue
		}
		uid := in.UID.String()
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
					once(c.Rule + " permits 0 calls per " + string(limit.Period) + ", so no agent can call " + uid + " under this rule")
				}
			}
			most, all := s.Credit.Newcomers, s.Credit.Credit
			if !s.Credit.Prepaid && c.Charge.Currency == all.Currency && c.Charge.Nano > all.Nano {
				once("one call to " + uid + " costs " + c.Charge.String() + ", more than any agent may owe (billing.credit: " +
					all.String() + "), so only agents that have paid in advance can call it")
			} else if s.OpenAdmission && !s.Credit.Prepaid && c.Charge.Currency == most.Currency && c.Charge.Nano > most.Nano {
				once("one call to " + uid + " costs " + c.Charge.String() + ", more than unapproved agents may owe (billing.newcomers: " +
					most.String() + "), so only approved agents can call it")
			}
		}
	}
	if len(uncovered) > 0 {
		warn("agents can find but never call intents that no permission covers: %s", firstOf(uncovered))
	}
}

// adviseCredentials adds warnings for credentials that are too short for the gateway to find them in responses of the service.
func (l *loadState) adviseCredentials(at int, warn func(key, format string, args ...any)) {
	c := &l.config.Services[at]
	check := func(key, value string) {
		if value != "" && !upstream.Recognizable(value) {
			warn(key, "is too short to be found in responses of the API: use a credential of at least %d characters, or %d digits; "+
				"if the value is not secret, set it in services[].fixed", upstream.LeastCredential, upstream.LeastDigits)
		}
	}
	auth := &c.Upstream.Auth
	_, password, _ := strings.Cut(auth.Basic.Reveal(), ":")
	check("upstream.auth.basic", password)
	check("upstream.auth.oauth2.client_secret", auth.OAuth2.ClientSecret.Reveal())
	for _, name := range slices.Sorted(maps.Keys(auth.Sent)) {
		check(fmt.Sprintf("upstream.auth.headers[%q]", name), lastField(auth.Sent[name].Reveal()))
	}
	checkAll := func(path string, values []placedValue) {
		for _, v := range values {
			if text, ok := v.value.Tree().(string); ok && v.credential {
				check(path+v.path, text)
			}
		}
	}
	for _, layer := range wideLayers(c) {
		checkAll("", layer.values)
	}
	for _, uid := range slices.Sorted(maps.Keys(c.Intents)) {
		checkAll(fmt.Sprintf("intents[%q].", uid), fixedValues(c.Intents[uid].Fixed))
	}
}

// lastField returns the credential in the value of a header, without an authentication scheme such as Bearer: the text after the last
// space.
func lastField(value string) string { return value[strings.LastIndex(value, " ")+1:] }

func firstOf(all []string) string {
	names := strings.Join(all[:min(mostNamed, len(all))], ", ")
	if more := len(all) - mostNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}
