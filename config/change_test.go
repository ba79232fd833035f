package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/config"
)

func TestChangedSettings(t *testing.T) {
	const full = `data: data
server: {max_body: 2MiB, trusted_proxies: [10.0.0.0/8]}
admin: {token: token-0123456789abcdef}
notify: [{url: "https://hooks.example/a", secret: secret-0123456789abcdef}]
services:
- {id: shop, hosts: [shop.example], public_url: "https://shop.example", agents_file: agents.json, policy_file: policy.json, upstream: {url: "https://api.example"}, doors: {mcp: {}}}
- {id: rooms, hosts: [rooms.example], public_url: "https://rooms.example", agents_file: agents.json, policy_file: policy.json, upstream: {url: "https://api.example"}}
`
	for name, c := range map[string]struct {
		old, new string
		want     []string
	}{
		"nothing":           {"", "", nil},
		"a scalar":          {"max_body: 2MiB", "max_body: 3MiB", []string{"server.max_body"}},
		"a default":         {"max_body: 2MiB, ", "", []string{"server.max_body"}},
		"a list":            {"10.0.0.0/8", "10.0.0.0/9", []string{"server.trusted_proxies"}},
		"a secret":          {"token-0123456789abcdef", "other-0123456789abcdef", []string{"admin.token"}},
		"a secret in lists": {"secret-0123456789abcdef", "other-0123456789abcdef", []string{"notify"}},
		"a new id":          {"id: rooms", "id: flats", []string{"services[flats]", "services[rooms]"}},
		"a service":         {"id: shop, hosts: [shop.example]", "id: shop, hosts: [store.example]", []string{"services[shop].hosts"}},
		"a door":            {"doors: {mcp: {}}", "doors: {mcp: {path: /tools}}", []string{"services[shop].doors.mcp.path"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			was, _ := load(t, dir, full, config.Overrides{})
			is, problems := load(t, dir, strings.Replace(full, c.old, c.new, 1), config.Overrides{})
			if was == nil || is == nil {
				t.Fatalf("did not load: %v", texts(dir, problems))
			}
			if d := cmp.Diff(c.want, was.Changed(is), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("differs (-want +got):\n%s", d)
			}
		})
	}
}
