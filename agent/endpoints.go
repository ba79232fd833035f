package agent

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
)

// Endpoints are the addresses of a service, from its agents.json or the protocol's defaults. If there are several for one purpose, they
// are tried in turn until one exists.
type Endpoints struct {
	Agents  string   `json:"agents"`
	Policy  []string `json:"policy"`
	Search  []string `json:"search"`
	Intents []string `json:"intents"` // the uid follows
	Execute []string `json:"execute"`
	Issue   []string `json:"issue"`
	Renew   []string `json:"renew"`
	Revoke  []string `json:"revoke"`
	MCP     string   `json:"mcp,omitempty"` // empty: the service names none
	A2A     string   `json:"a2a,omitempty"` // of JSON-RPC; empty: the service names none
	// UAgents is where envelopes for UAgentsAddress are sent; empty: the service names none.
	UAgents        string `json:"uagents,omitempty"`
	UAgentsAddress string `json:"uagents_address,omitempty"` // agent1…
	// AEAAddress is that of the service among agents of the AEA framework, fetch1…; empty: the service names none.
	AEAAddress string `json:"aea_address,omitempty"`
	// MRPKey is the service's key among agents of the Machine Relay Protocol; empty: the service has none. MRPRelay is the URL of its
	// relay; empty: agents.json has none.
	MRPKey   string `json:"mrp_key,omitempty"`
	MRPRelay string `json:"mrp_relay,omitempty"`
}

// The paths of the protocol, the canonical one first.
var (
	policyPaths  = []string{"api/policy", "uim-policy.json", "policy.json"}
	searchPaths  = []string{"api/intents/search", "uim/intents/search"}
	intentPaths  = []string{"api/intents/", "uim/intents/"}
	executePaths = []string{"api/intents/execute", "uim/execute"}
	issuePaths   = []string{"api/pat/issue", "pat/issue"}
	renewPaths   = []string{"api/pat/renew", "pat/renew"}
	revokePaths  = []string{"api/pat/revoke", "pat/revoke"}
)

// endpointsOf returns the endpoints in an agents.json found at a URL. It derives missing ones from the execute URL, or the search URL, or
// the URL of agents.json itself.
func endpointsOf(at *url.URL, c *intents.Catalog) Endpoints {
	bases := []string{baseURL(at.String(), []string{".well-known/agents.json", "agents.json"})}
	for _, named := range []struct {
		address string
		paths   []string
	}{{c.Discovery, append([]string{"discovery"}, searchPaths...)}, {c.Execute, executePaths}} {
		if b := baseURL(named.address, named.paths); b != "" {
			bases = append([]string{b}, bases...)
		}
	}
	door := func(name string) string { // a URL, or nothing
		if text := c.Doors[name]; strings.Contains(text, "://") {
			return text
		}
		return ""
	}
	e := Endpoints{
		Agents:  at.String(),
		Policy:  joinAll(bases, policyPaths),
		Search:  joinAll(bases, searchPaths),
		Intents: joinAll(bases, intentPaths),
		Execute: joinAll(bases[:1], executePaths),
		Issue:   joinAll(bases, issuePaths),
		Renew:   joinAll(bases, renewPaths),
		Revoke:  joinAll(bases, revokePaths),
		MCP:     door("uim-mcp"),
		A2A:     door("uim-a2a"),
		UAgents: door("uim-uagents-endpoint"), UAgentsAddress: c.Doors["uim-uagents"], AEAAddress: c.Doors["uim-aea"],
		MRPKey: c.Doors["uim-mrp"], MRPRelay: door("uim-mrp-relay"),
	}
	if c.PolicyFile != "" {
		e.Policy = []string{c.PolicyFile}
	}
	if c.Execute != "" {
		e.Execute = []string{c.Execute}
	}
	if c.Discovery != "" {
		e.Search = []string{c.Discovery}
	}
	return e
}

// baseURL returns address without one of the paths at its end; the root of its host if it ends in none of them.
func baseURL(address string, paths []string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	u.RawQuery, u.Fragment = "", ""
	for _, p := range paths {
		if before, ok := strings.CutSuffix(u.Path, "/"+p); ok {
			u.Path, u.RawPath = before, ""
			return strings.TrimSuffix(u.String(), "/")
		}
	}
	u.Path, u.RawPath = "", ""
	return u.String()
}

func joinAll(bases, paths []string) []string {
	var out []string
	for _, b := range bases {
		for _, p := range paths {
			if a := b + "/" + p; !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// pathMissing reports whether a response means that the path does not exist, and not that the path exists and the requested resource does
// not.
func pathMissing(a fetch.Answer) bool {
	if a.Status != http.StatusNotFound && a.Status != http.StatusMethodNotAllowed && a.Status != http.StatusNotImplemented {
		return false
	}
	switch e := readError(a); e.Reason {
	case string(reason.NoSuchPath), string(reason.MethodNotAllowed):
		return true
	case "":
		return e.Code == "" || e.Code == string(reason.CodeNotFound) || e.Code == string(reason.CodeMethodNotAllowed)
	default:
		return false
	}
}
