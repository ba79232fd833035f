package rules

import (
	"testing"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// If no vocabulary describes an operand, the datatype of its value determines its kind; without a datatype, the form of the value does.
func TestKindOfUndescribedOperand(t *testing.T) {
	for value, want := range map[string]model.Kind{
		"5": model.Number, "-0.5": model.Number, "1e3": model.Number, " 7 ": model.Number, "2026": model.Number, "20260101": model.Number,
		"P1D": model.Duration, "PT90S": model.Duration, "-P1M": model.Duration, "P2W": model.Duration,
		"2026-12-31": model.Instant, "2026-12-31T23:59:59Z": model.Instant, "12026-12-31": model.Instant, "-0044-03-15": model.Instant,
		"": model.Text, "P": model.Text, "five": model.Text, "5,0": model.Text, "09:00:00Z": model.Text,
	} {
		for range 20 {
			c := &model.Constraint{Operand: "http://example.com/height", Operator: "lt", Right: []model.Literal{{Text: value}}}
			if got := kindOf(c); got != want {
				t.Fatalf("%q: kind %d, want %d", value, got, want)
			}
		}
		c := &model.Constraint{Operand: "http://example.com/height", Operator: "eq", Right: []model.Literal{{Text: value}}}
		if got := kindOf(c); got != model.Text {
			t.Errorf("%q with eq: kind %d, want a text", value, got)
		}
		c.DataType = "http://www.w3.org/2001/XMLSchema#decimal"
		if got := kindOf(c); got != model.Number {
			t.Errorf("%q as a decimal: kind %d, want a number", value, got)
		}
	}
}

// The first form that matches determines the kind. Today, no value matches two forms.
func FuzzValueHasOneForm(f *testing.F) {
	for _, s := range []string{"5", "P1D", "2026-12-31", "-12026-12-31", "1e400", "2026", "-P1Y", "+5", "24:00:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		read := 0
		for _, form := range forms {
			if form.reads(s) {
				read++
			}
		}
		if read > 1 {
			t.Errorf("%q matches %d forms, want at most one", s, read)
		}
	})
}
