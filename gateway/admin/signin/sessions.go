package signin

import (
	"context"
	"net/netip"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

// An EndedSession is a session of the console that an operator has ended.
type EndedSession struct {
	Name string   `json:"name"` // who was signed in
	Role api.Role `json:"role"`
	Via  string   `json:"via"` // see Caller.Via
}

// ChangedID returns the id of the changed record for the audit stream.
func (s EndedSession) ChangedID() string { return s.Name + " as " + string(s.Role) }

// EndConsoleSession ends the session of the console with the id r.ID. The error wraps store.ErrNotFound if the session does not exist. The
// service of r has no effect.
func (o *Operations) EndConsoleSession(ctx context.Context, r api.Record) (EndedSession, error) {
	s, err := o.Store.ConsoleSession(ctx, r.ID)
	if err != nil {
		return EndedSession{}, err
	}
	return EndedSession{Name: s.Name, Role: api.Role(s.Role), Via: s.Via}, o.Store.EndConsoleSession(ctx, r.ID)
}

// SignedIn writes to the log and to the audit stream that a session of the console began. from is the source address of the request; an
// invalid address is omitted. subject identifies the person at the identity provider; empty: none.
func (o *Operations) SignedIn(c api.Caller, subject string, from netip.Addr) {
	o.signed("sign in", c, subject, from)
}

// SignedOut writes to the log and to the audit stream that a person has ended their own session.
func (o *Operations) SignedOut(c api.Caller, from netip.Addr) {
	o.signed("sign out", c, "", from)
}

// SignInRefused writes to the log and to the audit stream that a person whom the identity provider knows could not sign in, or could not
// prove again who they are. Its parameters are those of SignedIn.
func (o *Operations) SignInRefused(c api.Caller, subject string, from netip.Addr) {
	o.signed("sign in refused", c, subject, from)
}

func (o *Operations) signed(did string, c api.Caller, subject string, from netip.Addr) {
	line := api.Change{Operation: did, About: api.Record{ID: subject}}.Line(c)
	if from.IsValid() {
		line.Address = from.String()
	}
	o.Changes.Record("", line)
}
