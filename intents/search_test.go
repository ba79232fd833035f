package intents_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
)

func market(t *testing.T) *intents.Catalog {
	t.Helper()
	i := func(uid, name, description, category, tags, more string) string {
		return fmt.Sprintf(`{"intent_uid": %q, "intent_name": %q, "description": %q, "category": %q, "tags": [%s]%s}`, uid, name,
			description, category, tags, more)
	}
	return strict(t, `{"service-info": {"name": "Market"}, "intents": [`+strings.Join([]string{
		i("a.example:search-products:v1", "SearchProducts", "Find goods by words", "e-commerce", `"search", "Products"`, ""),
		i("a.example:search-products:v2", "SearchProducts", "Find goods by words, newer", "e-commerce", `"search", "products"`, ""),
		i("a.example:place-order:v1", "PlaceOrder", "Buy the products in the cart", "e-commerce", `"order"`, ""),
		i("b.example:book-flight:v1", "BookFlight", "Book a flight", "travel", `"flights", "order"`, ""),
		i("b.example:old-flight:v1", "OldFlight", "Book a flight", "travel", `"flights"`,
			`, "retired": true, "replaced_by": "b.example:book-flight:v1"`),
	}, ",")+`]}`)
}

func TestSearch(t *testing.T) {
	c := market(t)
	for name, tt := range map[string]struct {
		q    intents.Query
		want string
	}{
		"all except retired": {
			intents.Query{},
			"a.example:search-products:v1 a.example:search-products:v2 a.example:place-order:v1 b.example:book-flight:v1",
		},
		"namespace":                 {intents.Query{Namespace: "B.example"}, "b.example:book-flight:v1"},
		"category":                  {intents.Query{Category: "Travel"}, "b.example:book-flight:v1"},
		"uid":                       {intents.Query{UID: "a.example:search-products:v2"}, "a.example:search-products:v2"},
		"uid without version":       {intents.Query{UID: "a.example:search-products"}, "a.example:search-products:v1 a.example:search-products:v2"},
		"uid prefix is not a match": {intents.Query{UID: "a.example:search"}, ""},
		"intent_name":               {intents.Query{IntentName: "placeorder"}, "a.example:place-order:v1"},
		"service_name": {
			intents.Query{ServiceName: "mark"},
			"a.example:search-products:v1 a.example:search-products:v2 a.example:place-order:v1 b.example:book-flight:v1",
		},
		"another service":   {intents.Query{ServiceName: "shop"}, ""},
		"description words": {intents.Query{Description: "words newer"}, "a.example:search-products:v2"},
		"all tags":          {intents.Query{Tags: []string{"flights", "ORDER"}}, "b.example:book-flight:v1"},
		"not all tags":      {intents.Query{Tags: []string{"flights", "search"}}, ""},
		"filters are ANDed": {intents.Query{Category: "e-commerce", Tags: []string{"order"}}, "a.example:place-order:v1"},
		"name before description": {
			intents.Query{Text: "products"},
			"a.example:search-products:v1 a.example:search-products:v2 a.example:place-order:v1",
		},
		"more words first": {intents.Query{Text: "order flight"}, "b.example:book-flight:v1 a.example:place-order:v1"},
		"prefixes of words": {
			intents.Query{Text: "prod"},
			"a.example:search-products:v1 a.example:search-products:v2 a.example:place-order:v1",
		},
		"ranked and filtered": {intents.Query{Text: "order", Namespace: "a.example"}, "a.example:place-order:v1"},
		"endings of words":    {intents.Query{Text: "booking flights"}, "b.example:book-flight:v1"},
		"words used alike":    {intents.Query{Text: "reserve"}, "b.example:book-flight:v1"},
		"unimportant words":   {intents.Query{Text: "the flight for me"}, "b.example:book-flight:v1"},
		"unknown word":        {intents.Query{Text: "zebra"}, ""},
		"punctuation only":    {intents.Query{Text: "?!"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, i := range c.Search(tt.q).Intents {
				got = append(got, i.UID.String())
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestPages(t *testing.T) {
	c := market(t)
	p := c.Search(intents.Query{Page: 2, PageSize: 3})
	wire, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Intents    []map[string]any
		Pagination map[string]int
	}
	if err := json.Unmarshal(wire, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Intents) != 1 || got.Intents[0]["intent_uid"] != "b.example:book-flight:v1" ||
		!cmp.Equal(got.Pagination, map[string]int{"total_results": 4, "total_pages": 2, "current_page": 2, "page_size": 3}) {
		t.Errorf("got %s", wire)
	}
	if p := c.Search(intents.Query{PageSize: 101}); p.PageSize != 100 || !p.Clamped || p.CurrentPage != 1 {
		t.Errorf("got %+v", p)
	}
	if p := c.Search(intents.Query{}); p.PageSize != 20 || p.Clamped {
		t.Errorf("got %+v", p)
	}
	beyond, err := json.Marshal(c.Search(intents.Query{Page: math.MaxInt}))
	if err != nil || !strings.HasPrefix(string(beyond), `{"intents":[],`) {
		t.Errorf("got %s", beyond)
	}
}

func TestBriefViewIsBounded(t *testing.T) {
	var list []string
	for n := range 25 {
		list = append(list, fmt.Sprintf(`{"intent_uid": "shop.example:intent-%02d:v1", "intent_name": %q, "description": %q, "price": "0.01 USD",
			"safe": %t, "input_parameters": [{"name": "x", "type": "string", "description": %q}], "tags": ["t"]}`, n, strings.Repeat("N", 100),
			strings.Repeat([]string{"words & <signs> ", "ä", "語", `"\`, "x\n\u2028"}[n%5], 400), n%2 == 0, strings.Repeat("d", 900)))
	}
	c := strict(t, `{"intents": [`+strings.Join(list, ",")+`]}`)
	wire, err := c.Search(intents.Query{Brief: true}).MarshalJSON()
	if err != nil || len(wire) >= 20_000 {
		t.Fatalf("%d bytes of 20 intents, %v", len(wire), err)
	}
	var got struct {
		View    string
		Intents []map[string]any
	}
	if err := json.Unmarshal(wire, &got); err != nil || got.View != "brief" || len(got.Intents) != 20 {
		t.Fatalf("got %v %q %d", err, got.View, len(got.Intents))
	}
	for n, in := range got.Intents {
		description, _ := in["description"].(string)
		if !strings.HasSuffix(description, "…") || strings.HasSuffix(description, " …") || utf8.RuneCountInString(description) < 100 ||
			!strings.HasPrefix(c.Intents()[n].Description, strings.TrimSuffix(description, "…")) {
			t.Errorf("%d: %q", n, description)
		}
		delete(in, "description")
		if diff := cmp.Diff(map[string]any{
			"intent_uid": fmt.Sprintf("shop.example:intent-%02d:v1", n), "intent_name": strings.Repeat("N", 100), "price": "0.01 USD",
			"safe": n%2 == 0,
		}, in); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	}
	full, err := c.Search(intents.Query{}).MarshalJSON()
	if err != nil || !strings.HasPrefix(string(full), `{"intents":[`) || !strings.Contains(string(full), strings.Repeat("d", 900)) {
		t.Errorf("got %v %.300s", err, full)
	}
	short, err := market(t).Search(intents.Query{UID: "b.example:book-flight:v1", Brief: true}).MarshalJSON()
	const flight = `{"intent_uid":"b.example:book-flight:v1","intent_name":"BookFlight","description":"Book a flight","safe":false}`
	if err != nil || !strings.Contains(string(short), flight) {
		t.Errorf("got %v %s", err, short)
	}
}

func TestParseQuery(t *testing.T) {
	q, err := intents.ParseQuery(map[string][]string{
		"query": {" a b "}, "tags": {"x, y,", "z"}, "page": {"2"}, "page_size": {"500"},
		"other": {"1", "2"},
	})
	want := intents.Query{Text: "a b", Tags: []string{"x", "y", "z"}, Page: 2, PageSize: 500}
	if diff := cmp.Diff(want, q); err != nil || diff != "" {
		t.Errorf("got %v %s; want nil, an empty string", err, diff)
	}
	for view, brief := range map[string]bool{"": false, "brief": true, "full": false} {
		if q, err := intents.ParseQuery(map[string][]string{"view": {view}}); err != nil || q.Brief != brief {
			t.Errorf("view=%s: %v %v; want %v, nil", view, q.Brief, err, brief)
		}
	}
	for _, bad := range []map[string][]string{
		{"page": {"0"}},
		{"page": {"x"}},
		{"page_size": {"-1"}},
		{"page": {"99999999999999999999"}},
		{"uid": {"a", "b"}},
		{"query": {strings.Repeat("x", 501)}},
		{"query": {"\xff"}},
		{"view": {"short"}},
		{"view": {"full", "full"}},
	} {
		if q, err := intents.ParseQuery(bad); !errors.Is(err, intents.ErrQuery) || !cmp.Equal(q, intents.Query{}) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestVersions(t *testing.T) {
	got := market(t).Versions(intents.UID{Namespace: "a.example", Name: "search-products"})
	if len(got) != 2 || got[0].Version != "v1" || got[1].Version != "v2" {
		t.Errorf("got %+v; want length 2, [0].Version %q and [1].Version %q", got, "v1", "v2")
	}
}
