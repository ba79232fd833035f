package verify

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// rules returns the rules of one kind: permission, prohibition or obligation.
func (v *verification) rules(kind string) []any {
	return strictjson.AsList(memberOf(v.policyTree, kind))
}

func (v *verification) policyRules(context.Context) finding {
	n := 0
	var bad []string
	for _, kind := range []string{"permission", "prohibition", "obligation"} {
		for i, item := range v.rules(kind) {
			n++
			rule, ok := item.(map[string]any)
			at := fmt.Sprintf("/%s/%d", kind, i)
			switch {
			case !ok:
				bad = append(bad, at+" is not an object")
			case memberOf(rule, "action") == nil && memberOf(v.policyTree, "action") == nil:
				bad = append(bad, at+" has no action")
			case kind == "permission" && len(v.targets(rule)) == 0:
				bad = append(bad, at+" has no target")
			}
		}
	}
	if n == 0 {
		return missing("it has no permission, prohibition or obligation")
	}
	return point.WrongIfAny(bad)
}

// targets returns the targets of a rule or, if it has none, those of the policy.
func (v *verification) targets(rule map[string]any) []any {
	if t := memberOf(rule, "target"); t != nil {
		return strictjson.AsList(t)
	}
	if t := memberOf(v.policyTree, "target"); t != nil {
		return strictjson.AsList(t)
	}
	return strictjson.AsList(memberOf(v.policyTree, "asset"))
}

// namesIntent reports whether a target names an intent: its uid, a URL that ends in its uid or its name, or a collection that contains it.
func namesIntent(target string, in *intents.Intent) bool {
	if u, err := url.Parse(target); err == nil && strings.Contains(target, "://") {
		path := strings.TrimSuffix(u.Path, "/")
		last := path[strings.LastIndexByte(path, '/')+1:]
		return last == in.UID.String() || last == in.Name || last == in.UID.Name || strings.HasSuffix(path, "/api/intents")
	}
	return target == in.UID.String() || target == in.UID.Namespace+":*" || target == in.UID.Namespace+":*:*" ||
		target == in.UID.Namespace+":"+in.UID.Name || target == in.UID.Namespace+":"+in.UID.Name+":*"
}

func (v *verification) policyTargets(context.Context) finding {
	permissions := v.rules("permission")
	if len(permissions) == 0 {
		return missing("the policy has no permission")
	}
	if v.unreadIntents() {
		return skipped("not all intents can be read")
	}
	var bad []string
	for i, item := range permissions {
		rule, _ := item.(map[string]any)
		for _, t := range v.targets(rule) {
			target := termOf(t)
			if !slices.ContainsFunc(v.Catalog.Intents(), func(in *intents.Intent) bool { return namesIntent(target, in) }) {
				bad = append(bad, fmt.Sprintf("/permission/%d: %.120q", i, target))
			}
		}
	}
	return point.WrongIfAny(bad)
}

// permissionsFor returns the permissions that target an intent.
func (v *verification) permissionsFor(in *intents.Intent) []map[string]any {
	var out []map[string]any
	for _, item := range v.rules("permission") {
		rule, _ := item.(map[string]any)
		if slices.ContainsFunc(v.targets(rule), func(t any) bool { return namesIntent(termOf(t), in) }) {
			out = append(out, rule)
		}
	}
	return out
}

func (v *verification) policyCovers(context.Context) finding {
	var none []string
	for _, in := range v.Catalog.Intents() {
		if !in.Retired && len(v.permissionsFor(in)) == 0 {
			none = append(none, in.UID.String())
		}
	}
	if len(none) > 0 {
		return missing("%s", point.Summary(none))
	}
	return pass
}

func (v *verification) policyKind(context.Context) finding {
	kind := memberOf(v.policyTree, "type", "@type")
	if kind == nil {
		return pass // without a type, it is a Set: ODRL IM 2.1.1
	}
	for _, one := range strictjson.AsList(kind) {
		if slices.Contains([]string{"Policy", "Set", "Offer", "Agreement", "Request", "Ticket", "Assertion", "Privacy"}, localName(termOf(one))) {
			return pass
		}
	}
	return wrong("%.80q is not a policy type", termOf(kind))
}

func (v *verification) policyProfile(context.Context) finding {
	profile := memberOf(v.policyTree, "profile")
	if profile == nil {
		return missing("it names no profile")
	}
	for _, one := range strictjson.AsList(profile) {
		if u, err := url.Parse(termOf(one)); err != nil || u.Scheme == "" {
			return wrong("a profile is not an IRI")
		}
	}
	return pass
}

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

// mentionsPayment reports whether a value contains, at any depth, the action of a payment or an amount.
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
