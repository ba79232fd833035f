package words

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// subject describes the left operand of a constraint. An operand for which no vocabulary has words is written as in the document.
func subject(c *model.Constraint) string {
	if left := c.Left(); left.Known() && (left.Words != "" || !model.Absolute(c.Operand)) {
		return cmp.Or(left.Words, c.Operand)
	}
	return "value of " + model.Quote(c.Operand)
}

// values describes the right operands of a constraint, in the order of their texts.
func values(c *model.Constraint) []string {
	list := make([]string, 0, len(c.Right))
	for _, s := range c.Texts() {
		list = append(list, worded(c, s))
	}
	for _, ref := range c.RightRef {
		list = append(list, "the value found at "+model.Quote(ref.IRI))
	}
	return list
}

func worded(c *model.Constraint, s string) string {
	if isPolicyUsage(s) {
		return "the time of use"
	}
	left := c.Left()
	switch {
	case left.Kind == model.Version:
		if v, ok := model.ParseVersion(s); ok {
			return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		}
	case left.Kind == model.Duration:
		if words, ok := spellDuration(s); ok {
			return words
		}
	case left.Percent():
		if model.DecimalForm().MatchString(s) && c.Unit.IRI == "" {
			return s + " %"
		}
	}
	if code, ok := currencyCode(c.Unit.IRI); ok {
		if amount, err := money.New(s, code); err == nil {
			return amount.String()
		}
	}
	switch {
	case left.IsCode(s):
		return left.Spelling(s)
	case model.DecimalForm().MatchString(s):
		return s + unitWord(c)
	default:
		return model.Quote(s) + unitWord(c)
	}
}

// unitWord returns the unit of a value: a currency by its code, any other as written.
func unitWord(c *model.Constraint) string {
	iri := c.Unit.IRI
	if iri == "" || c.Left().Unit == model.Period {
		return ""
	}
	if code, ok := currencyCode(iri); ok {
		return " " + code
	}
	return " (unit " + model.Quote(iri) + ")"
}

// currencyCode returns the ISO 4217 code that a unit names, either directly or at the end of an IRI.
func currencyCode(unit string) (string, bool) {
	name := model.LastName(unit)
	if code, ok := model.CurrencyNames[name]; ok {
		return code, true
	}
	return name, model.IsCurrency(name)
}

// spellDuration describes a duration such as P1DT12H: 1 day and 12 hours.
func spellDuration(s string) (string, bool) {
	m := model.DurationForm().FindStringSubmatch(s)
	if m == nil || m[1] != "" || strings.HasSuffix(s, "P") || strings.HasSuffix(s, "T") {
		return "", false
	}
	var parts []string
	for i, unit := range []string{"year", "month", "week", "day", "hour", "minute", "second"} {
		n := strings.TrimLeft(m[i+2], "0")
		if unit == "second" && strings.Trim(m[9], ".0") != "" {
			n = cmp.Or(n, "0") + strings.TrimRight(m[9], "0")
		}
		switch n {
		case "":
		case "1":
			parts = append(parts, "1 "+unit)
		default:
			parts = append(parts, n+" "+unit+"s")
		}
	}
	if parts == nil {
		parts = []string{"no time"}
	}
	return ofActs.listing(parts, "and"), true
}
