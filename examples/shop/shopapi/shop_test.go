package shopapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/examples/shop/shopapi"
)

func open(t *testing.T, key string) *shopapi.Shop {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	s, err := shopapi.New(shopapi.Config{APIKey: key, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, s *shopapi.Shop, method, target, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s %s: content type %q, want %q", method, target, got, "application/json")
	}
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, method, target, body string
		status                     int
		want                       string // a part of the answer
	}{
		{
			"search", "GET", "/products?query=LAMP+dimmable", "", 200,
			`{"products":[{"id":"desk-lamp","name":"Desk lamp Lumen","category":"lighting","price":24.90,"currency":"EUR","in_stock":true}],"total":1}`,
		},
		{
			"search by category and price", "GET", "/products?category=furniture&min_price=100&max_price=1.2e2", "", 200,
			`{"products":[{"id":"bookshelf",`,
		},
		{"search with a limit", "GET", "/products?limit=2.0", "", 200, `"total":20}`},
		{"search finds nothing", "GET", "/products?query=zeppelin", "", 200, `{"products":[],"total":0}`},
		{"out of stock is shown", "GET", "/products?query=hub", "", 200, `"in_stock":false`},
		{"bad price", "GET", "/products?min_price=NaN", "", 400, `{"error":"min_price and max_price must be amounts such as 19.90"}`},
		{"negative price", "GET", "/products?max_price=-1", "", 400, `"error"`},
		{"bad limit", "GET", "/products?limit=51", "", 400, `{"error":"limit must be 1 to 50"}`},
		{"long query", "GET", "/products?query=" + strings.Repeat("x", 201), "", 400, "longer than 200"},
		{"details", "GET", "/products/laptop-13", "", 200, `"price":1149.00,"stock":5,`},
		{"details in a currency", "GET", "/products/laptop-13", "", 200, `"currency":"EUR"`},
		{"unknown product", "GET", "/products/nope", "", 404, `{"error":"there is no product with this id"}`},
		{"unknown page", "GET", "/nope", "", 404, `{"error":"there is no such page"}`},
		{
			"order", "POST", "/orders", `{"product_id":"stool","quantity":3}`, 201,
			`{"id":"order-000001","product_id":"stool","quantity":3,"unit_price":49.00,"total":147.00,"currency":"EUR","status":"confirmed","created_at":"2026-01-02T03:04:05Z"}`,
		},
		{"order of 2.0", "POST", "/orders", `{"product_id":"stool","quantity":2.0}`, 201, `"quantity":2,`},
		{"order of a half", "POST", "/orders", `{"product_id":"stool","quantity":0.5}`, 400, "must be a JSON object with"},
		{"order of nothing", "POST", "/orders", `{"product_id":"stool"}`, 422, "quantity must be 1 to 10"},
		{"order within a total", "POST", "/orders", `{"product_id":"stool","quantity":3,"max_total":147}`, 201, `"total":147.00`},
		{
			"order beyond a total", "POST", "/orders", `{"product_id":"stool","quantity":3,"max_total":146.99}`, 409,
			`{"error":"the total is 147.00 EUR, and max_total is 146.99"}`,
		},
		{"total below zero", "POST", "/orders", `{"product_id":"stool","quantity":1,"max_total":-1}`, 400, "must be a JSON object with"},
		{"order of too many", "POST", "/orders", `{"product_id":"stool","quantity":11}`, 422, "quantity"},
		{"order beyond the stock", "POST", "/orders", `{"product_id":"standing-desk","quantity":5}`, 409, `{"error":"only 4 in stock"}`},
		{"order of what there is not", "POST", "/orders", `{"product_id":"x","quantity":1}`, 404, "no product"},
		{"order with unknown members", "POST", "/orders", `{"product_id":"stool","quantity":1,"price":0}`, 400, "must be a JSON object with"},
		{"two orders", "POST", "/orders", `{"product_id":"stool","quantity":1}{}`, 400, "extra data"},
		{"long note", "POST", "/orders", `{"product_id":"stool","quantity":1,"gift_note":"` + strings.Repeat("é", 201) + `"}`, 422, "gift_note"},
		{"endless order", "POST", "/orders", `{"gift_note":"` + strings.Repeat("x", 1<<20), 413, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, got := ask(t, open(t, ""), tt.method, tt.target, tt.body)
			if status != tt.status || !strings.Contains(got, tt.want) || !json.Valid([]byte(got)) {
				t.Errorf("%d %s, want %d with %s", status, got, tt.status, tt.want)
			}
		})
	}
}

func TestKeyIsRequired(t *testing.T) {
	s := open(t, "s3cret")
	for key, want := range map[string]int{"": 401, "wrong": 401, "s3cret ": 200, "s3cret": 200, "s3cre": 401} {
		status, body := ask(t, s, "GET", "/products", "", "X-Api-Key", strings.TrimSpace(key))
		if status != want || strings.Contains(body, "s3cret") {
			t.Errorf("%q: %d %s, want %d", key, status, body, want)
		}
	}
}

func TestOneOrderPerKey(t *testing.T) {
	s := open(t, "")
	order := `{"product_id":"office-chair","quantity":2}`
	_, first := ask(t, s, "POST", "/orders", order, "Idempotency-Key", "k1")
	if _, again := ask(t, s, "POST", "/orders", order, "Idempotency-Key", "k1"); again != first {
		t.Error(cmp.Diff(first, again))
	}
	if status, body := ask(t, s, "POST", "/orders", `{"product_id":"stool","quantity":2}`, "Idempotency-Key", "k1"); status != 409 {
		t.Errorf("got %d %s; want 409", status, body)
	}
	if _, other := ask(t, s, "POST", "/orders", order, "Idempotency-Key", "k2"); other == first {
		t.Error("another key got the same order")
	}
	if _, body := ask(t, s, "GET", "/products/office-chair", ""); !strings.Contains(body, `"stock":5,`) { // of 9
		t.Errorf("got %q, want a text that contains %q", body, `"stock":5,`)
	}
}

// Many concurrent customers never buy more than is in stock.
func TestStockIsNeverOversold(t *testing.T) {
	s := open(t, "")
	var sold atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders",
					strings.NewReader(`{"product_id":"floor-lamp","quantity":1}`))
				r.Header.Set("Idempotency-Key", fmt.Sprint(i, j))
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code == http.StatusCreated {
					sold.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if sold.Load() != 12 {
		t.Errorf("%d of 12 lamps were sold", sold.Load())
	}
}
