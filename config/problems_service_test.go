package config_test

var serviceProblems = map[string]problemCase{
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
			"uimgate.yaml:2: warning: services[0].public_url: its host, 127.0.0.1, is not in hosts: agents that follow published URLs do not reach this service",
			`uimgate.yaml:6: services[0].hosts[0]: "*.example": wildcards are not supported: list the hosts`,
			`uimgate.yaml:6: services[0].hosts[1]: "https://a" is not a host name: omit scheme, port and path`,
			`uimgate.yaml:6: services[0].hosts[2]: "a:80" is not a host name: omit scheme, port and path`,
			`uimgate.yaml:6: services[0].hosts[3]: "ö.example" is not a host name: want letters, digits, - and ., and other scripts in their xn-- form`,
			`uimgate.yaml:6: services[0].hosts[5]: host "a" already belongs to services[0]: give each service a different one`,
		},
	},
	"MCP servers": {
		`services:
- agents_file: agents.json
  policy_file: policy.json
  publish_upstream: true
  upstream: {url: http://a, mcp: {url: "http://b/mcp", command: tools, dir: x}, execute: /x, auth: {query: {a: b}}, reconcile: {url: /x, done: "200", not_done: "404"}}
- id: b
  hosts: [b.example]
  public_url: https://b.example
  agents_file: agents.json
  policy_file: policy.json
  upstream: {mcp: {command: tools, env: {A: 1, "B=": x, C: [1]}, secret_env: {A: x}}, auth: {basic: "u:password"}}
- id: c
  hosts: [c.example]
  public_url: https://c.example
  agents_file: agents.json
  policy_file: policy.json
  upstream: {mcp: {url: "https://b/mcp", env: {A: x}}}
`,
		[]string{
			"uimgate.yaml:2: services[0].id: is required if there are several services; if this service had no id before, set id: default to keep its agents and accounts",
			"uimgate.yaml:2: services[0].hosts: is required if there are several services: the host of a request selects the service",
			"uimgate.yaml:4: services[0].publish_upstream: has no meaning with upstream.mcp: agents cannot call the MCP server themselves",
			"uimgate.yaml:5: services[0].upstream.url: is for HTTP APIs: set either url or mcp",
			"uimgate.yaml:5: services[0].upstream.mcp.dir: is not an absolute path",
			"uimgate.yaml:5: services[0].upstream.execute: is for HTTP APIs: with mcp, each intent needs an endpoint whose path ends with /tools/ and the name of a tool",
			"uimgate.yaml:5: services[0].upstream.auth.query: is for HTTP APIs: a call to a tool has no query",
			"uimgate.yaml:5: services[0].upstream.reconcile: is for HTTP APIs: an MCP server cannot report the outcome of a call",
			`uimgate.yaml:11: services[1].upstream.mcp.env["B="]: is not the name of an environment variable`,
			`uimgate.yaml:11: services[1].upstream.mcp.env["C"]: cannot be an environment variable: want text, a number or a boolean`,
			`uimgate.yaml:11: services[1].upstream.mcp.secret_env["A"]: is also in env: give one value`,
			"uimgate.yaml:11: services[1].upstream.auth: is for requests over HTTP: give credentials to the command in mcp.secret_env",
			"uimgate.yaml:17: services[2].upstream.mcp.command: is required with args, dir, env and secret_env",
		},
	},
	"former ids": {
		"…  id: now\n  formerly: now\nunserved: [now, A, gone]\n",
		[]string{
			`uimgate.yaml:7: services[0].formerly: "now" is now the id of services[0], which keeps its state`,
			`uimgate.yaml:8: unserved[0]: "now" is the id or the former id of a service in this file: omit it here`,
			`uimgate.yaml:8: unserved[1]: "A" is not a service id`,
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
			"uimgate.yaml:2: services[0].id: is required if there are several services; if this service had no id before, set id: default to keep its agents and accounts",
			"uimgate.yaml:2: services[0].hosts: is required if there are several services: the host of a request selects the service",
			"uimgate.yaml:6: services[1].id: is required if there are several services; if this service had no id before, set id: default to keep its agents and accounts",
			"uimgate.yaml:6: services[1].hosts: is required if there are several services: the host of a request selects the service",
			`uimgate.yaml:8: services[3].id: id "one" already belongs to services[2]: give each service a different one`,
			`uimgate.yaml:8: services[3].hosts[0]: host "a.example" already belongs to services[2]: give each service a different one`,
			`uimgate.yaml:8: services[3].issuer: issuer "i" already belongs to services[2]: give each service a different one`,
		},
	},
	"service": {
		"…  id: My Shop\n  issuer: a b\n  assignee: everyone\n  parties: {'urn:a': , 'urn:b': {agent_id: b, key: k}}\n  intents: {buy: {}, 'a:b:c': {agreement: old}}\n",
		[]string{
			`uimgate.yaml:6: services[0].id: "My Shop" is not a service id: want lower-case letters, digits, and . _ - between them, at most 63`,
			"uimgate.yaml:7: services[0].issuer: is not an issuer: want a name or URL without spaces, at most 253 characters",
			`uimgate.yaml:8: services[0].assignee: "everyone" is not valid: want mapped or anyone`,
			`uimgate.yaml:9: services[0].parties["urn:a"].agent_id: is required: 1 to 200 visible ASCII characters. Reserved for this party.`,
			`uimgate.yaml:9: services[0].parties["urn:b"].key: is not a key thumbprint: want the 43 base64url characters of RFC 7638, as uimgate agent keygen prints them`,
			`uimgate.yaml:10: services[0].intents["buy"]: the key is not an intent uid: want namespace:name:version`,
			`uimgate.yaml:10: services[0].intents["a:b:c"].agreement: "old" is not valid: want any or fresh`,
		},
	},
	"one key, two agents": {
		"…  parties: {'urn:a': {agent_id: b, key: " + jkt + "}}\npat: {allow: [{id: a, key: " + jkt + "}]}\n",
		[]string{`uimgate.yaml:6: services[0].parties["urn:a"].key: the key already belongs to agent "a": a key can have only one agent id`},
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
			`uimgate.yaml:6: services[0].upstream.execute: "run" is not a path: want one such as /execute, without query`,
			`uimgate.yaml:7: services[0].upstream.timeout: "0s" is less than the minimum of 1ms`,
			"uimgate.yaml:8: services[0].upstream.idempotency_header: is not a header name: want letters, digits and -",
			"uimgate.yaml:9: services[0].upstream.auth: sets the Authorization header twice: give one value",
			`uimgate.yaml:12: services[0].upstream.breaker.failures: "0" is less than the minimum of 1`,
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
		[]string{"uimgate.yaml:2: services[0].upstream.url: is required: Base URL, such as http://127.0.0.1:9000. It replaces the scheme and the host of each intent's endpoint, and its path precedes that of the endpoint."},
	},
	"credential": {
		"…    auth: {header: 'hunter2'}\n",
		[]string{`uimgate.yaml:6: services[0].upstream.auth.header: want "Name: value", on one line`},
	},
	"credential without name": {
		"…    auth: {header: 'hunter 2: x'}\n",
		[]string{`uimgate.yaml:6: services[0].upstream.auth.header: want "Name: value": the text before the colon is not a header name`},
	},
	"credential in a reserved header": {
		"…    auth: {header: 'uim-agent-id: x'}\n    idempotency_header: content-length\n",
		[]string{
			"uimgate.yaml:6: services[0].upstream.auth.header: the Uim-Agent-Id header is set by the gateway itself: use another",
			"uimgate.yaml:7: services[0].upstream.idempotency_header: the Content-Length header is set by the gateway itself: use another",
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
			"uimgate.yaml:6: services[0].upstream.auth: sets the X-Key header twice: give one value",
			`uimgate.yaml:8: services[0].upstream.auth.headers["Host"]: the Host header is set by the gateway itself: use another`,
			`uimgate.yaml:8: services[0].upstream.auth.headers["X-List"]: cannot be in a header: want text or a number, on one line`,
			`uimgate.yaml:9: services[0].upstream.auth.query["key"]: cannot be in a query: want text, a number, true or false, or a list of them`,
			`uimgate.yaml:9: services[0].upstream.auth.query[""]: does not name a place: want a parameter, header:NAME, query:NAME or body:/pointer, at most 256 bytes`,
			`uimgate.yaml:10: services[0].upstream.auth.body["/list/0"]: points into a list: set the whole list as the value of its member`,
			"uimgate.yaml:11: services[0].upstream.auth.oauth2.client_id: is required with token_url",
			"uimgate.yaml:11: services[0].upstream.auth.oauth2.client_secret: is required with token_url",
			"uimgate.yaml:11: services[0].upstream.auth.oauth2.token_url: must be https: the client secret is sent to it",
			`uimgate.yaml:11: services[0].upstream.auth.oauth2.scopes[0]: is not a scope: want visible ASCII without " and \`,
		},
	},
	"a bearer token beside another credential": {
		"…    auth: {basic: 'u:hunter2', oauth2: {token_url: http://127.0.0.1/token, client_id: c, client_secret: hunter2}}\n",
		[]string{"uimgate.yaml:6: services[0].upstream.auth: sets the Authorization header, which oauth2 sets too: give only one of them"},
	},
	"oauth2 without token_url": {
		"…    auth: {oauth2: {client_id: c}}\n",
		[]string{"uimgate.yaml:6: services[0].upstream.auth.oauth2.token_url: is required with client_id, client_secret or scopes"},
	},
}
