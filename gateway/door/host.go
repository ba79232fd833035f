package door

import (
	"context"
	"net/url"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Host carries out requests that agents send in messages, for doors without HTTP. It limits, logs, counts and audits each request as the
// listener does for HTTP requests. The errors of its methods are of type *reason.Refusal. A Host is safe for concurrent use.
type Host interface {
	// Search returns a page of the catalogue. The parameters of the query are those of UIM core 5.4.
	Search(ctx context.Context, from Origin, query url.Values) (intents.Page, error)
	// Policy counts and logs a request for the policy. The policy itself is in service.Definition.Offer.
	Policy(ctx context.Context, from Origin) error
	// Agree makes an agreement and issues its PAT. See UIM core, section 4.2.
	Agree(ctx context.Context, from Origin, r pat.IssueRequest) (pat.Issuance, error)
	// Renew issues the successor of a PAT. See UIM core, section 4.4.
	Renew(ctx context.Context, from Origin, r pat.RenewRequest) (pat.Issuance, error)
	// Execute calls an intent. The caller owns the output. See UIM core, section 3.2.
	Execute(ctx context.Context, from Origin, c Call) (execute.Result, error)
	// Unapproved reports whether the operator of a service has not approved the agent that a key belongs to. It returns true if the key
	// belongs to no agent or the store cannot be read.
	Unapproved(ctx context.Context, service string, key keys.ID) bool
}

// A Call holds the parts of a call in a message.
type Call struct {
	Token          string // the PAT; empty: the message has none
	Proof          string // compact JWS of typ uim-proof+jwt; empty: the message has none, or it is in Body
	IdempotencyKey string // 1 to 128 visible ASCII characters; empty: none
	// Body is the JSON object of an execute call, at most as long as the service's MaxBody. It is parsed after the PAT is accepted.
	Body []byte
}
