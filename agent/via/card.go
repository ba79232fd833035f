package via

import (
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// ReadCard returns the first supported interface in an agent card: A2A 1.0 with JSON-RPC or HTTP+JSON, without a tenant, at the
// same origin as the URL that the service itself states. Errors wrap ErrAnswer. A2A 1.0, 4.4.1 and 4.4.6.
func ReadCard(card []byte, named *url.URL) (A2A, error) {
	tree, err := strictjson.DecodeObject(card)
	if err != nil {
		return A2A{}, wrong("the agent card is not a JSON object")
	}
	list := tree.List("supportedInterfaces")
	for _, v := range list[:min(len(list), maxBlocks)] {
		one, _ := strictjson.AsObject(v)
		u, err := url.Parse(one.Text("url"))
		binding := one.Text("protocolBinding")
		if err != nil || u.Host == "" || fetch.Origin(u) != fetch.Origin(named) || one.Text("tenant") != "" ||
			one.Text("protocolVersion") != "1.0" || binding != "JSONRPC" && binding != "HTTP+JSON" {
			continue
		}
		u.Fragment = ""
		return A2A{URL: strings.TrimSuffix(u.String(), "/"), REST: binding == "HTTP+JSON"}, nil
	}
	return A2A{}, wrong("the agent card has no A2A 1.0 interface with JSON-RPC or HTTP+JSON at " + fetch.Origin(named))
}
