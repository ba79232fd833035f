package admin_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/pat"
)

func TestRolesAllowOperations(t *testing.T) {
	g := newAdminGate(t, "")
	for _, c := range []struct {
		operation string
		allowed   []admin.Role
	}{
		{"GET /agents", []admin.Role{admin.RoleViewer, admin.RoleOperator, admin.RoleBilling, admin.RoleAdmin}},
		{"POST /agents/{id}/block", []admin.Role{admin.RoleOperator, admin.RoleAdmin}},
		{"POST /stops", []admin.Role{admin.RoleOperator, admin.RoleAdmin}},
		{"POST /usage/top-up", []admin.Role{admin.RoleBilling, admin.RoleAdmin}},
		{"POST /usage/executions/{id}/refund", []admin.Role{admin.RoleBilling, admin.RoleAdmin}},
		{"POST /keys/rotate", []admin.Role{admin.RoleAdmin}},
		{"POST /not/an/operation", []admin.Role{admin.RoleAdmin}},
	} {
		var allowed []admin.Role
		for _, r := range append([]admin.Role{"", "root"}, admin.Roles...) {
			err := g.operator.MayUse(admin.Caller{Name: "ann", Role: r}, c.operation)
			if refused, ok := errors.AsType[*admin.RoleError](err); ok {
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

func texts(roles []admin.Role) (out []string) {
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

	ask[admin.Agent](g, "POST", "/agents/agent-1/name", map[string]string{"name": "Ann's agent"})
	block := admin.Revocation{Record: admin.Record{ID: "agent-1"}, Reason: "it calls in a loop"}
	const did = "POST /agents/{id}/block"
	_, err := admin.Do(t.Context(), g.operator, admin.Caller{Name: "vic", Role: admin.RoleViewer}, did, block.Record, block,
		g.operator.BlockAgent)
	if _, ok := errors.AsType[*admin.RoleError](err); !ok {
		t.Errorf("a viewer blocked an agent: %v", err)
	}
	ann := admin.Caller{Name: "ann", Role: admin.RoleOperator, Via: "oidc"}
	blocked, err := admin.Do(t.Context(), g.operator, ann, did, block.Record, block, g.operator.BlockAgent)
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
		{By: "ann", Role: "operator", Via: "oidc", Did: did, Subject: "agent-1"},
	}
	if len(changes) != 2 || changes[0] != want[0] || changes[1] != want[1] {
		t.Errorf("got %+v, want %+v", changes, want)
	}
}
