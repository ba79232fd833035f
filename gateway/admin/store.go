package admin

import (
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
)

// A Store is the state that operators read and change.
type Store interface {
	agreements.Store
	billing.Store
	calls.Store
	policies.Store
	processes.Store
	reloads.Store
	signin.Store
	status.Store
	testcalls.Store
}
