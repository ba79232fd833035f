package upstream_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/examples/shop/shopapi"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// The example shop returns the expected output for each intent of its agents.json.
func TestExampleShopRoutes(t *testing.T) {
	const key = "s3cret"
	shop, err := shopapi.New(shopapi.Config{APIKey: key, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(shop)
	defer server.Close()
	cfg := settings(t, server.URL)
	cfg.IdempotencyHeader, cfg.AuthHeaders = "Idempotency-Key", headers("X-Api-Key", key)
	u := open(t, cfg)
	c := shopCatalog(t)
	for _, tt := range []struct {
		intent, in, want string
		code             upstream.Code
	}{
		{
			"shop.example:search-products:v1", `{"query":"desk","category":"furniture","max_price":400.00}`,
			`{"products":[{"category":"furniture","currency":"EUR","id":"oak-desk","in_stock":true,"name":"Oak desk 140","price":349.00}],"total_results":1}`, "",
		},
		{
			"shop.example:product-details:v1", `{"product_id":"gel-pens"}`,
			`{"category":"stationery","currency":"EUR","description":"0.5 mm, six colours, quick to dry.","id":"gel-pens","name":"Gel pens, set of 6","price":11.40,"stock":90}`, "",
		},
		{"shop.example:product-details:v1", `{"product_id":"nope"}`, "", upstream.NotFound},
		{
			"shop.example:place-order:v1", `{"product_id":"gel-pens","quantity":2}`,
			`"order_id":"order-000001","product_id":"gel-pens","quantity":2,"status":"confirmed","total":22.80}`, "",
		},
		{"shop.example:place-order:v1", `{"product_id":"usb-hub"}`, "", upstream.Conflict},
	} {
		t.Run(tt.intent+tt.in, func(t *testing.T) {
			answer, outcome, err := callShop(t, u, c, tt.intent, tt.in)
			if tt.code != "" {
				rejected, ok := errors.AsType[*upstream.RejectedError](err)
				if !ok || rejected.Code != tt.code || rejected.Message == "" || outcome != store.Failed {
					t.Fatalf("got %q, %v", outcome, err)
				}
				return
			}
			if err != nil {
				t.Fatal(outcome, err)
			}
			if !strings.Contains(answer, tt.want) {
				t.Errorf("%s, want %s", answer, tt.want)
			}
		})
	}
}

func callShop(t *testing.T, u *upstream.Upstream, c *intents.Catalog, uid, in string) (string, store.Outcome, error) {
	t.Helper()
	parsed, err := intents.ParseUID(uid)
	if err != nil {
		t.Fatal(err)
	}
	intent, ok := c.Lookup(parsed)
	if !ok {
		t.Fatal("the catalogue does not have the intent")
	}
	e := upstream.Endpoint{IntentUID: uid, URL: intent.Endpoint.URL, Method: intent.Endpoint.Method, ContentType: intent.Endpoint.ContentType}
	for _, p := range intent.Inputs {
		e.Parameters = append(e.Parameters, p.Name)
	}
	route, err := u.Route(e)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := strictjson.DecodeObject([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	filled, violations := intent.Validate(tree)
	if len(violations) > 0 {
		t.Fatalf("got %v, want none", violations)
	}
	p, refused := route.Prepare(filled)
	if len(refused) > 0 {
		t.Fatalf("got %v, want none", refused)
	}
	answer, outcome, err := u.Call(t.Context(), p, upstream.Identity{AgentID: "agent-1"}, granted(t.Name(), alive))
	if err != nil {
		return "", outcome, err
	}
	body, err := answer.Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := intent.Fit(body, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fitted.Output)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), outcome, nil
}

func shopCatalog(t *testing.T) *intents.Catalog {
	t.Helper()
	document, err := os.ReadFile("../../../examples/shop/agents.json")
	if err != nil {
		t.Fatal(err)
	}
	c, problems := intents.Parse(document, intents.Options{Strict: true})
	if problems.Failed() {
		t.Fatal(problems)
	}
	return c
}
