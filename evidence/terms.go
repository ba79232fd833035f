package evidence

import (
	"regexp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

var intentUID = regexp.MustCompile(`^[^:/\s]+:[^:/\s]+:v[0-9]+$`)

// governing are the members of a policy, other than its rules, that belong to its terms.
var governing = []string{"context", "uid", "id", "type", "conflict", "inheritFrom", "target", "action", "assigner", "assignee"}

// SameTerms reports whether two policies, each a JSON object, have the same terms for an intent, so that an agreement to one of them holds
// for the intent under the other. The terms are the rules that can apply to the intent, in any order, and the members that apply to all
// rules. They are compared as text in RFC 8785 form: different terms may mean the same.
func SameTerms(a, b []byte, intent string) bool {
	first, err := termsOf(a, intent)
	if err != nil {
		return false
	}
	second, err := termsOf(b, intent)
	return err == nil && slices.Equal(first, second)
}

// termsOf returns the terms of a policy for an intent, ordered.
func termsOf(document []byte, intent string) (terms []string, err error) {
	policy, err := strictjson.DecodeObject(document)
	if err != nil {
		return nil, err
	}
	add := func(name string, v any) {
		text, canonicalErr := strictjson.Canonical(v)
		if canonicalErr != nil {
			err = canonicalErr
		}
		terms = append(terms, name+string(text))
	}
	for name, v := range policy {
		switch local := localName(name); {
		case slices.Contains([]string{"permission", "prohibition", "obligation"}, local):
			for _, rule := range strictjson.AsList(v) {
				if own, applies := ruleFor(rule, intent); applies {
					add(local, own)
				}
			}
		case slices.Contains(governing, local):
			add(local, v)
		}
	}
	slices.Sort(terms)
	return terms, err
}

// ruleFor returns a rule without its uid and, if they are intents, without its targets. It returns false if the rule applies only to other
// intents.
func ruleFor(rule any, intent string) (any, bool) {
	members, is := strictjson.AsObject(rule)
	if !is {
		return rule, true
	}
	own, targets := map[string]any{}, []any(nil)
	for name, v := range members {
		switch localName(name) {
		case "target":
			targets = append(targets, strictjson.AsList(v)...)
		case "uid", "id":
		default:
			own[name] = v
		}
	}
	other := func(target any) bool { return !intentUID.MatchString(nameOf(target)) }
	if len(targets) == 0 || slices.ContainsFunc(targets, other) { // everything, or a collection of assets
		own["target"] = targets
		return own, true
	}
	return own, slices.ContainsFunc(targets, func(target any) bool { return nameOf(target) == intent })
}

// nameOf returns the name in a target: a string, or the uid of an object without other members.
func nameOf(v any) string {
	if o, is := strictjson.AsObject(v); is && len(o) == 1 {
		for name, inner := range o {
			if local := localName(name); local == "uid" || local == "id" {
				v = inner
			}
		}
	}
	text, _ := v.(string)
	return text
}

// localName returns the name of a member without the prefix of a vocabulary and the @ of JSON-LD.
func localName(name string) string {
	return strings.TrimPrefix(name[strings.LastIndexAny(name, "/#:")+1:], "@")
}
