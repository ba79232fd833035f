package openapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
)

// A limit in the curation replaces the initial one, for the next version and the previous one.
func TestLimitsInTheCuration(t *testing.T) {
	dir, _ := rerun(t, nil, offered, openapi.Options{})
	edit(t, dir, openapi.CurationFile, "a: {hidden: false,", `a: {hidden: false, price: 0.50 EUR, limit: 7/day,`)
	edit(t, dir, openapi.CurationFile, "b: {hidden: false,", `b: {hidden: false, limit: 9/minute,`)
	dir, _ = rerun(t, dir, strings.Replace(offered, "maxLength: 9", "maxLength: 8", 1), openapi.Options{Replaced: ends})
	var policy struct {
		Permission []struct {
			Target     []string
			Constraint []struct {
				RightOperand int
				Unit         string
			}
			Duty []struct{ Action, Amount string }
		}
	}
	if err := json.Unmarshal(dir[openapi.PolicyFile], &policy); err != nil {
		t.Fatal(err)
	}
	if len(policy.Permission) != 2 {
		t.Fatalf("%d permissions, want 2: %s", len(policy.Permission), dir[openapi.PolicyFile])
	}
	b, a := policy.Permission[0], policy.Permission[1]
	if !slices.Equal(b.Target, []string{namespace + ":b:v1"}) || b.Constraint[0].RightOperand != 9 || b.Constraint[0].Unit != "minute" || b.Duty != nil {
		t.Errorf("the free intent: %+v", b)
	}
	if !slices.Equal(a.Target, []string{namespace + ":a:v1", namespace + ":a:v2"}) || a.Constraint[0].RightOperand != 7 ||
		a.Constraint[0].Unit != "day" || a.Duty[0].Amount != "0.50" {
		t.Errorf("the intent with a price: %+v", a)
	}
}
