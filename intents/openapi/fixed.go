package openapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/regex"
)

// A Given is a value that the service requires from the operator, not from agents: a proposal for services[].fixed.
type Given struct {
	Key        string // the key in services[].fixed
	Variable   string // an environment variable for the value
	Operations int    // the number of offered operations that use the value
	Needed     bool   // at least one operation requires the value, and agents cannot provide it
}

const (
	maxGivens = 20
	leastAll  = 5 // minimum number of operations for which givens compares their parameters
)

var (
	givenName = regex.Lazy(`^[A-Za-z0-9_.-]{1,100}$`)
	// accountNames are parameter names that identify an account, in the form that intents.BareName returns.
	accountNames = wordSet("accountid tenantid organizationid orgid workspaceid projectid")
	// callHeaders matches headers that depend on the call or that the gateway sets. They cannot have a fixed value.
	callHeaders = regex.Lazy(`^(Accept|Connection|Content|Cookie|Date|Digest|Expect|Forwarded|Host|If|Keep-Alive|Origin|` +
		`Prefer|Proxy|Range|Referer|Te|Trailer|Traceparent|Tracestate|Transfer|Uim|Upgrade|Via|X-Forwarded|X-Request|X-Correlation)(-|$)`)
)

// fixable reports whether an operator can set a header permanently.
func fixable(header string) bool {
	return givenName().MatchString(header) && !callHeaders().MatchString(http.CanonicalHeaderKey(header))
}

// givens finds values that the operator may have to supply. These are required headers, parameters with the name of a credential,
// query parameters that carry a credential, and parameters that all operations require. If the name is that of an account, it is
// enough that half of the operations require the parameter.
func (w *work) givens() {
	found := map[string]*Given{}
	count := func(key, name string, needed bool) {
		if found[key] == nil {
			found[key] = &Given{Key: key, Variable: variableOf(name)}
		}
		found[key].Operations++
		found[key].Needed = found[key].Needed || needed
	}
	always := map[string]int{} // how many operations require the parameter
	for _, in := range w.out.Intents {
		for _, header := range in.headers {
			count("header:"+header, header, true)
		}
		address := read.Text(read.Object(in.Tree["endpoint"])["url"])
		for _, v := range read.List(in.Tree["input_parameters"]) {
			p := read.Object(v)
			name := read.Text(p["name"])
			if !givenName().MatchString(name) {
				continue
			}
			inPath := strings.Contains(address, "{"+name+"}")
			switch {
			case intents.IsCredential(name):
				count(name, name, false)
			case read.Flag(p["required"]) || inPath && accountNames[intents.BareName(name)]:
				always[name]++
			}
		}
	}
	all := len(w.out.Intents)
	for name, n := range always {
		if n == all && all >= leastAll || accountNames[intents.BareName(name)] && all >= leastAll && 2*n >= all {
			found[name] = &Given{Key: name, Variable: variableOf(name), Operations: n}
		}
	}
	for _, s := range w.out.Credentials {
		if s.query != "" && found[s.query] == nil {
			found["query:"+s.query] = &Given{Key: "query:" + s.query, Variable: variableOf(s.query), Operations: all, Needed: true}
		}
	}
	for _, g := range found {
		w.out.Givens = append(w.out.Givens, *g)
	}
	slices.SortFunc(w.out.Givens, func(a, b Given) int {
		return cmp.Or(cmp.Compare(b.Operations, a.Operations), cmp.Compare(a.Key, b.Key))
	})
	if len(w.out.Givens) > maxGivens {
		w.remark("", fmt.Sprintf("%d more values that the operator may have to supply are not listed", len(w.out.Givens)-maxGivens))
		w.out.Givens = w.out.Givens[:maxGivens]
	}
}
