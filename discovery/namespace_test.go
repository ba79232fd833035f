package discovery_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/agenttest"
	"github.com/uimgate/uimgate/discovery"
)

// through sends what is asked of a host to a server on the loopback address, and answers 404 for others.
type through struct{ host, server string }

func (p through) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != p.host {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
	}
	inner := r.Clone(r.Context())
	inner.URL.Scheme, inner.URL.Host, inner.Host = "http", strings.TrimPrefix(p.server, "http://"), ""
	response, err := http.DefaultTransport.RoundTrip(inner)
	if response != nil {
		response.Request = r
	}
	return response, err
}

// The shop's intents are shop.example's. Whose DNS leads to them must be able to speak for that name.
func TestADomainCannotOfferAnothersIntents(t *testing.T) {
	shop := agenttest.New(t, agenttest.Canonical)
	s := newServer(t)
	for _, domain := range []string{"shop.example", "api.shop.example", "evil.example", "notshop.example", "shop.example.evil.example", "bücher.example"} {
		ascii, err := discovery.ParseDomain(domain)
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, ascii+`. 60 IN TXT "uim-agents-file=https://files.example/agents.json"`)
	}
	r, _ := resolver(t, s)
	client, err := agent.New(agent.Options{Locate: r.Locate, Now: shop.Clock.Now, Wrap: func(http.RoundTripper) http.RoundTripper { return through{"files.example", shop.URL} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for domain, want := range map[string]bool{
		"shop.example": true, "api.shop.example": true, "evil.example": false, "notshop.example": false, "shop.example.evil.example": false, "bücher.example": false,
	} {
		service, err := client.Discover(t.Context(), domain)
		var refused *agent.NamespaceError
		switch {
		case want && (err != nil || service.Endpoints().Agents != "https://files.example/agents.json"):
			t.Errorf("%s: %v, %v", domain, service, err)
		case !want && (!errors.As(err, &refused) || refused.Name != agenttest.Issuer || refused.Host != "files.example" || !errors.Is(err, agent.ErrNoService)):
			t.Errorf("%s: %v", domain, err)
		}
	}
	if _, err := client.Discover(t.Context(), "https://files.example/agents.json"); err != nil { // whoever names the file itself, has seen whose it is
		t.Error(err)
	}
}

func TestSpeaksFor(t *testing.T) {
	for _, tt := range []struct {
		domain, name string
		want         bool
	}{
		{"shop.example", "shop.example", true},
		{"shop.example", "tea.shop.example", true},
		{"api.shop.example", "shop.example", true},
		{"notshop.example", "shop.example", false},
		{"evil.co.uk", "co.uk", false},
		{"evil.github.io", "github.io", false},
		{"evil.github.io", "other.github.io", false},
		{"shop.com", "com", false},
		{"shop.example", "", false},
		{"", "shop.example", false},
		{"", "", false},
	} {
		if got := discovery.SpeaksFor(tt.domain, tt.name); got != tt.want {
			t.Errorf("%s for %s: %v", tt.domain, tt.name, got)
		}
	}
}
