package verify

import (
	"slices"

	"github.com/uimgate/uimgate/intents"
)

// charges reports whether calling an intent may cost something: the intent has a price, or a rule that could apply to
// it mentions a payment.
func (v *verification) charges(in *intents.Intent) bool {
	if in.Price != "" {
		return true
	}
	for _, rule := range v.permissionsFor(in) {
		if mentionsPayment(rule) {
			return true
		}
	}
	return slices.ContainsFunc([]string{"obligation", "odrl:obligation", "duty", "odrl:duty"}, func(name string) bool {
		return mentionsPayment(v.policyTree[name])
	})
}

// mentionsPayment reports whether a value holds, at any depth, an action of paying or an amount.
func mentionsPayment(v any) bool {
	switch v := v.(type) {
	case string:
		switch localName(v) {
		case "pay", "compensate", "payAmount", "paymentAmount", "purchase":
			return true
		}
	case []any:
		return slices.ContainsFunc(v, mentionsPayment)
	case map[string]any:
		for name, inner := range v {
			if localName(name) == "payAmount" || mentionsPayment(inner) {
				return true
			}
		}
	}
	return false
}
