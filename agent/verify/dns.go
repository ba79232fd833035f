package verify

import (
	"context"
	"net"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/fetch"
)

// domainOf returns the domain of a target that is a bare domain. For any other target, it returns "".
func domainOf(target string) string {
	s := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(target), "."))
	if s == "" || strings.ContainsAny(s, "/:?#@[] ") || net.ParseIP(s) != nil || fetch.LoopbackHost(s) {
		return ""
	}
	return s
}

func (v *verification) lookup(ctx context.Context) {
	v.domain = domainOf(v.options.Target)
	if v.domain != "" && v.options.Lookup != nil {
		v.records, v.dnsErr = v.options.Lookup(ctx, v.domain)
	}
}

// locate is the agent.Options.Locate of the run: it returns the result of Lookup.
func (v *verification) locate(context.Context, string) ([]string, error) {
	if v.dnsErr != nil || v.records.AgentsFile == "" {
		return nil, v.dnsErr
	}
	return []string{v.records.AgentsFile}, nil
}

func (v *verification) dnsAgentsFile(context.Context) finding {
	switch {
	case v.domain == "":
		return skipped("the target is not a domain, so DNS does not apply")
	case v.options.Lookup == nil:
		return skipped("DNS was not queried")
	case v.dnsErr != nil:
		return wrong("%v", v.dnsErr)
	case v.records.AgentsFile == "":
		return missing("%s has no TXT record uim-agents-file", v.domain)
	}
	return v.recordURL(v.records.AgentsFile)
}

func (v *verification) dnsPolicyFile(context.Context) finding {
	if v.records.PolicyFile == "" {
		return missing("%s has no TXT record uim-policy-file", v.domain)
	}
	return v.recordURL(v.records.PolicyFile)
}

func (v *verification) recordURL(s string) finding {
	if u, ok := v.Address(s); !ok {
		return wrong("%s is not a URL that an agent would use", s)
	} else if !v.SameSite(u.Hostname(), v.domain) {
		return wrong("%s is not at the site of %s", s, v.domain)
	}
	return holds("%s", s)
}

func (v *verification) dnsAgrees(ctx context.Context) finding {
	if v.agentsFile == nil || v.service == nil {
		return skipped("no agents.json was found to compare with")
	}
	catalog, err := v.service.Catalog(ctx) // already fetched
	if err != nil {
		return point.Failed(err)
	}
	var bad []string
	for _, pair := range [][3]string{
		{"uim-policy-file", v.records.PolicyFile, catalog.PolicyFile},
		{"uim-api-discovery", v.records.Discovery, catalog.Discovery},
		{"uim-license", v.records.License, catalog.License},
	} {
		if pair[1] != "" && pair[2] != "" && pair[1] != pair[2] {
			bad = append(bad, pair[0]+" differs between DNS and agents.json")
		}
	}
	return point.WrongIfAny(bad)
}
