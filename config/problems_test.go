package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
)

// A problemCase is a file and exactly the problems that Load reports. "…" at the start represents the five lines of a minimal gateway; the
// rest starts at line 6.
type problemCase struct {
	file string
	want []string
}

// problemCases are about the file and the gateway; serviceProblems are about a service.
var problemCases = map[string]problemCase{
	"all problems at once": {
		"data: ./data\nserver:\n  listne: :80\n  max_body: lots\npat:\n  ttl: 25h\nservices:\n- agents_file: no.json\n  upstream: {url: ftp://x}\n",
		[]string{
			`uimgate.yaml:3: server: unknown key "listne": did you mean "listen"?`,
			`uimgate.yaml:4: server.max_body: "lots" is not valid: want a size such as 1MiB`,
			`uimgate.yaml:6: pat.ttl: "25h" is more than the maximum of 24h`,
			`uimgate.yaml:8: services[0].policy_file: is required: The ODRL policy of the service, relative to this file.`,
			`uimgate.yaml:8: services[0].agents_file: cannot read no.json: no such file or directory`,
			`uimgate.yaml:9: services[0].upstream.url: the value is not valid: want an http:// or https:// URL without user, query and fragment`,
		},
	},
	"empty file": {
		"",
		[]string{"uimgate.yaml:1: services: is required: The services that are offered to agents. The host of a request selects the service."},
	},
	"only a comment": {
		"# nothing\n",
		[]string{"uimgate.yaml:1: services: is required: The services that are offered to agents. The host of a request selects the service."},
	},
	"a list":      {"- a\n", []string{"uimgate.yaml:1: want keys and values, got a list"}},
	"no services": {"services: []\n", []string{"uimgate.yaml:1: services: is empty: a gateway needs at least one service"}},
	"empty service": {"services:\n-\n", []string{
		"uimgate.yaml:2: services[0]: is empty",
	}},
	"services as keys": {"services: {a: 1}\n", []string{"uimgate.yaml:1: services: want a list, got keys and values"}},
	"duplicate key": {
		"…audit: {}\naudit: {parameters: true}\n",
		[]string{"uimgate.yaml:7: duplicate key: it is already on line 6"},
	},
	"duplicate key in flow":  {"…pat: {ttl: 1h, ttl: 2h}\n", []string{"uimgate.yaml:6: pat: duplicate key: it is already on line 6"}},
	"key in the wrong case":  {"…PAT: {ttl: 1h}\n", []string{`uimgate.yaml:6: unknown key "PAT": did you mean "pat"?`}},
	"key in the wrong place": {"…ttl: 1h\n", []string{`uimgate.yaml:6: unknown key "ttl": it belongs under pat`}},
	"service key at the top": {"…policy_file: x\n", []string{`uimgate.yaml:6: unknown key "policy_file": it belongs under services[]`}},
	"unknown key":            {"…audit: {zzzz: 1}\n", []string{`uimgate.yaml:6: audit: unknown key "zzzz": known keys are parameters, required, index, export`}},
	"secret as key": {"…  auth: x\nadmin: {hunter2000: }\n", []string{
		`uimgate.yaml:6: services[0]: unknown key "auth": it belongs under services[].upstream`,
		"uimgate.yaml:7: admin: unknown key (not shown, because it may be a secret): known keys are listen, hosts, token, console, playground, oidc",
	}},
	"tab": {"pat:\n\tttl: 1h\n", []string{"uimgate.yaml:2: a tab where spaces are required: indent YAML only with spaces"}},
	"unquoted variable": {
		"…    auth: {header: ${KEY}}\n",
		[]string{"uimgate.yaml:6: not valid YAML: ',' or '}' must be specified: inside { }, put a value that contains ${…} in quotes"},
	},
	"colon in value": {
		"data: a: hunter2\n",
		[]string{`uimgate.yaml:1: not valid YAML: mapping value is not allowed in this context: put a value that contains ": " in quotes, or indent the next line like the keys around it`},
	},
	"unclosed quote": {"data: 'hunter2\n", []string{"uimgate.yaml:1: not valid YAML: could not find end character of single-quoted text"}},
	"not UTF-8":      {"data: x\nstore: \xff\n", []string{"uimgate.yaml:2: is not UTF-8: save the file as UTF-8"}},
	"two documents":  {"…---\ndata: x\n", []string{"uimgate.yaml:7: a second YAML document: only one is allowed"}},
	"merge key": {"…pat: &p {ttl: 1h}\nbilling: {<<: *p}\n", []string{
		"uimgate.yaml:7: billing: merge keys (<<) are not supported: write the keys out, or use an alias for a whole value",
	}},
	"tag":                     {"data: !!str x\n", []string{"uimgate.yaml:1: YAML tags (!) are not supported: remove this one"}},
	"directive":               {"%YAML 1.2\n---\ndata: x\n", []string{"uimgate.yaml:1: YAML directives (%) are not supported: remove this one"}},
	"alias without anchor":    {"…data: *there\n", []string{"uimgate.yaml:6: data: the alias *there has no anchor before it"}},
	"alias before its anchor": {"…data: *d\nstore: &d sqlite\n", []string{"uimgate.yaml:6: data: the alias *d has no anchor before it"}},
	"alias in itself":         {"services: &s [*s]\n", []string{"uimgate.yaml:1: services[0]: want keys and values, got a list"}},
	"anchor twice":            {"…data: &d x\nstore: &d sqlite\n", []string{"uimgate.yaml:7: the anchor &d is defined twice"}},
	"too deep in flow":        {"x: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), []string{"uimgate.yaml:1: nested too deeply"}},
	"too deep in blocks":      {strings.Repeat("- ", 200) + "x", []string{"uimgate.yaml:1: nested too deeply"}},
	"too many tokens": {
		"x: [" + strings.Repeat("a,", 100_000) + "]",
		[]string{"uimgate.yaml: has more than 120000 YAML tokens: use several gateways"},
	},
	"too many keys": {
		strings.Repeat("a: 1\n", 30_001),
		[]string{"uimgate.yaml:30001: has more than 30000 keys: use several gateways, or write short mappings in { }"},
	},
	"too large": {"# " + strings.Repeat("x", 1<<20), []string{"uimgate.yaml: uimgate.yaml is larger than the 1048576 bytes allowed"}},

	"types": {
		"…pat: {ttl: [1h], suspend_after: many, allow: x}\naudit: {parameters: yes}\nbilling: {credit: 10}\ndata: 5\ntelemetry: {metrics: {}}\nserver: fast\n",
		[]string{
			"uimgate.yaml:6: pat.ttl: want a duration such as 30s, 1h30m or 400d, got a list",
			`uimgate.yaml:6: pat.suspend_after: "many" is not valid: want a whole number`,
			"uimgate.yaml:6: pat.allow: want a list, got text",
			`uimgate.yaml:7: audit.parameters: "yes" is not valid: want true or false`,
			"uimgate.yaml:8: billing.credit: want an amount such as 10 USD, with at most 9 decimals, got a number: add the currency: \"10 USD\"",
			"uimgate.yaml:9: data: want text such as ./data, got a number: put it in quotes",
			"uimgate.yaml:10: telemetry.metrics: want true or false, got keys and values",
			"uimgate.yaml:11: server: want keys and values, got text",
		},
	},
	"durations": {
		"…pat: {ttl: 500ms, leeway: 6m, renew_grace: -1s}\nbilling: {retain: 30}\nserver: {drain_timeout: 1d, read_timeout: soon}\n",
		[]string{
			`uimgate.yaml:6: pat.ttl: "500ms" is less than the minimum of 1s`,
			`uimgate.yaml:6: pat.leeway: "6m" is more than the maximum of 5m`,
			`uimgate.yaml:6: pat.renew_grace: "-1s" is not valid: want a duration such as 30s, 1h30m or 400d`,
			`uimgate.yaml:7: billing.retain: "30" is not valid: want a duration such as 30s, 1h30m or 400d`,
			`uimgate.yaml:8: server.drain_timeout: "1d" is more than the maximum of 10m`,
			`uimgate.yaml:8: server.read_timeout: "soon" is not valid: want a duration such as 30s, 1h30m or 400d`,
		},
	},
	"rates and amounts": {
		"…server: {per_address: 10/fortnight, issue_per_address: 10/month}\npat: {limit: 0/hour}\nbilling: {credit: 10 usd}\n",
		[]string{
			`uimgate.yaml:6: server.per_address: "10/fortnight" is not valid: want a rate such as 1000/hour`,
			"uimgate.yaml:6: server.issue_per_address: counts per month: want a rate per second, minute, hour, day or week",
			"uimgate.yaml:7: pat.limit: permits nothing: want at least 1",
			`uimgate.yaml:8: billing.credit: "10 usd" is not valid: want an amount such as 10 USD, with at most 9 decimals`,
		},
	},
	"collectors of the audit stream": {
		"…audit:\n  export:\n    http: {url: 'http://10.0.0.1/', private: true}\n    syslog: {address: syslog.example}\n" +
			"    otlp: {headers: {X-Key: 'a'}}\n    roots: nowhere.pem\n",
		[]string{
			"uimgate.yaml:7: audit.export: has http and syslog: choose one",
			"uimgate.yaml:8: audit.export.http.secret: is required with url: set a secret of at least 16 random characters",
			"uimgate.yaml:9: audit.export.syslog.address: is not an address: want a host and a port, such as syslog.example:6514",
			"uimgate.yaml:10: audit.export.otlp.endpoint: is required with headers: set the URL of the collector",
			"uimgate.yaml:11: audit.export.roots: cannot read nowhere.pem: no such file or directory",
		},
	},
	"webhooks": {
		"…notify:\n- {url: 'http://ops.example/hook', secret: short, events: [agent.waiting, agent.blocked]}\n" +
			"- {url: 'https://10.0.0.1/hook', secret: 0123456789abcdef}\n- {url: 'http://10.0.0.1/hook', private: true}\n" +
			"billing: {low: 1 USD, credit: 1 EUR}\n",
		[]string{
			"uimgate.yaml:7: notify[0].url: refused: http://ops.example is not https: for a webhook inside your network, set private: true",
			"uimgate.yaml:7: notify[0].secret: is short enough to guess: use at least 16 random characters",
			`uimgate.yaml:7: notify[0].events[1]: "agent.blocked" is not valid: want an event: agent.waiting, credit.low, charge.unresolved, ` +
				"breaker.open, tool.changed, certificate.expiring, ledger.mismatch, audit.failing, reload.refused, " +
				"limit.near, limit.reached",
			"uimgate.yaml:8: notify[1].url: refused: 10.0.0.1 is not an address of the public internet: " +
				"for a webhook inside your network, set private: true",
			"uimgate.yaml:9: notify[2].secret: is required: Key of the signature in the UIM-Signature header: at least 16 random characters.",
			"uimgate.yaml:10: billing.low: must be at most billing.credit, and in the same currency",
		},
	},
	"witnesses": {
		"…evidence:\n  witnesses:\n  - {key: 'witness.example+9dbf8222+BM1CluXV9MN3GqxdoGfq3ip8SHiv8TIGie/ztd1v6x/h', url: 'http://w.example'}\n  - {key: 'witness.example+9dbf8222+BM1CluXV9MN3GqxdoGfq3ip8SHiv8TIGie/ztd1v6x/h', url: 'https://10.0.0.1'}\n  - {key: 'w.example+9dbf8222+BM1CluXV9MN3GqxdoGfq3ip8SHiv8TIGie/ztd1v6x/h', url: 'https://w.example'}\n" +
			"  receipts: some\n  publish: everyone\n  checkpoint: 10s\n",
		[]string{
			"uimgate.yaml:8: evidence.witnesses[0].url: refused: http://w.example is not https: for a witness inside your network, set private: true",
			"uimgate.yaml:9: evidence.witnesses[1].key: is the key of evidence.witnesses[0] as well",
			"uimgate.yaml:9: evidence.witnesses[1].url: refused: 10.0.0.1 is not an address of the public internet: " +
				"for a witness inside your network, set private: true",
			`uimgate.yaml:10: evidence.witnesses[2].key: "w.example+9dbf8222+BM1CluXV9MN3GqxdoGfq3ip8SHiv8TIGie/ztd1v6"… is not valid: want a verifier key for cosignatures: name+id+key`,
			`uimgate.yaml:11: evidence.receipts: "some" is not valid: want off or charged`,
			`uimgate.yaml:12: evidence.publish: "everyone" is not valid: want off, agents or public`,
			`uimgate.yaml:13: evidence.checkpoint: "10s" is more than the maximum of 5s`,
		},
	},
	"required witnesses": {
		"…evidence: {witnesses_required: true}\n",
		[]string{"uimgate.yaml:6: evidence.witnesses_required: has no witnesses: add them to evidence.witnesses"},
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
			"uimgate.yaml:6: pat.admission: is empty: omit the key to use the default, open",
			"uimgate.yaml:6: pat.allow[0]: is empty",
			"uimgate.yaml:6: pat.allow[1]: is empty",
		},
	},
	"variables": {
		"…pat: {ttl: '${TTL}', limit: '${LIMIT:-x}'}\ndata: ${HOME\nstore: ${file:nowhere}\nadmin: {token: '${1X}'}\n",
		[]string{
			"uimgate.yaml:6: pat.ttl: the environment variable TTL is not set: set it, or write ${TTL:-default}",
			`uimgate.yaml:6: pat.limit: "${LIMIT:-x}" is not valid: want a rate such as 1000/hour`,
			"uimgate.yaml:7: data: ${ without }: close it, or write $${ for the two characters ${",
			"uimgate.yaml:8: store: cannot read nowhere: no such file or directory",
			"uimgate.yaml:9: admin.token: ${…} does not contain a variable name: want ${NAME}, ${NAME:-default} or ${file:PATH}",
		},
	},
	"admission": {
		"…pat:\n  admission: allowlist\n",
		[]string{"uimgate.yaml:7: pat.admission: allowlist with an empty pat.allow admits no agent: list the keys of the agents"},
	},
	"allow": {
		"…pat:\n  allow:\n  - short\n  - " + jkt + "\n  - {id: a, key: " + jkt + "}\n  - {id: 'a b', key: x}\n  - {id: b}\n  - 5\n",
		[]string{
			"uimgate.yaml:8: pat.allow[0]: is not a key thumbprint: want the 43 base64url characters of RFC 7638, as uimgate agent keygen prints them",
			"uimgate.yaml:10: pat.allow[2]: the key is already in pat.allow[1]: a key can have only one agent id",
			"uimgate.yaml:11: pat.allow[3].id: is not an agent id: want 1 to 200 visible ASCII characters",
			"uimgate.yaml:11: pat.allow[3].key: is not a key thumbprint: want the 43 base64url characters of RFC 7638, as uimgate agent keygen prints them",
			"uimgate.yaml:12: pat.allow[4].key: is required: RFC 7638 thumbprint: 43 characters.",
			"uimgate.yaml:13: pat.allow[5]: want keys and values, got a number",
		},
	},
	"a certificate from a CA": {
		"…server: {tls: {acme: {agree: true, email: ops, staging: true, directory: 'http://ca.example', roots: secret, eab: {kid: a}, http: '127.0.0.1:8081',\n" +
			"  dns: {server: ns1, key: 'hmac-md5:a:c2VjcmV0', zone: z.example}}}}\n",
		[]string{
			"uimgate.yaml:6: server.tls.acme: has no name for a certificate: set services[].hosts, or a public_url with a public name",
			"uimgate.yaml:6: server.tls.acme.email: is not an email address, such as ops@shop.example",
			"uimgate.yaml:6: server.tls.acme.staging: selects the staging CA of Let's Encrypt, but directory names another CA: set only one of them",
			"uimgate.yaml:6: server.tls.acme.directory: must be an https URL, which ACME requires (RFC 8555 section 6.1)",
			"uimgate.yaml:6: server.tls.acme.roots: has no certificate: want a PEM file with CA certificates",
			"uimgate.yaml:6: server.tls.acme.eab: has only one of kid and key: give both, or neither",
			"uimgate.yaml:6: server.tls.acme.http: uses the port of admin.listen: choose another",
			"uimgate.yaml:7: server.tls.acme.dns.server: is not an address: want host:port, such as ns1.shop.example:53",
			"uimgate.yaml:7: server.tls.acme.dns.key: is not a TSIG key: the algorithm is not one of hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384 and hmac-sha512",
		},
	},
	"a collector": {
		"…telemetry: {otlp: {endpoint: 'https://me:secret@collector.example/v1/traces?x', headers: {'X Key': a, Uim-Key: a, X-Key: [a]}, roots: secret}}\n",
		[]string{
			"uimgate.yaml:6: telemetry.otlp.endpoint: the value is not valid: want an http:// or https:// URL without user, query and fragment",
			`uimgate.yaml:6: telemetry.otlp.headers["X Key"]: is not a header name: want letters, digits and -`,
			`uimgate.yaml:6: telemetry.otlp.headers["Uim-Key"]: the Uim-Key header is set by the gateway itself: use another`,
			`uimgate.yaml:6: telemetry.otlp.headers["X-Key"]: cannot be in a header: want text or a number, on one line`,
			"uimgate.yaml:6: telemetry.otlp.roots: has no certificate: want a PEM file with CA certificates",
		},
	},
	"the path of a signal": {
		"…telemetry: {otlp: {endpoint: 'https://collector.example/v1/traces'}}\n",
		[]string{
			"uimgate.yaml:6: telemetry.otlp.endpoint: must not end with /v1/traces: the gateway appends the path of each signal",
		},
	},
	"no collector": {
		"…telemetry: {otlp: {logs: true}}\n",
		[]string{"uimgate.yaml:6: telemetry.otlp.endpoint: is required with the other keys of otlp: set the URL of the collector"},
	},
	"a CA without agreement": {
		"…server: {tls: {acme: {email: ops@shop.example}}}\n",
		[]string{"uimgate.yaml:6: server.tls.acme.agree: must be true: set it if you agree to the subscriber agreement of the CA"},
	},
	"a CA and files": {
		"…server: {tls: {acme: {agree: true}, cert: secret, key: secret}}\n",
		[]string{
			"uimgate.yaml:6: server.tls: cannot load cert and key: tls: failed to find any PEM data in certificate input",
			"uimgate.yaml:6: server.tls.acme: cannot be used with server.tls.cert and key: the certificate comes from files or from a CA",
			"uimgate.yaml:6: server.tls.acme: has no name for a certificate: set services[].hosts, or a public_url with a public name",
		},
	},
	"listeners": {
		"…server: {listen: 127.0.0.1:80}\nadmin: {listen: 127.0.0.1:80, token: 'with space'}\n",
		[]string{
			"uimgate.yaml:7: admin.listen: uses the port of server.listen: choose another",
			"uimgate.yaml:7: admin.token: cannot be sent in a header: want at most 1024 visible ASCII characters without spaces",
		},
	},
	"listeners that collide": {
		"…server: {listen: '127.0.0.1:9'}\nadmin: {listen: '[::]:9'}\n  \n",
		[]string{
			"uimgate.yaml:7: admin.listen: other machines can reach this address, and the admin token would be sent unencrypted: listen on 127.0.0.1, or set server.tls",
			"uimgate.yaml:7: admin.listen: uses the port of server.listen: choose another",
		},
	},
	"address of traces": {
		"…telemetry: {trace_url: 'https://traces.example/'}\n",
		[]string{"uimgate.yaml:6: telemetry.trace_url: is not valid: want an http or https URL with {trace_id}"},
	},
	"malformed address of traces": {
		"…telemetry: {trace_url: 'javascript:{trace_id}'}\n",
		[]string{"uimgate.yaml:6: telemetry.trace_url: is not valid: want an http or https URL with {trace_id}"},
	},
	"listener for probes": {
		"…server: {listen: '127.0.0.1:9', tls: {acme: {agree: true, http: ':10'}}}\ntelemetry: {listen: ':9'}\nadmin: {listen: '127.0.0.1:11'}\n",
		[]string{
			"uimgate.yaml:6: server.tls.acme: has no name for a certificate: set services[].hosts, or a public_url with a public name",
			"uimgate.yaml:7: telemetry.listen: uses the port of server.listen: choose another",
		},
	},
	"listeners for probes and a CA": {
		"…server: {tls: {acme: {agree: true, http: ':10'}}}\ntelemetry: {listen: ':10'}\n",
		[]string{
			"uimgate.yaml:6: server.tls.acme: has no name for a certificate: set services[].hosts, or a public_url with a public name",
			"uimgate.yaml:6: server.tls.acme.http: uses the port of telemetry.listen: choose another",
		},
	},
	"listener for probes without port": {
		"…telemetry: {listen: localhost}\n",
		[]string{
			"uimgate.yaml:6: telemetry.listen: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
		},
	},
	"control characters": {
		"…data: \"a\\0b\"\n",
		[]string{`uimgate.yaml:6: data: "a\x00b" is not valid: want text of at most 4096 bytes without control characters`},
	},
	"CRLF line ends": {
		"…\r\n# c\r\n\r\nadmin:\r\n  token: |\r\n    a b\r\npat:\r\n  ttl: x\r\n",
		[]string{
			"uimgate.yaml:10: admin.token: cannot be sent in a header: want at most 1024 visible ASCII characters without spaces",
			`uimgate.yaml:13: pat.ttl: "x" is not valid: want a duration such as 30s, 1h30m or 400d`,
		},
	},
	"listener without port": {
		"…server: {listen: localhost}\nadmin: {listen: 'a b:70000'}\n",
		[]string{
			"uimgate.yaml:6: server.listen: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
			"uimgate.yaml:7: admin.listen: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
		},
	},
	"reachable from outside": {
		"…server: {listen: ':8080'}\nadmin: {listen: '0.0.0.0:8081'}\n",
		[]string{
			"uimgate.yaml:2: services[0].public_url: is required, because server.listen is not a loopback address: set the https URL at which agents reach this service",
			"uimgate.yaml:7: admin.listen: other machines can reach this address, and the admin token would be sent unencrypted: listen on 127.0.0.1, or set server.tls",
		},
	},
	"public_url": {
		"…  public_url: http://shop.example\n", []string{"uimgate.yaml:6: services[0].public_url: must be https: agents send tokens to it"},
	},
	"invalid public_url": {
		"…  public_url: shop.example\n",
		[]string{"uimgate.yaml:6: services[0].public_url: the value is not valid: want an http:// or https:// URL without user, query and fragment"},
	},
	"proxies": {
		"…server: {trusted_proxies: [10.0.0.1/8, 0.0.0.0/0, proxy]}\n",
		[]string{
			`uimgate.yaml:6: server.trusted_proxies[0]: "10.0.0.1/8" is not valid: want a network such as 10.0.0.0/8, or an address`,
			"uimgate.yaml:6: warning: server.trusted_proxies[1]: trusts the forwarded addresses of any client: name the networks of your proxies",
			`uimgate.yaml:6: server.trusted_proxies[2]: "proxy" is not valid: want a network such as 10.0.0.0/8, or an address`,
		},
	},
	"certificate without key": {
		"…server: {tls: {cert: secret}}\n", []string{"uimgate.yaml:6: server.tls: has only one of cert and key: give both, or neither"},
	},
	"an invalid certificate": {
		"…server: {tls: {cert: secret, key: secret}}\n",
		[]string{"uimgate.yaml:6: server.tls: cannot load cert and key: tls: failed to find any PEM data in certificate input"},
	},
	"short admin token": {
		"…admin: {token: hunter2}\n",
		[]string{"uimgate.yaml:6: admin.token: is short enough to guess: use at least 16 random characters, or omit it, and uimgate creates one"},
	},
	"admin host with a port": {
		"…admin: {hosts: [metrics.example, 'metrics.example:8081']}\n",
		[]string{"uimgate.yaml:6: admin.hosts[1]: is not a host name: want a name such as uimgate.internal, without port"},
	},
	"number where a secret belongs": {
		"…admin: {token: 4711}\n", []string{"uimgate.yaml:6: admin.token: want text, got a number: put it in quotes"},
	},
}

