package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/record"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func TestRolesAllowOperations(t *testing.T) {
	g := newAdminGate(t, "")
	for _, c := range []struct {
		operation string
		allowed   []api.Role
	}{
		{"GET /agents", []api.Role{api.RoleViewer, api.RoleOperator, api.RoleBilling, api.RoleAdmin}},
		{"POST /agents/{id}/block", []api.Role{api.RoleOperator, api.RoleAdmin}},
		{"POST /stops", []api.Role{api.RoleOperator, api.RoleAdmin}},
		{"POST /usage/move", []api.Role{api.RoleBilling, api.RoleAdmin}},
		{"POST /usage/top-up", []api.Role{api.RoleBilling, api.RoleAdmin}},
		{"POST /usage/executions/{id}/refund", []api.Role{api.RoleBilling, api.RoleAdmin}},
		{"POST /keys/rotate", []api.Role{api.RoleAdmin}},
		{"POST /not/an/operation", []api.Role{api.RoleAdmin}},
	} {
		var allowed []api.Role
		for _, r := range append([]api.Role{"", "root"}, api.Roles...) {
			err := g.operator.MayUse(api.Caller{Name: "ann", Role: r}, c.operation)
			if refused, ok := errors.AsType[*api.RoleError](err); ok {
				if refused.Operation != c.operation || refused.Needed == "" {
					t.Errorf("%s: the error %+v does not name the operation and the role", c.operation, refused)
				}
				continue
			}
			allowed = append(allowed, r)
		}
		if len(allowed) != len(c.allowed) || strings.Join(texts(allowed), " ") != strings.Join(texts(c.allowed), " ") {
			t.Errorf("%s: allowed for %v, want %v", c.operation, allowed, c.allowed)
		}
	}
}

func texts(roles []api.Role) (out []string) {
	for _, r := range roles {
		out = append(out, string(r))
	}
	return out
}

func TestChangesAreInTheAudit(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	file := &auditFile{}
	g.settings.Audit = record.NewAudit(record.AuditOptions{
		Open: func() (record.File, error) { return file, nil }, Log: g.Log, Metrics: g.Metrics,
	})
	g.operator = admin.New(g.settings)
	g.listener.Config.Handler = g.handler(g.operator, adminToken)

	ask[agreements.Agent](g, "POST", "/agents/agent-1/name", map[string]string{"name": "Ann's agent"})
	block := api.Revocation{Record: api.Record{ID: "agent-1"}, Reason: "it calls in a loop"}
	_, err := admin.Do(t.Context(), g.operator, api.Caller{Name: "vic", Role: api.RoleViewer}, operation.BlockAgent, block.Record, block)
	if _, ok := errors.AsType[*api.RoleError](err); !ok {
		t.Errorf("a viewer blocked an agent: %v", err)
	}
	ann := api.Caller{Name: "ann", Role: api.RoleOperator, Via: "oidc"}
	blocked, err := admin.Do(t.Context(), g.operator, ann, operation.BlockAgent, block.Record, block)
	if err != nil || blocked.Status != pat.AgentBlocked {
		t.Errorf("got %+v, %v", blocked, err)
	}
	var changes []record.ChangeLine
	for line := range strings.Lines(file.String()) {
		var l record.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Change == nil || l.Decision != record.Changed || l.Service != "default" {
			t.Errorf("got %s", line)
			continue
		}
		changes = append(changes, *l.Change)
	}
	want := []record.ChangeLine{
		{By: "operator", Role: "admin", Via: "token", Did: "POST /agents/{id}/name", Subject: "agent-1"},
		{
			By: "ann", Role: "operator", Via: "oidc", Did: operation.BlockAgent.Name(), Subject: "agent-1",
			Detail: map[string]string{"reason": "it calls in a loop"},
		},
	}
	if d := cmp.Diff(want, changes); d != "" {
		t.Errorf("the changes differ (-want +got):\n%s", d)
	}
}

// The audit stream has what was changed, and the request that changed it, over HTTP and by Do.
func TestChangesHaveDetails(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	list, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{State: store.Captured})
	g.Must(err)
	charge := list.Items[0].ID
	file := &auditFile{}
	g.settings.Audit = record.NewAudit(record.AuditOptions{
		Open: func() (record.File, error) { return file, nil }, Log: g.Log, Metrics: g.Metrics,
	})
	g.settings.Reload = func(context.Context, bool) config.Problems { return nil }
	g.operator = admin.New(g.settings)
	g.listener.Config.Handler = g.handler(g.operator, adminToken)
	text, err := admin.Call(t.Context(), g.operator, operation.PolicyText, policies.PolicyTextQuery{})
	g.Must(err)
	edited := strings.Replace(text.Text, `"amount": "0.25"`, `"amount": "0.75"`, 1)

	ask[billing.TopUpResult](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR", "reference": "wire-1"})
	ask[billing.TopUpResult](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR", "reference": "wire-1"})
	ask[billing.Refund](g, "POST", "/usage/executions/"+charge+"/refund", map[string]any{"reason": "late"})
	ask[reloads.Reload](g, "POST", "/reload", map[string]any{"force": true})
	saved := ask[policies.SaveResult](g, "POST", "/policy", map[string]any{"policy": edited, "sha256": text.SHA256})
	topUp := billing.TopUp{AgentID: "agent-1", Amount: "1 EUR", Reverse: true}
	_, err = admin.Do(t.Context(), g.operator, api.Caller{Name: "ann", Role: api.RoleBilling, Via: "link", RequestID: "request-1"},
		operation.TopUp, api.Record{}, topUp)
	g.Must(err)
	var got []map[string]string
	for line := range strings.Lines(file.String()) {
		var l record.Line
		g.Must(json.Unmarshal([]byte(line), &l))
		if l.RequestID == "" || l.Change.By == "ann" && l.RequestID != "request-1" {
			t.Errorf("the line has the request id %q: %s", l.RequestID, line)
		}
		got = append(got, l.Change.Detail)
	}
	want := []map[string]string{
		{"amount": "10 EUR", "reference": "wire-1"},
		{"amount": "10 EUR", "reference": "wire-1", "repeated": "true"},
		{"amount": "0.25 EUR", "number": "CN-000001", "reason": "late"},
		{"force": "true"},
		{"previous_sha256": text.SHA256, "policy_digest": saved.Policy.Digest},
		{"amount": "1 EUR", "reverse": "true"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the details differ (-want +got):\n%s", d)
	}
}
