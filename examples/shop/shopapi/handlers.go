package shopapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
)

const (
	maxBody     = 64 << 10
	maxQuery    = 200
	maxQuantity = 10
	maxNote     = 200
	maxKey      = 255
	usualLimit  = 10
	maxLimit    = 50
	maxCents    = 100_000_000
)

func (s *Shop) admits(r *http.Request) bool {
	if s.cfg.APIKey == "" {
		return true
	}
	// Both keys are hashed, so that the duration of the comparison does not depend on the length of the key.
	want, got := sha256.Sum256([]byte(s.cfg.APIKey)), sha256.Sum256([]byte(r.Header.Get("X-Api-Key")))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// A hit is a product in a search result.
type hit struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Price    Cents  `json:"price"`
	Currency string `json:"currency"`
	InStock  bool   `json:"in_stock"`
}

// search handles GET /products?query=&category=&min_price=&max_price=&limit=.
func (s *Shop) search(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	words := strings.Fields(strings.ToLower(q.Get("query")))
	lowest, errLow := price(q.Get("min_price"), 0)
	highest, errHigh := price(q.Get("max_price"), maxCents)
	limit, errLimit := number(q.Get("limit"), usualLimit, 1, maxLimit)
	switch {
	case len(q.Get("query")) > maxQuery:
		fail(w, http.StatusBadRequest, fmt.Sprintf("query is longer than %d characters", maxQuery))
		return
	case errLow != nil || errHigh != nil:
		fail(w, http.StatusBadRequest, "min_price and max_price must be amounts such as 19.90")
		return
	case errLimit != nil:
		fail(w, http.StatusBadRequest, fmt.Sprintf("limit must be 1 to %d", maxLimit))
		return
	}
	category := q.Get("category")
	products, total := []hit{}, 0
	s.mu.Lock()
	for _, p := range s.products {
		if (category != "" && p.Category != category) || p.Price < lowest || p.Price > highest || !p.matches(words) {
			continue
		}
		total++
		if len(products) < limit {
			products = append(products, hit{p.ID, p.Name, p.Category, p.Price, Currency, p.Stock > 0})
		}
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"products": products, "total": total})
}

func (p Product) matches(words []string) bool {
	text := strings.ToLower(p.Name + " " + p.Category + " " + p.Description)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// details handles GET /products/{id}.
func (s *Shop) details(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	i, ok := s.place[r.PathValue("id")]
	var p Product
	if ok {
		p = s.products[i]
	}
	s.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, "there is no product with this id")
		return
	}
	answer(w, http.StatusOK, struct {
		Product
		Currency string `json:"currency"`
	}{p, Currency})
}

type orderRequest struct {
	ProductID string `json:"product_id"`
	Quantity  pieces `json:"quantity"`
	GiftNote  string `json:"gift_note"`
	MaxTotal  Cents  `json:"max_total"` // zero: the customer pays any total
}

// pieces is an integer in any notation: in JSON Schema, 2 and 2.0 are the same integer.
type pieces int

// UnmarshalJSON rejects a number that is not an integer.
func (p *pieces) UnmarshalJSON(text []byte) error {
	var n float64
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	if n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return errors.New("the quantity is not an integer")
	}
	*p = pieces(n)
	return nil
}

// order handles POST /orders. With an Idempotency-Key, a repeated request returns the same order.
func (s *Shop) order(w http.ResponseWriter, r *http.Request) {
	want, status, problem := readOrder(w, r)
	if problem != "" {
		fail(w, status, problem)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		fail(w, http.StatusBadRequest, fmt.Sprintf("Idempotency-Key is longer than %d characters", maxKey))
		return
	}
	order, status, problem := s.take(want, key)
	if problem != "" {
		fail(w, status, problem)
		return
	}
	w.Header().Set("Location", "/orders/"+order.ID)
	answer(w, http.StatusCreated, order)
}

func readOrder(w http.ResponseWriter, r *http.Request) (want orderRequest, status int, problem string) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(&want); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return want, http.StatusRequestEntityTooLarge, "the order is too long"
		}
		return want, http.StatusBadRequest, "the order must be a JSON object with product_id, quantity, gift_note and max_total"
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return want, http.StatusBadRequest, "there is extra data after the order"
	}
	if want.Quantity < 1 || want.Quantity > maxQuantity {
		return want, http.StatusUnprocessableEntity, fmt.Sprintf("quantity must be 1 to %d", maxQuantity)
	}
	if len([]rune(want.GiftNote)) > maxNote {
		return want, http.StatusUnprocessableEntity, fmt.Sprintf("gift_note must not be longer than %d characters", maxNote)
	}
	return want, 0, ""
}

// take places an order, or returns the order that was already placed under the key. If the order is refused, problem is not empty, and
// status is the status of the response.
func (s *Shop) take(want orderRequest, key string) (order Order, status int, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.keys[key]; ok && key != "" {
		if before.request != want {
			return Order{}, http.StatusConflict, "this Idempotency-Key was used for another order"
		}
		return before.order, 0, ""
	}
	i, ok := s.place[want.ProductID]
	if !ok {
		return Order{}, http.StatusNotFound, "there is no product with this id"
	}
	p := &s.products[i]
	if p.Stock < int(want.Quantity) {
		return Order{}, http.StatusConflict, fmt.Sprintf("only %d in stock", p.Stock)
	}
	total := p.Price * Cents(want.Quantity)
	if want.MaxTotal > 0 && total > want.MaxTotal {
		return Order{}, http.StatusConflict, fmt.Sprintf("the total is %s %s, and max_total is %s", total, Currency, want.MaxTotal)
	}
	p.Stock -= int(want.Quantity)
	s.placed++
	order = Order{
		ID: fmt.Sprintf("order-%06d", s.placed), ProductID: p.ID, Quantity: int(want.Quantity), UnitPrice: p.Price,
		Total: total, Currency: Currency, Status: "confirmed", CreatedAt: s.cfg.Now().UTC(),
	}
	if key != "" {
		s.remember(key, placement{want, order})
	}
	return order, 0, ""
}

func (s *Shop) remember(key string, p placement) {
	if len(s.oldest) >= maxKeys {
		delete(s.keys, s.oldest[0])
		s.oldest = s.oldest[1:]
	}
	s.keys[key] = p
	s.oldest = append(s.oldest, key)
}

// number parses an integer from least to most, which may also be written as 10.0 or 1e1. It returns usual if s is empty.
func number(s string, usual, least, most int) (int, error) {
	if s == "" {
		return usual, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || f < float64(least) || f > float64(most) {
		return 0, strconv.ErrRange
	}
	return int(f), nil
}

// price parses a price limit of a search, and rounds it to cents. It returns usual if s is empty.
func price(s string, usual Cents) (Cents, error) {
	if s == "" {
		return usual, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= maxCents/100) { // this also rejects NaN
		return 0, strconv.ErrRange
	}
	return Cents(math.Round(f * 100)), nil
}

// parseCents parses an amount such as 24, 24.9 or 24.90.
func parseCents(s string) (Cents, error) {
	whole, part, found := strings.Cut(s, ".")
	if found && (part == "" || len(part) > 2) {
		return 0, errors.New("want at most two decimal places")
	}
	n, err := strconv.ParseUint(whole+(part + "00")[:2], 10, 63)
	if err != nil || n > maxCents {
		return 0, errors.New("want an amount such as 24.90")
	}
	return Cents(n), nil
}
