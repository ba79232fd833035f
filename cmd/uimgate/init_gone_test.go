package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An intent whose operation is gone keeps its price during the notice period.
func TestGoneOperationKeepsItsPrice(t *testing.T) {
	s := newInitShop(t)
	s.write(filepath.Join(s.gate, "openapi.curation.yaml"), "operations:\n  findProducts: {hidden: false, price: 0.05 EUR}\n")
	if out, err := s.init(nil, "--apply"); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	s.write(s.document, strings.Replace(initPlanned, "  /products: {get: {operationId: findProducts", "  /stock: {get: {operationId: getStock", 1))
	out, err := s.init(nil, "--apply")
	if err != nil || !strings.Contains(out, "its calls fail earlier") || strings.Contains(out, "price") {
		t.Errorf("%s, %v, want an end with notice, and no change of the price", out, err)
	}
	if data, err := os.ReadFile(filepath.Join(s.gate, "policy.json")); err != nil || !strings.Contains(string(data), "0.05") {
		t.Errorf("%s, %v, want the price 0.05", data, err)
	}
	if out, err := s.init(nil); err != nil || !strings.Contains(out, "nothing changes") {
		t.Errorf("%s, %v, want no change", out, err)
	}
}
