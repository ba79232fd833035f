package openapi_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
)

// onBase has a base path, like most services that share a host.
const onBase = `
openapi: 3.0.3
info: {title: T, version: 1.0.0}
servers: [{url: 'https://app.s.example/api/1.0'}]
paths:
  /tasks/{id}: {get: {operationId: task, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': ` +
	`{description: ok}}}}
`

// The service must answer at the published address of an intent, which includes the base path.
func TestPublishedAddresses(t *testing.T) {
	for _, tt := range []struct{ name, server, namespace, address, upstream string }{
		{"a host below the namespace", "https://app.s.example/api/1.0", "s.example", "https://app.s.example/api/1.0/tasks/{id}", "https://app.s.example"},
		{"the namespace", "https://s.example:8443/v1/", "s.example", "https://s.example:8443/v1/tasks/{id}", "https://s.example:8443"},
		{"a host elsewhere", "https://inner.example/v1", "s.example", "https://s.example/v1/tasks/{id}", "https://inner.example"},
		{"a name with the same suffix", "https://others.example/v1", "s.example", "https://s.example/v1/tasks/{id}", "https://others.example"},
		{"without TLS", "http://app.s.example/v1", "s.example", "https://s.example/v1/tasks/{id}", "http://app.s.example"},
		{"no base path", "https://s.example", "s.example", "https://s.example/tasks/{id}", "https://s.example"},
		{"relative", "/base", "s.example", "https://s.example/base/tasks/{id}", "http://127.0.0.1:9000"},
		{"no address", "https://<hidden>", "s.example", "https://s.example/tasks/{id}", "http://127.0.0.1:9000"},
	} {
		text := strings.Replace(onBase, "https://app.s.example/api/1.0", tt.server, 1)
		found, err := openapi.Convert(t.Context(), []byte(text), openapi.Options{Namespace: tt.namespace})
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Intents[0].Tree["endpoint"].(map[string]any)["url"]; got != tt.address {
			t.Errorf("%s: published as %s, want %s", tt.name, got, tt.address)
		}
		if config := string(update(t, found, nil).Write[openapi.ConfigFile]); !strings.Contains(config, `url: "`+tt.upstream+`"`+"\n") {
			t.Errorf("%s: no %s in\n%s, want a text that contains %q", tt.name, tt.upstream, config, `url: "`+tt.upstream+`"`+"\n")
		}
	}
}
