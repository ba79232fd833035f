package evidence

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxTotals is the maximum number of sums that are compared for one rule.
const maxTotals = 1024

// StatesPrice reports whether a policy, a JSON object, states an amount as the price of a rule: the sum of the payments in the duties of
// the rule and in the obligations of the policy. Payments under conditions may or may not be owed. rule is the uid of a permission, or a
// JSON pointer (RFC 6901) to it. found is false if the policy does not have the rule.
func StatesPrice(document []byte, rule string, amount money.Amount) (states, found bool) {
	policy, err := strictjson.DecodeObject(document)
	if err != nil {
		return false, false
	}
	at, is := ruleAt(policy, rule)
	if !is {
		return false, false
	}
	totals := []int64{0}
	add := func(duty any, binds bool) {
		p, pays := paymentOf(duty)
		if !pays || p.amount.Currency != amount.Currency {
			return
		}
		var next []int64
		for _, total := range totals {
			if total <= math.MaxInt64-p.amount.Nano {
				next = append(next, total+p.amount.Nano)
			}
			if !p.always || !binds {
				next = append(next, total)
			}
		}
		slices.Sort(next)
		totals = slices.Compact(next)
		totals = totals[:min(len(totals), maxTotals)]
	}
	for _, duty := range strictjson.AsList(memberOf(at, "duty")) {
		add(duty, true)
	}
	for _, o := range strictjson.AsList(memberOf(policy, "obligation")) {
		if obligation, is := strictjson.AsObject(o); is {
			add(o, memberOf(obligation, "target", "assignee") == nil)
		}
	}
	return slices.Contains(totals, amount.Nano), true
}

// ruleAt finds a rule of a policy by its uid or JSON pointer.
func ruleAt(policy strictjson.Object, rule string) (strictjson.Object, bool) {
	if !strings.HasPrefix(rule, "/") {
		return ruleNamed(policy, rule, true)
	}
	v, _ := strictjson.Lookup(policy, rule)
	return strictjson.AsObject(v)
}

// ruleNamed finds an object with a uid in v, which is not v itself if top is set.
func ruleNamed(v any, uid string, top bool) (strictjson.Object, bool) {
	if list, is := v.([]any); is {
		for _, item := range list {
			if o, found := ruleNamed(item, uid, false); found {
				return o, true
			}
		}
	}
	o, is := strictjson.AsObject(v)
	if !is {
		return nil, false
	}
	if !top && len(o) > 1 && (o["uid"] == any(uid) || o["@id"] == any(uid)) {
		return o, true
	}
	for _, name := range o.Names() {
		if inner, found := ruleNamed(o[name], uid, false); found {
			return inner, true
		}
	}
	return nil, false
}

// A payment is what a duty charges.
type payment struct {
	amount money.Amount
	always bool // no condition decides whether it is owed
}

// paymentOf returns what a duty charges, or false if it charges nothing.
func paymentOf(duty any) (payment, bool) {
	d, is := strictjson.AsObject(duty)
	if !is {
		return payment{}, false
	}
	actions := strictjson.AsList(memberOf(d, "action"))
	i := slices.IndexFunc(actions, func(a any) bool { return slices.Contains([]string{"pay", "compensate"}, actionName(a)) })
	if i < 0 {
		return payment{}, false
	}
	out, paid, unit := payment{always: true}, memberOf(d, "amount"), memberOf(d, "unit", "currency")
	if o, is := strictjson.AsObject(paid); is {
		if unit == nil {
			unit = memberOf(o, "unit", "currency")
		}
		paid = valueOf(paid)
	}
	constraints := strictjson.AsList(memberOf(d, "constraint"))
	if action, is := strictjson.AsObject(actions[i]); is {
		constraints = slices.Concat(constraints, strictjson.AsList(memberOf(action, "refinement")))
	}
	for _, c := range constraints {
		o, _ := strictjson.AsObject(c)
		switch left, _ := valueOf(memberOf(o, "leftOperand")).(string); localName(left) {
		case "payAmount":
			paid = valueOf(memberOf(o, "rightOperand"))
			if own := memberOf(o, "unit"); own != nil {
				unit = own
			}
		case "unitOfCount":
		default:
			out.always = false
		}
	}
	code, _ := valueOf(unit).(string)
	code = localName(code)
	if known := currencies[code]; known != "" {
		code = known
	}
	var err error
	out.amount, err = money.New(textOf(paid), code)
	return out, err == nil
}

// currencies are the codes of currencies that policies name by the last part of an address.
var currencies = map[string]string{
	"Euro": "EUR", "United_States_dollar": "USD", "Pound_sterling": "GBP", "Japanese_yen": "JPY", "Swiss_franc": "CHF",
}

func actionName(a any) string {
	if o, is := strictjson.AsObject(a); is {
		if a = memberOf(o, "value"); a == nil {
			a = any(map[string]any(o))
		}
		a = valueOf(a)
	}
	text, _ := a.(string)
	return localName(text)
}

// memberOf returns the member of o with one of the names, which may have the prefix of a vocabulary; nil if there is none.
func memberOf(o strictjson.Object, names ...string) any {
	for _, name := range o.Names() {
		if slices.Contains(names, localName(name)) {
			return o[name]
		}
	}
	return nil
}

// valueOf returns the value or the address in an object of JSON-LD, and any other v unchanged.
func valueOf(v any) any {
	o, is := strictjson.AsObject(v)
	if !is {
		return v
	}
	for _, name := range []string{"@value", "@id", "value"} {
		if inner, has := o[name]; has && inner != nil {
			return inner
		}
	}
	return nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
