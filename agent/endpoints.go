package agent

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
)

// Endpoints are where a service is asked for what, as its agents.json says or else as the protocol has it
// by default. Where there are several, they are tried in turn until one is there.
type Endpoints struct {
	Agents  string   `json:"agents"`
	Policy  []string `json:"policy"`
	Search  []string `json:"search"`
	Intents []string `json:"intents"` // the uid follows
	Execute []string `json:"execute"`
	Issue   []string `json:"issue"`
	Renew   []string `json:"renew"`
	Revoke  []string `json:"revoke"`
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

// endpointsOf reads the endpoints off an agents.json found at a URL. What it does not name is looked for
// where what it does name is: beside the execute URL, else beside the search URL, else beside itself.
func endpointsOf(at *url.URL, c *intents.Catalog) Endpoints {
	bases := []string{base(at.String(), []string{".well-known/agents.json", "agents.json"})}
	for _, named := range []struct {
		address string
		paths   []string
	}{{c.Discovery, append([]string{"discovery"}, searchPaths...)}, {c.Execute, executePaths}} {
		if b := base(named.address, named.paths); b != "" {
			bases = append([]string{b}, bases...)
		}
	}
	e := Endpoints{
		Agents:  at.String(),
		Policy:  under(bases, policyPaths),
		Search:  under(bases, searchPaths),
		Intents: under(bases, intentPaths),
		Execute: under(bases[:1], executePaths),
		Issue:   under(bases, issuePaths),
		Renew:   under(bases, renewPaths),
		Revoke:  under(bases, revokePaths),
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

// base is the URL under which one of the paths makes address; the root where none does.
func base(address string, paths []string) string {
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

func under(bases, paths []string) []string {
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

// notThere reports whether an answer means that a path does not exist, rather than that what was asked
// for there does not.
func notThere(a fetch.Answer) bool {
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
