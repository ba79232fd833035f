package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// codeBytes is the length of the secret in a code.
const codeBytes = 16

// ConsoleLinkTime is how long a ConsoleLink can be used.
const ConsoleLinkTime = 5 * time.Minute

// A ConsoleLinkRequest requests a link that signs one person in to the console.
type ConsoleLinkRequest struct {
	Name string   `json:"name,omitempty"` // who signs in; at most 200 characters; empty: "owner"
	Role api.Role `json:"role,omitempty"` // empty: RoleAdmin
}

// A ConsoleLink signs one person in to the console, once. Code and URL are secrets.
type ConsoleLink struct {
	URL   string    `json:"url"`
	Code  string    `json:"code"`
	Name  string    `json:"name"`
	Role  api.Role  `json:"role"`
	Until time.Time `json:"until"`
}

// ChangedID returns the id of the changed record for the audit stream.
func (l ConsoleLink) ChangedID() string { return l.Name + " as " + string(l.Role) }

// ConsoleLink creates a link for ConsoleLinkTime.
func (o *Operations) ConsoleLink(ctx context.Context, r ConsoleLinkRequest) (ConsoleLink, error) {
	if o.ConsoleURL == nil || !o.Services.Directory.Current().Console {
		return ConsoleLink{}, reason.NotOffered.Refusal("The console is off: set admin.console to true.")
	}
	r.Name = cmp.Or(r.Name, "owner")
	r.Role = cmp.Or(r.Role, api.RoleAdmin)
	if why := api.NameFault(r.Name); why != "" {
		return ConsoleLink{}, api.WrongMember("name", why)
	}
	if !r.Role.Allows(api.RoleViewer) {
		return ConsoleLink{}, api.WrongMember("role", "must be viewer, operator, billing or admin")
	}
	secret := make([]byte, codeBytes)
	_, _ = rand.Read(secret) // crypto/rand.Read never fails
	l := ConsoleLink{Code: base64.RawURLEncoding.EncodeToString(secret), Name: r.Name, Role: r.Role, Until: o.Now().Add(ConsoleLinkTime).UTC()}
	l.URL = o.ConsoleURL() + "link?" + url.Values{"code": {l.Code}}.Encode()
	return l, o.Store.AddConsoleLink(ctx, store.ConsoleLink{Code: ConsoleCode(l.Code), Name: l.Name, Role: string(l.Role), Until: l.Until})
}

// IsConsoleCode reports whether a string has the form of the code of a link.
func IsConsoleCode(text string) bool {
	secret, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(secret) == codeBytes
}

// ConsoleCode returns the digest of the code of a link. The store has only the digest.
func ConsoleCode(code string) string {
	sum := sha256.Sum256([]byte(code))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
