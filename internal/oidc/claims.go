package oidc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxValue = 1024 // bytes of the claim sub
	maxName  = 200  // characters of a name
)

// usualClaims are read if no claim is configured.
var usualClaims = []string{"groups", "roles"}

// claims are what the provider states about a person.
type claims struct{ tree map[string]any }

// claimsOf reads claims strictly: a member that occurs twice is an error that wraps ErrIdentity.
func claimsOf(into func(any) error) (claims, error) {
	var raw json.RawMessage
	if err := into(&raw); err != nil {
		return claims{}, fmt.Errorf("%w: its claims cannot be read", ErrIdentity)
	}
	tree, err := strictjson.DecodeObject(raw)
	if err != nil {
		return claims{}, fmt.Errorf("%w: its claims cannot be read", ErrIdentity)
	}
	return claims{tree}, nil
}

// values returns the strings in a claim, which may be one string or an array. The parameter claim is the name of the claim, or a JSON
// pointer.
func (c claims) values(claim string) (list []string, found bool) {
	value, found := c.tree[claim]
	if strings.HasPrefix(claim, "/") {
		value, found = strictjson.Lookup(c.tree, claim)
	}
	switch v := value.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list, found
}

// has reports whether the claim with groups or roles is present. If the parameter claim is empty, one of the usual claims suffices.
func (c claims) has(claim string) bool {
	return slices.ContainsFunc(claimNames(claim), func(name string) bool { _, found := c.values(name); return found })
}

func claimNames(claim string) []string {
	if claim == "" {
		return usualClaims
	}
	return []string{claim}
}

// authenticated returns the time in the claim auth_time, or the zero time.
func (c claims) authenticated() time.Time {
	number, ok := c.tree["auth_time"].(json.Number)
	if !ok {
		return time.Time{}
	}
	seconds, err := number.Float64()
	if err != nil || seconds <= 0 || seconds > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// roleOf returns the name of the last role that has a value of the claim among its Values. It returns "" if there is none.
func roleOf(roles []Role, claim string, all []claims) string {
	for _, role := range slices.Backward(roles) {
		for _, c := range all {
			for _, name := range claimNames(claim) {
				values, _ := c.values(name)
				if slices.ContainsFunc(values, func(v string) bool { return slices.Contains(role.Values, v) }) {
					return role.Name
				}
			}
		}
	}
	return ""
}

// nameOf returns a name for a person: the first of email address, user name and subject that is not empty. It skips an email
// address that the provider has not verified, according to its claim email_verified.
func nameOf(subject string, all []claims) string {
	var email, user string
	for _, c := range all {
		text := func(name string) string {
			s, _ := c.tree[name].(string)
			return cleaned(s)
		}
		if verified := c.tree["email_verified"]; verified != false && verified != "false" {
			email = cmp.Or(email, text("email"))
		}
		user = cmp.Or(user, text("preferred_username"))
	}
	return cmp.Or(email, user, cleaned(subject), "unnamed")
}

// cleaned removes from a string the characters that are invisible or reorder text, and truncates the string to maxName characters.
func cleaned(s string) string {
	s = strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || c == unicode.ReplacementChar {
			return -1
		}
		return c
	}, s)
	runes := []rune(strings.TrimSpace(s))
	return strings.TrimSpace(string(runes[:min(len(runes), maxName)]))
}
