package words

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// factsAround returns values of one operand for which conditions on it may have different results. It returns false if some condition has
// values that cannot be tested.
func factsAround(conditions []*model.Constraint, a *asker) ([]any, bool) {
	var list []any
	seen := map[string]bool{}
	add := func(values ...any) {
		for _, v := range values {
			key, err := json.Marshal(v)
			if err == nil && !seen[string(key)] {
				seen[string(key)] = true
				list = append(list, v)
			}
		}
	}
	units, all := map[string][]*big.Rat{}, true
	for _, c := range conditions {
		all = all && len(c.RightRef) == 0
		var texts []any
		for i := range c.Right {
			text := c.Right[i].Text
			x, isNumber := model.ParseDecimal(text)
			_, isDuration := model.ParseDuration(text)
			switch kind := c.Left().Kind; {
			case c.Right[i].Window || isPolicyUsage(text):
				all = false
			case kind == model.Event:
				for _, course := range []string{"before", "during", "after"} {
					add(map[string]any{text: course})
				}
			case kind == model.Version:
				add(versionsAround(text)...)
			case kind == model.Duration && isDuration || kind == model.Other && isDuration:
				add(durationsAround(text)...)
			case isNumber && kind != model.Text && kind != model.Code && kind != model.Key:
				units[c.Unit.IRI] = append(units[c.Unit.IRI], x)
			default:
				texts = append(texts, text)
				add(text)
				add(textsAround(c, text, a)...)
			}
		}
		if len(texts) > 1 && (c.Operator == "isAllOf" || c.Operator == "hasPart") {
			add(texts)
		}
	}
	for _, unit := range model.SortedKeys(units) {
		add(numbersAround(conditions[0], unit, units[unit])...)
	}
	return list, all
}

// numbersAround returns the bounds, and numbers between, below and above them that are valid for the operand.
func numbersAround(c *model.Constraint, unit string, bounds []*big.Rat) []any {
	slices.SortFunc(bounds, (*big.Rat).Cmp)
	bounds = slices.CompactFunc(bounds, func(x, y *big.Rat) bool { return x.Cmp(y) == 0 })
	left, one := c.Left(), big.NewRat(1, 1)
	whole := left.Kind == model.Count
	half := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Quo(new(big.Rat).Add(x, y), big.NewRat(2, 1)) }
	first, last := bounds[0], bounds[len(bounds)-1]
	numbers := []*big.Rat{new(big.Rat).Sub(first, one)}
	if left.Bounds != model.Unbounded && numbers[0].Sign() < 0 {
		numbers[0] = half(first, new(big.Rat))
	}
	for i, x := range bounds {
		numbers = append(numbers, x)
		if i+1 < len(bounds) {
			numbers = append(numbers, half(x, bounds[i+1]))
		}
	}
	above := new(big.Rat).Add(last, one)
	if hundred := big.NewRat(100, 1); left.Bounds == model.UpToHundred && above.Cmp(hundred) > 0 {
		above = half(last, hundred)
	}
	var list []any
	for _, x := range append(numbers, above) {
		if whole { // round down; the result is the lower bound if no whole number lies between
			x = new(big.Rat).SetInt(new(big.Int).Div(x.Num(), x.Denom()))
		}
		number := json.Number(decimalText(x))
		if unit == "" || whole || left.Kind == model.Duration {
			list = append(list, number)
			continue
		}
		list = append(list, map[string]any{"value": number, "unit": unit})
	}
	return list
}

// durationsAround returns a duration, one that is certainly shorter and one that is certainly longer.
func durationsAround(text string) []any {
	lengths, _ := model.ParseDuration(text)
	var all []int64
	for _, v := range lengths {
		if n, ok := v.(json.Number); ok {
			if at, err := n.Int64(); err == nil {
				all = append(all, at)
			}
		}
	}
	if len(all) == 0 {
		return []any{text}
	}
	seconds := func(nanos int64) string {
		sign := ""
		if nanos < 0 {
			sign, nanos = "-", -nanos
		}
		return sign + "PT" + decimalText(big.NewRat(nanos, int64(time.Second))) + "S"
	}
	return []any{text, seconds(slices.Min(all) - int64(time.Second)), seconds(slices.Max(all) + int64(time.Second))}
}

// versionsAround returns a version, the one before it and the one after it.
func versionsAround(text string) []any {
	list, ok := model.ParseSemver(text)
	if !ok {
		return []any{text}
	}
	var parts [3]int64
	for i := range parts {
		if n, isNumber := list[i].(json.Number); isNumber {
			parts[i], _ = n.Int64()
		}
	}
	write := func(p [3]int64) string { return fmt.Sprintf("%d.%d.%d", p[0], p[1], p[2]) }
	after, before := parts, parts
	after[2]++
	for i := len(before) - 1; i >= 0; i-- {
		if before[i] > 0 {
			before[i]--
			break
		}
	}
	return []any{text, write(before), write(parts), write(after)}
}

// textsAround returns a different text of the same form and, if the text is a code, a network or a collection, something that it contains.
func textsAround(c *model.Constraint, text string, a *asker) []any {
	left := c.Left()
	var list []any
	for _, other := range []string{"another", "urn:example:another", "ZZ", "zz", "203.0.113.7", "2001:db8::7", "another.example"} {
		if left.TextForm(other) == left.TextForm(text) && left.IsCode(other) == left.IsCode(text) {
			list = append(list, other)
			break
		}
	}
	if network, err := netip.ParsePrefix(text); err == nil && left.IsRange(text) {
		list = append(list, network.Masked().Addr().String())
	} else if left.IsCode(text) && !left.Networked() {
		list = append(list, text+"-ZZ")
	}
	for _, f := range a.forms {
		if members := f.Facts.Members(text); len(members) > 0 {
			list = append(list, members[0])
		}
	}
	return list
}
