package daemon_test

import (
	"errors"

	"github.com/uimgate/uimgate/internal/daemon"
)

func asProblems(err error, target **daemon.ProblemsError) bool { return errors.As(err, target) }

const testConfig = `
server: {listen: 127.0.0.1:0, per_address: 1000000/second, issue_per_address: 100000/minute}
admin: {listen: 127.0.0.1:0, token: ` + adminToken + `}
billing: {credit: 1 EUR, newcomers: 1 EUR}
pat: {limit: 10000/day}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM, timeout: 2s, max_response: 64KiB, auth: {header: "X-Api-Key: upstream-secret-canary"}, breaker: {failures: 1000, open_for: 100ms}}
  intents: {"shop.example:place-order:v1": {proof: optional}}
`

// Search is free up to 1,000 calls an hour. Details are free, and limited only by the PAT. Orders cost 0.25 EUR, and signed orders need a
// proof.
const testPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"uid": "https://shop.example/policy/1#search", "target": "shop.example:search-products:v1", "action": "execute",
     "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 1000, "unit": "hour"}]},
    {"target": "shop.example:product-details:v1", "action": "execute"},
    {"uid": "https://shop.example/policy/1#order", "target": "shop.example:place-order:v1", "action": "execute",
     "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ],
  "prohibition": [{"target": "shop.example:search-products:v1", "action": "exceedRateLimit"}]
}`

const testAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:search-products:v1", "intent_name": "SearchProducts", "description": "Search products.",
     "input_parameters": [
       {"name": "query", "type": "string", "required": true, "minLength": 2, "maxLength": 100},
       {"name": "category", "type": "string", "enum": ["home", "garden"]},
       {"name": "max_price", "type": "number", "minimum": 0, "maximum": 100000},
       {"name": "since", "type": "string", "format": "date"},
       {"name": "page", "type": "integer", "minimum": 1, "default": 1}],
     "output_parameters": [{"name": "products", "type": "array", "required": true}, {"name": "total", "type": "integer"}],
     "endpoint": {"url": "https://shop.example/products", "method": "GET"}, "tags": ["shop", "search"], "category": "shopping"},
    {"intent_uid": "shop.example:product-details:v1", "intent_name": "ProductDetails", "description": "One product.",
     "input_parameters": [{"name": "id", "type": "string", "required": true}],
     "output_parameters": [{"name": "id", "type": "string", "required": true}, {"name": "name", "type": "string"}],
     "endpoint": {"url": "https://shop.example/products/{id}", "method": "GET"}},
    {"intent_uid": "shop.example:place-order:v1", "intent_name": "PlaceOrder", "description": "Order a product.",
     "input_parameters": [
       {"name": "product_id", "type": "string", "required": true},
       {"name": "quantity", "type": "integer", "minimum": 1, "maximum": 99999999999999999999, "default": 1}],
     "output_parameters": [{"name": "order_id", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}},
    {"intent_uid": "shop.example:old-search:v1", "intent_name": "OldSearch", "description": "Gone.", "retired": true,
     "replaced_by": "shop.example:search-products:v1", "input_parameters": [],
     "endpoint": {"url": "https://shop.example/old", "method": "GET"}}
  ]
}`

const (
	search  = "shop.example:search-products:v1"
	details = "shop.example:product-details:v1"
	order   = "shop.example:place-order:v1"
)
