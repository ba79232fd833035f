package admin

import (
	"context"
	"net/netip"
)

// An EndedSession is a session of the console that an operator has ended.
type EndedSession struct {
	Name string `json:"name"` // who was signed in
	Role Role   `json:"role"`
	Via  string `json:"via"` // see Caller.Via
}

func (s EndedSession) subject() string { return s.Name + " as " + string(s.Role) }

// EndConsoleSession ends the session of the console with the id r.ID. The error wraps store.ErrNotFound if there is no such session. The
// service of r has no effect.
func (o *Operator) EndConsoleSession(ctx context.Context, r Record) (EndedSession, error) {
	s, err := o.store.ConsoleSession(ctx, r.ID)
	if err != nil {
		return EndedSession{}, err
	}
	return EndedSession{Name: s.Name, Role: Role(s.Role), Via: s.Via}, o.store.EndConsoleSession(ctx, r.ID)
}

// SignedIn writes to the log and to the audit stream that a session of the console began. from is the source address of the request; an
// invalid address is omitted. subject identifies the person at the identity provider; empty: there is none.
func (o *Operator) SignedIn(c Caller, subject string, from netip.Addr) {
	o.signed("sign in", c, subject, from)
}

// SignedOut writes to the log and to the audit stream that a person has ended their own session.
func (o *Operator) SignedOut(c Caller, from netip.Addr) {
	o.signed("sign out", c, "", from)
}

// SignInRefused writes to the log and to the audit stream that a person whom the identity provider knows could not sign in, or could not
// prove again who it is. Its parameters are those of SignedIn.
func (o *Operator) SignInRefused(c Caller, subject string, from netip.Addr) {
	o.signed("sign in refused", c, subject, from)
}

func (o *Operator) signed(did string, c Caller, subject string, from netip.Addr) {
	line := Change{Operation: did, About: Record{ID: subject}}.Line(c)
	if from.IsValid() {
		line.Address = from.String()
	}
	o.changes.Record("", line)
}