func TestProblems(t *testing.T) {
	cases := maps.Clone(problemCases)
	maps.Copy(cases, serviceProblems)
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			c, problems := load(t, dir, strings.Replace(test.file, "…", five, 1), config.Overrides{Blocks: bindings.Blocks()})
			if c != nil {
				t.Error("got a Config despite errors")
			}
			got := texts(dir, problems)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], dir, "DIR")
				if strings.Contains(got[i], "hunter2") {
					t.Errorf("the problems contain a secret: %s", got[i])
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsOfFlagsNameTheFlag(t *testing.T) {
	dir := directory(t)
	for want, o := range map[string]config.Overrides{
		"--listen: server.listen: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address":            {Listen: "x"},
		"UIMGATE_ADMIN_LISTEN: admin.listen: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address": {Env: environment(map[string]string{"UIMGATE_ADMIN_LISTEN": "x"})},
		"UIMGATE_ADMIN_TOKEN: admin.token: cannot be sent in a header: want at most 1024 visible ASCII characters without spaces":               {Env: environment(map[string]string{"UIMGATE_ADMIN_TOKEN": "a b"})},
	} {
		_, problems := load(t, dir, five, o)
		if diff := cmp.Diff([]string{want}, texts(dir, problems)); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	}
}

func TestMissingFile(t *testing.T) {
	c, problems := config.Load(filepath.Join(t.TempDir(), "none.yaml"), config.Overrides{Blocks: bindings.Blocks(), Env: none})
	if c != nil || len(problems) != 1 || !strings.HasSuffix(problems[0].String(), "none.yaml: no such file or directory: "+
		"create one from an OpenAPI document with uimgate init, or name another file with -c") {
		t.Error(problems)
	}
}

// A small file can expand to a large one through aliases. Reading it must not take as long as the large one.
func TestAliasExpansionIsLimited(t *testing.T) {
	dir := directory(t)
	file := "services:\n- &s\n  hosts: [" + strings.Repeat("a,", 500) + "]\n" + strings.Repeat("- *s\n", 120)
	c, problems := load(t, dir, file, config.Overrides{Blocks: bindings.Blocks()})
	if c != nil || len(problems) != 101 || !strings.Contains(problems[100].Message, "more problems") {
		t.Errorf("%d problems", len(problems))
	}
}

func TestFileSizeLimits(t *testing.T) {
	dir := directory(t)
	if err := os.Truncate(filepath.Join(dir, "policy.json"), config.MaxPolicyFile+1); err != nil {
		t.Fatal(err)
	}
	_, problems := load(t, dir, five, config.Overrides{Blocks: bindings.Blocks()})
	want := []string{"uimgate.yaml:3: services[0].policy_file: policy.json is larger than the 16777216 bytes allowed"}
	if diff := cmp.Diff(want, texts(dir, problems)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}
