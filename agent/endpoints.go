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

// Endpoints are the addresses of a service, from its agents.json or the protocol's defaults. If there are several addresses for one
// purpose, the client tries them in turn until it finds one that exists.
type Endpoints struct {
	Agents  string   `json:"agents"`
	Policy  []string `json:"policy"`
	Search  []string `json:"search"`
	Intents []string `json:"intents"` // the uid is appended
	Execute []string `json:"execute"`
	Issue   []string `json:"issue"`
	Renew   []string `json:"renew"`
	Revoke  []string `json:"revoke"`
	MCP     string   `json:"mcp,omitempty"` // empty if the service names none
	A2A     string   `json:"a2a,omitempty"` // the JSON-RPC endpoint; empty if the service names none
	// UAgents is the URL to which envelopes for UAgentsAddress are sent; empty if the service names none.
	UAgents        string `json:"uagents,omitempty"`
	UAgentsAddress string `json:"uagents_address,omitempty"` // agent1…
	// AEAAddress is the address of the service in the AEA framework, fetch1…; empty if the service names none.
	AEAAddress string `json:"aea_address,omitempty"`
	// MRPKey is the key of the service in the Machine Relay Protocol; empty if the service names none. MRPRelay is the URL of the
	// service's relay; empty if agents.json has none.
	MRPKey   string `json:"mrp_key,omitempty"`
	MRPRelay string `json:"mrp_relay,omitempty"`
	Keys     string `json:"jwks,omitempty"` // the key set; empty if the service names none
	// Receipts is the URL of the receipt of an execution, with the placeholder {execution_id}, and Usage is the URL of the entries of the
	// agent's account. Both are empty if the service gives no receipts.
	Receipts string `json:"receipts,omitempty"`
	Usage    string `json:"usage,omitempty"`
	// Log is the URL of the service's log, and LogKey is the key of the log in the form of C2SP signed-note. Both are empty if there is no
	// log.
	Log    string `json:"log,omitempty"`
	LogKey string `json:"log_key,omitempty"`
}

// The paths that the protocol defines, the canonical one first.
var (
	policyPaths  = []string{"api/policy", "uim-policy.json", "policy.json"}
	searchPaths  = []string{"api/intents/search", "uim/intents/search"}
	intentPaths  = []string{"api/intents/", "uim/intents/"}
	executePaths = []string{"api/intents/execute", "uim/execute"}
	issuePaths   = []string{"api/pat/issue", "pat/issue"}
	renewPaths   = []string{"api/pat/renew", "pat/renew"}
	revokePaths  = []string{"api/pat/revoke", "pat/revoke"}
)

// endpointsOf returns the endpoints in an agents.json that was found at a URL. It derives missing endpoints from the execute URL,
// the search URL or the URL of agents.json itself.
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
	door := func(name string) string { // returns a URL or an empty string
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
		MRPKey: c.Doors["uim-mrp"], MRPRelay: door("uim-mrp-relay"), Keys: c.Keys,
		Receipts: c.Evidence.Receipts, Usage: c.Evidence.Usage, Log: c.Evidence.Log, LogKey: c.Evidence.LogKey,
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

// baseURL removes one of the paths from the end of an address. If the address ends in none of them, baseURL returns the root of its
// host; if the address is not a URL with a host, it returns an empty string.
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

// pathMissing reports whether a response means that the path itself does not exist, rather than the resource requested at it.
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
