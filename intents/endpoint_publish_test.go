package intents_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents"
)

// The published text has the endpoint of the gateway, and nothing of the address behind it. An intent without an endpoint stays without.
func TestEndpointOfGatewayIsPublished(t *testing.T) {
	const gateway = "https://a.example/api/intents/execute"
	document := `{"service-info": {"name": "a"}, "intents": [
		{"intent_uid": "a.example:read:v1", "intent_name": "R", "description": "R.", "output_parameters": [],
		 "endpoint": {"url": "https://internal.example/secret/{id}?k={key}", "method": "GET"},
		 "input_parameters": [{"name": "id", "type": "string", "required": true}, {"name": "key", "type": "string", "required": true}]},
		{"intent_uid": "a.example:safe:v1", "intent_name": "S", "description": "S.", "output_parameters": [], "safe": false,
		 "endpoint": {"url": "https://internal.example/s", "method": "GET"}},
		{"intent_uid": "a.example:write:v1", "intent_name": "W", "description": "W.", "output_parameters": [],
		 "endpoint": "https://internal.example/w"},
		{"intent_uid": "a.example:none:v1", "intent_name": "N", "description": "N.", "output_parameters": []}]}`
	c, problems := intents.Parse([]byte(document), intents.Options{Strict: true, Endpoint: gateway, Hidden: func(*intents.Intent) []string {
		return []string{"key"}
	}})
	if c == nil {
		t.Fatal(problems)
	}
	published, err := c.Published(nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(published); strings.Contains(text, "internal") || strings.Contains(text, "key") ||
		strings.Count(text, `"endpoint": {"url": "`+gateway+`", "method": "POST", "content_type": "application/json"}`) != 3 {
		t.Errorf("published: %s", text)
	}
	again, problems := intents.Parse(published, intents.Options{})
	if again == nil {
		t.Fatal(problems)
	}
	for i, safe := range []bool{true, false, false, false} {
		if got, served := again.Intents()[i], c.Intents()[i]; got.Safe != safe || served.Safe != safe {
			t.Errorf("%s: safe %v here and %v published, want %v", got.UID, served.Safe, got.Safe, safe)
		}
	}
	if got := c.Intents()[0].Endpoint.URL; got != "https://internal.example/secret/{id}?k={key}" {
		t.Errorf("the endpoint for calls is %s", got)
	}
	if c.Intents()[3].Endpoint != nil || strings.Contains(string(c.Intents()[3].JSON()), "endpoint") {
		t.Errorf("an intent without endpoint: %s", c.Intents()[3].JSON())
	}
}
