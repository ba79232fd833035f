package receipts

import (
	"encoding/json"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Call is what an agent knows about a charged call. An empty string means that the agent does not know the value.
type Call struct {
	// The parties, as in the agreement.
	Issuer string      `json:"iss"`
	Agent  pat.AgentID `json:"agent"`
	KeyID  keys.ID     `json:"jkt,omitempty"` // RFC 7638 thumbprint of the agent's key
	Policy string      `json:"pol,omitempty"` // digest of the policy that the agent signed
	// Successor is the digest of another policy that permits the call: the agent also agreed to it, or it has the same terms for the intent as
	// Policy.
	Successor string      `json:"pol_next,omitempty"`
	Agreement string      `json:"agr,omitempty"`
	Token     pat.TokenID `json:"pat,omitempty"` // jti of the PAT
	Replayed  bool        `json:"replayed,omitempty"`
	// The charge, as in the UIM-Charge header.
	Execution string       `json:"id"`
	Amount    money.Amount `json:"amount"`
	State     string       `json:"state"` // captured, released or pending
	// The call.
	Intent string `json:"intent"`
	// Request is the digest of the call as the agent sent it. Answer and Canonical are digests of the output as the agent received it: of its
	// bytes, and of its canonical form (RFC 8785). All have the form of evidence.Digest.
	Request   string `json:"req,omitempty"`
	Answer    string `json:"ans,omitempty"`
	Canonical string `json:"ans_jcs,omitempty"`
}

// The types of records.
const (
	typeSent       = "sent"       // the client is about to send a call
	typeCall       = "call"       // a call was charged, with or without a receipt
	typeEntry      = "entry"      // an entry that the service sent later
	typeKeys       = "keys"       // the keys of the service that the agent trusts
	typeCheckpoint = "checkpoint" // a checkpoint that is consistent with those before
	typeLogged     = "logged"     // a receipt is in the log
)

// A Record is one line of a book.
type Record struct {
	Type       string             `json:"type"`
	At         time.Time          `json:"at"`
	Request    string             `json:"req,omitempty"`     // for typeSent
	Call       *Call              `json:"call,omitempty"`    // for typeCall
	Receipt    string             `json:"receipt,omitempty"` // compact JWS, of typeCall and typeEntry
	Problems   []evidence.Problem `json:"problems,omitempty"`
	Keys       json.RawMessage    `json:"jwks,omitempty"`
	Checkpoint string             `json:"checkpoint,omitempty"` // signed note
	Old        int64              `json:"old,omitempty"`        // the size of the previous checkpoint of the same log; 0 if there is none
	Hashes     []evidence.Hash    `json:"hashes,omitempty"`     // the proof that the log contains the log of size Old
	Leaf       string             `json:"leaf,omitempty"`       // for typeLogged: the leaf hash of the entry
	Proof      string             `json:"proof,omitempty"`      // for typeLogged: the proof of inclusion, without its checkpoint
	Size       int64              `json:"size,omitempty"`       // for typeLogged: the size of the checkpoint to which Proof belongs
}
