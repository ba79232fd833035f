package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/money"
)

// Each case is a file and exactly the problems that Load reports. "…" in front stands for five, the five lines
// that make a gateway; what follows starts at line 6.
var problemCases = map[string]struct {
	file string
	want []string
}{
	"all problems at once": {
		"data: ./data\nserver:\n  listne: :80\n  max_body: lots\npat:\n  ttl: 25h\nservices:\n- agents_file: no.json\n  upstream: {url: ftp://x}\n",
		[]string{
			`uimgate.yaml:3: server: unknown key "listne": did you mean "listen"?`,
			`uimgate.yaml:4: server.max_body: "lots" is not valid: want a size such as 1MiB`,
			`uimgate.yaml:6: pat.ttl: "25h" is more than 24h, the most allowed`,
			`uimgate.yaml:8: services[0].policy_file: is required: Its ODRL policy, relative to this file.`,
			`uimgate.yaml:8: services[0].agents_file: cannot read no.json: no such file or directory`,
			`uimgate.yaml:9: services[0].upstream.url: the value is not valid: want an http:// or https:// URL without user, query and fragment`,
		},
	},
	"empty file": {
		"",
		[]string{"uimgate.yaml:1: services: is required: What is offered to agents. A request's service is chosen by its host."},
	},
	"only a comment": {
		"# nothing\n",
		[]string{"uimgate.yaml:1: services: is required: What is offered to agents. A request's service is chosen by its host."},
	},
	"a list":      {"- a\n", []string{"uimgate.yaml:1: want keys and values, got a list"}},
	"no services": {"services: []\n", []string{"uimgate.yaml:1: services: is empty: a gateway needs at least one service"}},
	"empty service": {"services:\n-\n", []string{
		"uimgate.yaml:2: services[0]: is empty",
	}},
	"services as keys": {"services: {a: 1}\n", []string{"uimgate.yaml:1: services: want a list, got keys and values"}},
	"duplicate key": {
		"…audit: {}\naudit: {parameters: true}\n",
		[]string{"uimgate.yaml:7: this key is there twice, first on line 6"},
	},
	"duplicate key in flow":  {"…pat: {ttl: 1h, ttl: 2h}\n", []string{"uimgate.yaml:6: pat: this key is there twice, first on line 6"}},
	"wrong case":             {"…PAT: {ttl: 1h}\n", []string{`uimgate.yaml:6: unknown key "PAT": did you mean "pat"?`}},
	"key in the wrong place": {"…ttl: 1h\n", []string{`uimgate.yaml:6: unknown key "ttl": it belongs under pat`}},
	"service key at the top": {"…policy_file: x\n", []string{`uimgate.yaml:6: unknown key "policy_file": it belongs under services[]`}},
	"key nobody knows":       {"…audit: {zzzz: 1}\n", []string{`uimgate.yaml:6: audit: unknown key "zzzz": known are parameters, required`}},
	"secret as key": {"…  auth: x\nadmin: {hunter2000: }\n", []string{
		`uimgate.yaml:6: services[0]: unknown key "auth": it belongs under services[].upstream`,
		"uimgate.yaml:7: admin: unknown key (not shown, it may be a secret): known are listen, hosts, token",
	}},
	"tab": {"pat:\n\tttl: 1h\n", []string{"uimgate.yaml:2: a tab where spaces are needed: YAML indents with spaces only"}},
	"unquoted variable": {
		"…    auth: {header: ${KEY}}\n",
		[]string{"uimgate.yaml:6: not valid YAML: ',' or '}' must be specified: inside { } put a value that holds ${…} in quotes"},
	},
	"colon in value": {
		"data: a: hunter2\n",
		[]string{`uimgate.yaml:1: not valid YAML: mapping value is not allowed in this context: put a value that holds ": " in quotes, or give the next line the indentation of the keys beside it`},
	},
	"unclosed quote": {"data: 'hunter2\n", []string{"uimgate.yaml:1: not valid YAML: could not find end character of single-quoted text"}},
	"not UTF-8":      {"data: x\nstore: \xff\n", []string{"uimgate.yaml:2: is not UTF-8: save the file in that encoding"}},
	"two documents":  {"…---\ndata: x\n", []string{"uimgate.yaml:7: a second YAML document: a configuration is one"}},
	"merge key": {"…pat: &p {ttl: 1h}\nbilling: {<<: *p}\n", []string{
		"uimgate.yaml:7: billing: merge keys (<<) are not supported: write the keys out, or use an alias for a whole value",
	}},
	"tag":                {"data: !!str x\n", []string{"uimgate.yaml:1: YAML tags (!) are not supported: leave it out"}},
	"directive":          {"%YAML 1.2\n---\ndata: x\n", []string{"uimgate.yaml:1: YAML directives (%) are not supported: leave it out"}},
	"alias to nothing":   {"…data: *there\n", []string{"uimgate.yaml:6: data: the alias *there has no anchor before it"}},
	"alias before":       {"…data: *d\nstore: &d sqlite\n", []string{"uimgate.yaml:6: data: the alias *d has no anchor before it"}},
	"alias in itself":    {"services: &s [*s]\n", []string{"uimgate.yaml:1: services[0]: want keys and values, got a list"}},
	"anchor twice":       {"…data: &d x\nstore: &d sqlite\n", []string{"uimgate.yaml:7: the anchor &d is defined twice"}},
	"too deep":           {"x: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), []string{"uimgate.yaml:1: nested too deeply"}},
	"too deep in blocks": {strings.Repeat("- ", 200) + "x", []string{"uimgate.yaml:1: nested too deeply"}},
	"too many tokens": {
		"x: [" + strings.Repeat("a,", 100_000) + "]",
		[]string{"uimgate.yaml: holds more than 120000 YAML tokens: use several gateways"},
	},
	"too many keys": {
		strings.Repeat("a: 1\n", 30_001),
		[]string{"uimgate.yaml:30001: holds more than 30000 keys: use several gateways, or write short mappings in { }"},
	},
	"too large": {"# " + strings.Repeat("x", 1<<20), []string{"uimgate.yaml: uimgate.yaml is larger than the 1048576 bytes allowed"}},

	"types": {
		"…pat: {ttl: [1h], suspend_after: many, allow: x}\naudit: {parameters: yes}\nbilling: {credit: 10}\ndata: 5\ntelemetry: {metrics: {}}\nserver: fast\n",
		[]string{
			"uimgate.yaml:6: pat.ttl: want a duration such as 30s, 1h30m or 400d, got a list",
			`uimgate.yaml:6: pat.suspend_after: "many" is not valid: want a whole number`,
			"uimgate.yaml:6: pat.allow: want a list, got text",
			`uimgate.yaml:7: audit.parameters: "yes" is not valid: want true or false`,
			"uimgate.yaml:8: billing.credit: want an amount such as 10 USD, with at most 9 decimals, got a number: say in which currency: \"10 USD\"",
			"uimgate.yaml:9: data: want text such as ./data, got a number: put it in quotes",
			"uimgate.yaml:10: telemetry.metrics: want true or false, got keys and values",
			"uimgate.yaml:11: server: want keys and values, got text",
		},
	},
	"durations": {
		"…pat: {ttl: 500ms, leeway: 6m, renew_grace: -1s}\nbilling: {retain: 30}\nserver: {drain_timeout: 1d, read_timeout: soon}\n",
		[]string{
			`uimgate.yaml:6: pat.ttl: "500ms" is less than 1s, the least allowed`,
			`uimgate.yaml:6: pat.leeway: "6m" is more than 5m, the most allowed`,
			`uimgate.yaml:6: pat.renew_grace: "-1s" is not valid: want a duration such as 30s, 1h30m or 400d`,
			`uimgate.yaml:7: billing.retain: "30" is not valid: want a duration such as 30s, 1h30m or 400d`,
			`uimgate.yaml:8: server.drain_timeout: "1d" is more than 10m, the most allowed`,
			`uimgate.yaml:8: server.read_timeout: "soon" is not valid: want a duration such as 30s, 1h30m or 400d`,
		},
	},
	"rates and amounts": {
		"…server: {per_address: 10/fortnight, issue_per_address: 10/month}\npat: {limit: 0/hour}\nbilling: {credit: 10 usd}\n",
		[]string{
			`uimgate.yaml:6: server.per_address: "10/fortnight" is not valid: want a rate such as 1000/hour`,
			"uimgate.yaml:6: server.issue_per_address: counts per month: want second, minute, hour, day or week",
			"uimgate.yaml:7: pat.limit: admits nothing: want at least 1",
			`uimgate.yaml:8: billing.credit: "10 usd" is not valid: want an amount such as 10 USD, with at most 9 decimals`,
		},
	},
	"enums": {
		"…pat: {algorithm: HS256, freshness: required , admission: closed}\nbilling: {mode: free}\nstore: mysql\ntelemetry: {log: {level: trace}}\n",
		[]string{
			`uimgate.yaml:6: pat.algorithm: "HS256" is not valid: want EdDSA, ES256 or RS256`,
			`uimgate.yaml:6: pat.admission: "closed" is not valid: want open, allowlist or approval`,
			`uimgate.yaml:7: billing.mode: "free" is not valid: want postpaid or prepaid`,
			"uimgate.yaml:8: store: the value is not valid: want sqlite or a postgres:// URL with a host",
			`uimgate.yaml:9: telemetry.log.level: "trace" is not valid: want debug, info, warn or error`,
		},
	},
	"empty values": {
		"…pat: {admission: '', allow: [~, '']}\n  \n",
		[]string{
			"uimgate.yaml:6: pat.admission: is empty: leave the key out for the default, open",
			"uimgate.yaml:6: pat.allow[0]: is empty",
			"uimgate.yaml:6: pat.allow[1]: is empty",
		},
	},
	"variables": {
		"…pat: {ttl: '${TTL}', limit: '${LIMIT:-x}'}\ndata: ${HOME\nstore: ${file:nowhere}\nadmin: {token: '${1X}'}\n",
		[]string{
			"uimgate.yaml:6: pat.ttl: the environment variable TTL is not set: set it, or write ${TTL:-default}",
			`uimgate.yaml:6: pat.limit: "${LIMIT:-x}" is not valid: want a rate such as 1000/hour`,
			"uimgate.yaml:7: data: ${ without }: close it, or write $${ for the two characters",
			"uimgate.yaml:8: store: cannot read nowhere: no such file or directory",
			"uimgate.yaml:9: admin.token: ${…} holds no variable name: want ${NAME}, ${NAME:-default} or ${file:PATH}",
		},
	},
	"admission": {
		"…pat:\n  admission: allowlist\n",
		[]string{"uimgate.yaml:7: pat.admission: allowlist with an empty pat.allow admits nobody: list the keys of the agents"},
	},
	"allow": {
		"…pat:\n  allow:\n  - short\n  - " + jkt + "\n  - {id: a, key: " + jkt + "}\n  - {id: 'a b', key: x}\n  - {id: b}\n  - 5\n",
		[]string{
			"uimgate.yaml:8: pat.allow[0]: is no key thumbprint: want the 43 base64url characters of RFC 7638, as uimgate agent keygen prints them",
			"uimgate.yaml:10: pat.allow[2]: the key is in pat.allow[1] already: one key has one agent id",
			"uimgate.yaml:11: pat.allow[3].id: is no agent id: want 1 to 200 visible ASCII characters",
			"uimgate.yaml:11: pat.allow[3].key: is no key thumbprint: want the 43 base64url characters of RFC 7638, as uimgate agent keygen prints them",
			"uimgate.yaml:12: pat.allow[4].key: is required: RFC 7638 thumbprint: 43 characters.",
			"uimgate.yaml:13: pat.allow[5]: want keys and values, got a number",
		},
	},
	"listeners": {
		"…server: {listen: 127.0.0.1:80}\nadmin: {listen: 127.0.0.1:80, token: 'with space'}\n",
		[]string{
			"uimgate.yaml:7: admin.listen: takes the port of server.listen: give it one of its own",
			"uimgate.yaml:7: admin.token: cannot be sent in a header: want at most 1024 visible ASCII characters without spaces",
		},
	},
	"listeners that collide": {
		"…server: {listen: '127.0.0.1:9'}\nadmin: {listen: '[::]:9'}\n  \n",
		[]string{
			"uimgate.yaml:7: admin.listen: other machines can reach this address, and the admin token would travel in the clear: listen on 127.0.0.1, or set server.tls",
			"uimgate.yaml:7: admin.listen: takes the port of server.listen: give it one of its own",
		},
	},
	"control characters": {
		"…data: \"a\\0b\"\n",
		[]string{`uimgate.yaml:6: data: "a\x00b" is not valid: want text of at most 4096 bytes without control characters`},
	},
	"lines that end as on Windows": {
		"…\r\n# c\r\n\r\nadmin:\r\n  token: |\r\n    a b\r\npat:\r\n  ttl: x\r\n",
		[]string{
			"uimgate.yaml:10: admin.token: cannot be sent in a header: want at most 1024 visible ASCII characters without spaces",
			`uimgate.yaml:13: pat.ttl: "x" is not valid: want a duration such as 30s, 1h30m or 400d`,
		},
	},
	"listener without port": {
		"…server: {listen: localhost}\nadmin: {listen: 'a b:70000'}\n",
		[]string{
			"uimgate.yaml:6: server.listen: is no address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
			"uimgate.yaml:7: admin.listen: is no address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
		},
	},
	"reachable from outside": {
		"…server: {listen: ':8080'}\nadmin: {listen: '0.0.0.0:8081'}\n",
		[]string{
			"uimgate.yaml:2: services[0].public_url: is required, because server.listen is not loopback: the https URL agents reach this service under",
			"uimgate.yaml:7: admin.listen: other machines can reach this address, and the admin token would travel in the clear: listen on 127.0.0.1, or set server.tls",
		},
	},
	"public_url": {
		"…  public_url: http://shop.example\n", []string{"uimgate.yaml:6: services[0].public_url: must be https: agents send tokens to it"},
	},
	"public_url that is none": {
		"…  public_url: shop.example\n",
		[]string{"uimgate.yaml:6: services[0].public_url: the value is not valid: want an http:// or https:// URL without user, query and fragment"},
	},
	"proxies": {
		"…server: {trusted_proxies: [10.0.0.1/8, 0.0.0.0/0, proxy]}\n",
		[]string{
			`uimgate.yaml:6: server.trusted_proxies[0]: "10.0.0.1/8" is not valid: want a network such as 10.0.0.0/8, or an address`,
			"uimgate.yaml:6: warning: server.trusted_proxies[1]: trusts everyone to say where requests come from: name the networks of your proxies",
			`uimgate.yaml:6: server.trusted_proxies[2]: "proxy" is not valid: want a network such as 10.0.0.0/8, or an address`,
		},
	},
	"half of TLS": {
		"…server: {tls: {cert: secret}}\n", []string{"uimgate.yaml:6: server.tls: has only one of cert and key: give both, or neither"},
	},
	"TLS that is none": {
		"…server: {tls: {cert: secret, key: secret}}\n",
		[]string{"uimgate.yaml:6: server.tls: cert and key do not load: tls: failed to find any PEM data in certificate input"},
	},
	"files": {
		"services:\n- agents_file: .\n  policy_file: /dev/zero\n  upstream: {url: http://a}\n",
		[]string{
			"uimgate.yaml:2: services[0].agents_file: DIR is a directory, not a file",
			"uimgate.yaml:3: services[0].policy_file: /dev/zero is not a regular file",
		},
	},
	"hosts": {
		"…  hosts: ['*.example', 'https://a', 'a:80', 'ö.example', A, a]\n",
		[]string{
			"uimgate.yaml:2: warning: services[0].public_url: its host, 127.0.0.1, is not among hosts: agents that follow published URLs find nothing there",
			`uimgate.yaml:6: services[0].hosts[0]: "*.example": wildcards are not supported: list the hosts`,
			`uimgate.yaml:6: services[0].hosts[1]: "https://a" is no host name: leave out scheme, port and path`,
			`uimgate.yaml:6: services[0].hosts[2]: "a:80" is no host name: leave out scheme, port and path`,
			`uimgate.yaml:6: services[0].hosts[3]: "ö.example" is no host name: want letters, digits, - and ., other scripts in their xn-- form`,
			`uimgate.yaml:6: services[0].hosts[5]: host "a" belongs to services[0] already: no two services share one`,
		},
	},
	"several services": {
		`services:
- &s
  agents_file: agents.json
  policy_file: policy.json
  upstream: {url: http://127.0.0.1:9000}
- *s
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: http://a}, id: one, hosts: [a.example], public_url: https://a.example, issuer: i}
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: http://a}, id: one, hosts: [A.example.], public_url: https://a.example, issuer: i}
`,
		[]string{
			"uimgate.yaml:2: services[0].id: is required where there are several services",
			"uimgate.yaml:2: services[0].hosts: is required where there are several services: requests are told apart by host",
			"uimgate.yaml:6: services[1].id: is required where there are several services",
			"uimgate.yaml:6: services[1].hosts: is required where there are several services: requests are told apart by host",
			`uimgate.yaml:8: services[3].id: id "one" belongs to services[2] already: no two services share one`,
			`uimgate.yaml:8: services[3].hosts[0]: host "a.example" belongs to services[2] already: no two services share one`,
			`uimgate.yaml:8: services[3].issuer: issuer "i" belongs to services[2] already: no two services share one`,
		},
	},
	"service": {
		"…  id: My Shop\n  issuer: a b\n  assignee: everyone\n  parties: {'urn:a': , 'urn:b': {agent_id: b, key: k}}\n  intents: {buy: {}, 'a:b:c': {agreement: old}}\n",
		[]string{
			`uimgate.yaml:6: services[0].id: "My Shop" is no service id: want lower-case letters, digits, and . _ - between them, at most 63`,
			"uimgate.yaml:7: services[0].issuer: is no issuer: want a name or URL without spaces, at most 253 characters",
			`uimgate.yaml:8: services[0].assignee: "everyone" is not valid: want mapped or anyone`,
			`uimgate.yaml:9: services[0].parties["urn:a"].agent_id: is required: 1 to 200 visible ASCII characters. Reserved for this party.`,
			`uimgate.yaml:9: services[0].parties["urn:b"].key: is no key thumbprint: want the 43 base64url characters of RFC 7638, as uimgate agent keygen prints them`,
			`uimgate.yaml:10: services[0].intents["buy"]: the key is no intent uid: want namespace:name:version`,
			`uimgate.yaml:10: services[0].intents["a:b:c"].agreement: "old" is not valid: want any or fresh`,
		},
	},
	"one key, two agents": {
		"…  parties: {'urn:a': {agent_id: b, key: " + jkt + "}}\npat: {allow: [{id: a, key: " + jkt + "}]}\n",
		[]string{`uimgate.yaml:6: services[0].parties["urn:a"].key: the key belongs to agent "a" already: one key has one agent id`},
	},
	"upstream": {
		`services:
- agents_file: agents.json
  policy_file: policy.json
  upstream:
    url: http://user:hunter2@shop
    execute: run
    timeout: 0s
    idempotency_header: "a b"
    auth:
      header: "authorization: hunter2"
      basic: "u:hunter2"
    breaker: {failures: 0}
`,
		[]string{
			"uimgate.yaml:5: services[0].upstream.url: the value is not valid: want an http:// or https:// URL without user, query and fragment",
			`uimgate.yaml:6: services[0].upstream.execute: "run" is no path: want one such as /execute, without query`,
			`uimgate.yaml:7: services[0].upstream.timeout: "0s" is less than 1ms, the least allowed`,
			"uimgate.yaml:8: services[0].upstream.idempotency_header: holds no header name: want letters, digits and -",
			"uimgate.yaml:9: services[0].upstream.auth: has two values for the header Authorization: give one",
			`uimgate.yaml:12: services[0].upstream.breaker.failures: "0" is less than 1, the least allowed`,
		},
	},
	"facts without sources": {
		"…  facts: {purpose: , count: [{agents: {a: }}]}\n",
		[]string{
			`uimgate.yaml:6: services[0].facts["purpose"]: has no source: want a list such as [{parameter: /purpose}]`,
			`uimgate.yaml:6: services[0].facts["count"][0].agents["a"]: has 0 values: want 1 to 64`,
		},
	},
	"upstream without url": {
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: }}\n",
		[]string{"uimgate.yaml:2: services[0].upstream.url: is required: Base URL, such as http://127.0.0.1:9000: replaces scheme and host of each intent's endpoint, its path is put in front."},
	},
	"credential": {
		"…    auth: {header: 'hunter2'}\n",
		[]string{`uimgate.yaml:6: services[0].upstream.auth.header: want "Name: value", on one line`},
	},
	"credential without name": {
		"…    auth: {header: 'hunter 2: x'}\n",
		[]string{`uimgate.yaml:6: services[0].upstream.auth.header: want "Name: value": what stands before the colon is no header name`},
	},
	"credential in our header": {
		"…    auth: {header: 'uim-agent-id: x'}\n    idempotency_header: content-length\n",
		[]string{
			"uimgate.yaml:6: services[0].upstream.auth.header: the header Uim-Agent-Id is set by the gateway itself: use another",
			"uimgate.yaml:7: services[0].upstream.idempotency_header: the header Content-Length is set by the gateway itself: use another",
		},
	},
	"basic without colon": {
		"…    auth: {basic: hunter2}\n", []string{`uimgate.yaml:6: services[0].upstream.auth.basic: want "user:password", on one line`},
	},
	"credentials of every kind": {
		`…    auth:
      header: "X-Key: hunter2"
      headers: {x-key: hunter2, Host: hunter2, X-List: [hunter2], X-Id: 7}
      query: {key: {a: hunter2}, "": hunter2}
      body: {secret: hunter2, /list/0: hunter2}
      oauth2: {token_url: http://login.example/token, scopes: ["a b"]}
`,
		[]string{
			"uimgate.yaml:6: services[0].upstream.auth: has two values for the header X-Key: give one",
			`uimgate.yaml:8: services[0].upstream.auth.headers["Host"]: the header Host is set by the gateway itself: use another`,
			`uimgate.yaml:8: services[0].upstream.auth.headers["X-List"]: cannot stand in a header: want text or a number, on one line`,
			`uimgate.yaml:9: services[0].upstream.auth.query["key"]: cannot stand in a query: want text, a number, true or false, or a list of them`,
			`uimgate.yaml:9: services[0].upstream.auth.query[""]: names no place: want a parameter, header:NAME, query:NAME or body:/pointer, at most 256 bytes`,
			`uimgate.yaml:10: services[0].upstream.auth.body["/list/0"]: points into a list: write the whole list as the value of the member that holds it`,
			"uimgate.yaml:11: services[0].upstream.auth.oauth2.client_id: is required with token_url",
			"uimgate.yaml:11: services[0].upstream.auth.oauth2.client_secret: is required with token_url",
			"uimgate.yaml:11: services[0].upstream.auth.oauth2.token_url: must be https: the client's secret is sent to it",
			`uimgate.yaml:11: services[0].upstream.auth.oauth2.scopes[0]: is no scope: want visible ASCII without " and \`,
		},
	},
	"a bearer token beside another credential": {
		"…    auth: {basic: 'u:hunter2', oauth2: {token_url: http://127.0.0.1/token, client_id: c, client_secret: hunter2}}\n",
		[]string{"uimgate.yaml:6: services[0].upstream.auth: has two values for the header Authorization: oauth2 sends one"},
	},
	"oauth2 without token_url": {
		"…    auth: {oauth2: {client_id: c}}\n",
		[]string{"uimgate.yaml:6: services[0].upstream.auth.oauth2.token_url: is required where the other keys are set"},
	},
	"short admin token": {
		"…admin: {token: hunter2}\n",
		[]string{"uimgate.yaml:6: admin.token: is short enough to guess: use at least 16 random characters, or leave it out to have one made"},
	},
	"admin host with a port": {
		"…admin: {hosts: [metrics.example, 'metrics.example:8081']}\n",
		[]string{"uimgate.yaml:6: admin.hosts[1]: is no host name: want a name such as uimgate.internal, without port"},
	},
	"doors of uAgents in the way of others, with a seed that is none": {
		"…  doors: {mcp: {path: /agents}, uagents: {path: /agents/submit, key_file: agents.json}}\n",
		[]string{
			`uimgate.yaml:6: services[0].doors.uagents.path: "/agents/submit" and "/agents" are in one another's way`,
			`uimgate.yaml:6: services[0].doors.uagents.key_file: agents.json holds no seed: want one line of 16 to 1000 characters`,
		},
	},
	"endpoints of nobody, an Almanac nowhere, and one of its own in the way of others": {
		"…  doors: {mcp: {path: /v1}, uagents: {path: /v1/almanac/submit, registry: true, almanac: agentverse.ai, rules: {shop: \"http://a\"}}}\n",
		[]string{
			`uimgate.yaml:6: services[0].doors.uagents.path: "/v1/almanac/submit" and "/v1" are in one another's way`,
			`uimgate.yaml:6: services[0].doors.uagents.path: "/v1/almanac/submit" is a path of the Almanac`,
			`uimgate.yaml:6: services[0].doors.uagents.registry: "/v1/almanac" and "/v1" are in one another's way`,
			`uimgate.yaml:6: services[0].doors.uagents.almanac: the value is not valid: want an http:// or https:// URL without user, query and fragment`,
			`uimgate.yaml:6: services[0].doors.uagents.rules["shop"]: is no address of an agent: want agent1 and 59 characters more`,
		},
	},
	"doors of AEA that cannot open": {
		"…  doors: {aea: {tcp: '9090', delegate: 127.0.0.1:8080, mailbox: ':9090', key_file: agents.json, default_connection: tcp,\n" +
			"    default_routing: {'fetchai/http:1.0.0': stub, x: mailbox}}}\n",
		[]string{
			"uimgate.yaml:6: services[0].doors.aea.tcp: is no address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
			"uimgate.yaml:6: services[0].doors.aea.delegate: 127.0.0.1:8080 is that of server.listen as well",
			"uimgate.yaml:6: services[0].doors.aea.key_file: agents.json holds no private key: want 64 hexadecimal digits",
			`uimgate.yaml:7: services[0].doors.aea.default_routing["fetchai/http:1.0.0"]: want a connection that is open: tcp, delegate, mailbox or stub`,
			`uimgate.yaml:7: services[0].doors.aea.default_routing["x"]: is no specification id of a protocol, such as fetchai/default:1.0.0`,
		},
	},
	"a relay of AEA whose agents nobody knows": {
		"…  doors: {aea: {tcp: 127.0.0.1:0, stub: files, relay: {}}}\n",
		[]string{"uimgate.yaml:6: services[0].doors.aea.relay: neither delegate nor mailbox is open: only there is it known for certain who writes"},
	},
	"number where a secret belongs": {
		"…admin: {token: 4711}\n", []string{"uimgate.yaml:6: admin.token: want text, got a number: put it in quotes"},
	},
}

