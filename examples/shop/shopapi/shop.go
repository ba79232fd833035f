// Package shopapi implements the HTTP API of a small shop: search, product details and orders. It does not use UIM; it is an example of a
// service behind a gateway.
//
//	shop, err := shopapi.New(shopapi.Config{Now: time.Now})
//	http.ListenAndServe("127.0.0.1:9000", shop)
package shopapi

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Currency is the currency of all prices.
const Currency = "EUR"

//go:embed products.json
var catalogue []byte

// A Config configures the shop.
type Config struct {
	// APIKey, if it is not empty, must be sent with each request in the X-Api-Key header.
	APIKey string
	// Now returns the time for new orders. Required.
	Now func() time.Time
}

// A Product is an article of the shop.
type Product struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Category    string `json:"category"`
	Price       Cents  `json:"price"`
	Stock       int    `json:"stock"`
	Description string `json:"description"`
}

// An Order is a customer's purchase.
type Order struct {
	ID        string    `json:"id"`
	ProductID string    `json:"product_id"`
	Quantity  int       `json:"quantity"`
	UnitPrice Cents     `json:"unit_price"`
	Total     Cents     `json:"total"`
	Currency  string    `json:"currency"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
}

// Shop serves the API. It keeps stock and orders in memory. It is safe for concurrent use.
type Shop struct {
	cfg Config
	mux *http.ServeMux

	mu       sync.Mutex
	products []Product // in the order of the catalogue
	place    map[string]int
	placed   int // the number of orders so far
	keys     map[string]placement
	oldest   []string // idempotency keys, oldest first
}

// A placement is an order that was placed under an idempotency key, and its request.
type placement struct {
	request orderRequest
	order   Order
}

// maxKeys is the maximum number of idempotency keys that are remembered.
const maxKeys = 10_000

// New returns a shop that has its whole catalogue in stock.
func New(cfg Config) (*Shop, error) {
	if cfg.Now == nil {
		return nil, errors.New("Config.Now is required")
	}
	s := &Shop{cfg: cfg, mux: http.NewServeMux(), place: map[string]int{}, keys: map[string]placement{}}
	if err := json.Unmarshal(catalogue, &s.products); err != nil {
		return nil, fmt.Errorf("reading the catalogue: %w", err)
	}
	for i, p := range s.products {
		s.place[p.ID] = i
	}
	s.mux.HandleFunc("GET /products", s.search)
	s.mux.HandleFunc("GET /products/{id}", s.details)
	s.mux.HandleFunc("POST /orders", s.order)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, "there is no such page") })
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admits(r) {
		fail(w, http.StatusUnauthorized, "a valid X-Api-Key is required")
		return
	}
	s.mux.ServeHTTP(w, r)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may have disconnected; nothing else can receive the error.
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]string{"error": message})
}

// Cents is an amount of money in hundredths. In JSON it is a number with two decimal places.
type Cents int64

func (c Cents) String() string { return fmt.Sprintf("%d.%02d", int64(c)/100, int64(c)%100) }

// MarshalJSON returns a number such as 24.90.
func (c Cents) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalJSON decodes a number or a string such as "24.90".
func (c *Cents) UnmarshalJSON(b []byte) error {
	parsed, err := parseCents(strings.Trim(string(b), `"`))
	*c = parsed
	return err
}