func TestProblems(t *testing.T) {
	for name, test := range problemCases {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			c, problems := load(t, dir, strings.Replace(test.file, "…", five, 1), config.Overrides{})
			if c != nil {
				t.Error("a Config in spite of errors")
			}
			got := texts(dir, problems)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], dir, "DIR")
				if strings.Contains(got[i], "hunter2") {
					t.Errorf("tells a secret: %s", got[i])
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarningsComeWithAConfig(t *testing.T) {
	dir := directory(t)
	c, problems := load(t, dir, five+`  hosts: [shop.example]
  parties: {"urn:a": {agent_id: a}}
  intents: {"a:b:v1": {ceiling: 5/lifetime}}
billing: {mode: prepaid, credit: 1 EUR}
`, config.Overrides{})
	want := []string{
		"uimgate.yaml:2: warning: services[0].public_url: its host, 127.0.0.1, is not among hosts: agents that follow published URLs find nothing there",
		`uimgate.yaml:7: warning: services[0].parties["urn:a"]: has no key, so the first to claim the agent id is this party: give its key, or choose another pat.admission`,
		`uimgate.yaml:8: warning: services[0].intents["a:b:v1"].ceiling: never resets: once used up, nobody can call the intent again`,
		"uimgate.yaml:9: warning: billing.credit: has no effect with mode prepaid: leave it out",
	}
	if diff := cmp.Diff(want, texts(dir, problems)); diff != "" || c == nil || problems.Failed() || problems.Err() != nil {
		t.Error(c == nil, diff)
	}
}

func TestAnAlmanacElsewhereReachesNothingOnThisMachine(t *testing.T) {
	dir := directory(t)
	for almanac, warned := range map[string]bool{"https://agentverse.ai": true, "http://127.0.0.1:8000": false} {
		c, problems := load(t, dir, five+"  doors: {uagents: {almanac: \""+almanac+"\"}}\n", config.Overrides{})
		if c == nil || (len(problems) == 1) != warned || warned && !strings.Contains(texts(dir, problems)[0],
			"services[0].doors.uagents.almanac: the service registers itself there with its public_url") {
			t.Errorf("%s: %v", almanac, problems)
		}
	}
}

func TestSeveralGatewaysNeedOneKey(t *testing.T) {
	dir := directory(t)
	for store, want := range map[string][]string{
		"": nil,
		"store: postgres://u:p@127.0.0.1/x\n": {
			"uimgate.yaml:6: warning: services[0].doors.aea: its key_file is empty: each gateway on this store would be another agent; " +
				"give all of them the same file",
		},
	} {
		c, problems := load(t, dir, five+"  doors: {aea: {}}\n"+store, config.Overrides{})
		if diff := cmp.Diff(want, texts(dir, problems)); diff != "" || c == nil {
			t.Error(c == nil, diff)
		}
	}
}

func TestSeveralGatewaysNeedOneSeed(t *testing.T) {
	dir := directory(t)
	for store, want := range map[string][]string{
		"": nil,
		"store: postgres://u:p@127.0.0.1/x\n": {
			"uimgate.yaml:6: warning: services[0].doors.uagents: its key_file is empty: each gateway on this store would be another agent; " +
				"give all of them the same file",
		},
	} {
		c, problems := load(t, dir, five+"  doors: {uagents: {}}\n"+store, config.Overrides{})
		if diff := cmp.Diff(want, texts(dir, problems)); diff != "" || c == nil {
			t.Error(c == nil, diff)
		}
	}
}

func TestNewcomersOweAPartOfTheCredit(t *testing.T) {
	dir := directory(t)
	eur := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }
	wrong := "uimgate.yaml:6: billing.newcomers: is not a part of billing.credit: want at most that, in its currency"
	for text, want := range map[string]any{
		"credit: 10 EUR":                       eur(money.Unit),
		"credit: 10 EUR, newcomers: 0 EUR":     eur(0),
		"credit: 10 EUR, newcomers: 10 EUR":    eur(10 * money.Unit),
		"retain: 400d":                         money.Amount{},
		"credit: 10 EUR, newcomers: 1 USD":     wrong,
		"credit: 10 EUR, newcomers: 10.01 EUR": wrong,
		"newcomers: 1 EUR":                     wrong,
		"mode: prepaid, newcomers: 1 EUR":      "uimgate.yaml:6: warning: billing.newcomers: has no effect with mode prepaid: leave it out",
	} {
		c, problems := load(t, dir, five+"billing: {"+text+"}\n", config.Overrides{})
		var got any
		if len(problems) > 0 {
			got = strings.Join(texts(dir, problems), "\n")
		} else {
			got = c.Billing.Newcomers
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
	}
}

func TestProblemsOfFlagsNameTheFlag(t *testing.T) {
	dir := directory(t)
	for want, o := range map[string]config.Overrides{
		"--listen: server.listen: is no address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address":            {Listen: "x"},
		"UIMGATE_ADMIN_LISTEN: admin.listen: is no address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address": {Env: environment(map[string]string{"UIMGATE_ADMIN_LISTEN": "x"})},
		"UIMGATE_ADMIN_TOKEN: admin.token: cannot be sent in a header: want at most 1024 visible ASCII characters without spaces":           {Env: environment(map[string]string{"UIMGATE_ADMIN_TOKEN": "a b"})},
	} {
		_, problems := load(t, dir, five, o)
		if diff := cmp.Diff([]string{want}, texts(dir, problems)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAFileThatIsNotThere(t *testing.T) {
	c, problems := config.Load(filepath.Join(t.TempDir(), "none.yaml"), config.Overrides{Env: none})
	if c != nil || len(problems) != 1 || !strings.HasSuffix(problems[0].String(), "none.yaml: no such file or directory: "+
		"uimgate init makes a configuration from an OpenAPI document, and -c names another file") {
		t.Error(problems)
	}
}

// Aliases make a small file stand for a large one; reading it must not take the time of the large one.
func TestAliasesCannotMultiplyWithoutBound(t *testing.T) {
	dir := directory(t)
	file := "services:\n- &s\n  hosts: [" + strings.Repeat("a,", 500) + "]\n" + strings.Repeat("- *s\n", 120)
	c, problems := load(t, dir, file, config.Overrides{})
	if c != nil || len(problems) != 101 || !strings.Contains(problems[100].Message, "more problems") {
		t.Errorf("%d problems", len(problems))
	}
}

func TestFilesAreBounded(t *testing.T) {
	dir := directory(t)
	if err := os.Truncate(filepath.Join(dir, "policy.json"), config.MaxPolicyFile+1); err != nil {
		t.Fatal(err)
	}
	_, problems := load(t, dir, five, config.Overrides{})
	want := []string{"uimgate.yaml:3: services[0].policy_file: policy.json is larger than the 16777216 bytes allowed"}
	if diff := cmp.Diff(want, texts(dir, problems)); diff != "" {
		t.Error(diff)
	}
}
