package pat

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// The bounds of the rules of a service.
const (
	MaxTTL    = 24 * time.Hour
	maxLeeway = 5 * time.Minute
	maxGrace  = 24 * time.Hour
	// unprovedLife is how long after an agreement its PATs can be renewed without a proof of key.
	unprovedLife = 24 * time.Hour
	// lastMinute is how long a renewed PAT is accepted in addition to its successor.
	lastMinute = time.Minute
)

// Freshness defines whether a service accepts static agreements.
type Freshness string

// FreshnessOptional accepts static agreements, which permit less than fresh ones. FreshnessRequired rejects them.
const (
	FreshnessOptional Freshness = "optional"
	FreshnessRequired Freshness = "required"
)

// Admission defines which agents may agree.
type Admission string

// The kinds of admission: every agent, only listed agents, or listed agents and those that the operator approved.
const (
	AdmitOpen      Admission = "open"
	AdmitAllowlist Admission = "allowlist"
	AdmitApproval  Admission = "approval"
)

// A Known agent is listed in the configuration: as a key, which may be bound to an agent id. If keys are bound to an id, only these keys
// may use the id, and they may use only the ids that they are bound to.
type Known struct {
	AgentID AgentID // empty means any id that is not reserved
	KeyID   keys.ID
}

// wellFormed reports whether both ids follow their grammar. The agent id is optional.
func (k Known) wellFormed() bool {
	_, badID := ParseAgentID(string(k.AgentID))
	_, badKey := keys.ParseID(string(k.KeyID))
	return badKey == nil && (badID == nil || k.AgentID == "")
}

// Rules define how one service issues PATs.
type Rules struct {
	Service   string // id of the service
	Issuer    string
	PolicyURL string        // claim pol
	IssueURLs []string      // URLs that agreements are sent to; errors name the first
	TTL       time.Duration // a second to MaxTTL
	Leeway    time.Duration
	Grace     time.Duration // pat.renew_grace
	Freshness Freshness
	Admission Admission
	Allow     []Known // pat.allow: admitted, and approved
	Parties   []Known // the parties of the policy, with ids: reserved and admitted like Allow
}

func (r *Rules) recipient() Recipient { return Recipient{Issuer: r.Issuer, URLs: r.IssueURLs} }

func (r *Rules) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Service == "" || r.Issuer == "" || r.PolicyURL == "" || len(r.IssueURLs) == 0 {
		fail("a service needs an id, an issuer, a policy URL and a URL that agreements are sent to")
	}
	if r.TTL < time.Second || r.TTL > MaxTTL {
		fail("pat.ttl: want 1s to %s", MaxTTL)
	}
	if r.Leeway < 0 || r.Leeway > maxLeeway {
		fail("pat.leeway: want 0s to %s", maxLeeway)
	}
	if r.Grace < 0 || r.Grace > maxGrace {
		fail("pat.renew_grace: want 0s to %s", maxGrace)
	}
	if r.Freshness != FreshnessOptional && r.Freshness != FreshnessRequired {
		fail("pat.freshness: want %s or %s", FreshnessOptional, FreshnessRequired)
	}
	if r.Admission != AdmitOpen && r.Admission != AdmitAllowlist && r.Admission != AdmitApproval {
		fail("pat.admission: want %s, %s or %s", AdmitOpen, AdmitAllowlist, AdmitApproval)
	}
	for _, k := range r.Allow {
		if !k.wellFormed() {
			fail("pat.allow: want key thumbprints (RFC 7638), each with or without an agent id")
			break
		}
	}
	for _, k := range r.Parties {
		if k.AgentID == "" || !k.wellFormed() {
			fail("parties: want an agent id and the thumbprint (RFC 7638) of its key")
			break
		}
	}
	return errors.Join(errs...)
}

// lists reports whether the configuration lists this key for this id. The error is an *AgentIDTakenError if the id is reserved for other
// keys, and ErrKeyTaken if the key is bound to other ids.
func (r *Rules) lists(agentID AgentID, keyID keys.ID) (bool, error) {
	listed, idReserved, keyBound := false, false, false
	for _, list := range [][]Known{r.Allow, r.Parties} {
		for _, k := range list {
			switch {
			case k.KeyID == keyID && k.AgentID == agentID:
				return true, nil
			case k.KeyID == keyID && k.AgentID == "":
				listed = true
			case k.KeyID == keyID:
				keyBound = true
			case k.AgentID == agentID:
				idReserved = true
			}
		}
	}
	switch {
	case idReserved:
		return false, idTaken(agentID, keyID)
	case keyBound && !listed:
		return false, ErrKeyTaken
	}
	return listed, nil
}

// Reserved returns the agent ids that the configuration reserves, with the keys of each.
func (r *Rules) Reserved() map[AgentID][]keys.ID {
	out := map[AgentID][]keys.ID{}
	for _, list := range [][]Known{r.Allow, r.Parties} {
		for _, k := range list {
			if k.AgentID != "" {
				out[k.AgentID] = append(out[k.AgentID], k.KeyID)
			}
		}
	}
	return out
}

// knows reports whether the configuration lists this key, under any id.
func (r *Rules) knows(keyID keys.ID) bool {
	has := func(k Known) bool { return k.KeyID == keyID }
	return slices.ContainsFunc(r.Allow, has) || slices.ContainsFunc(r.Parties, has)
}

// idTaken returns an error that suggests an id derived from the key, which is very likely free.
func idTaken(id AgentID, key keys.ID) error {
	suffix := "." + string(key[:min(8, len(key))])
	stem := strings.TrimSuffix(string(id[:min(len(id), maxAgentID-len(suffix))]), suffix)
	return &AgentIDTakenError{AgentID: id, Suggestion: AgentID(stem + suffix)}
}

// A Recipient is the service that a fresh agreement is made for, so that no other recipient can use it.
type Recipient struct {
	Issuer string   // aud
	URLs   []string // htu: one of these absolute URLs; errors name the first. If empty, any URL is accepted, as for stored evidence
}

// at reports whether sent, without its query and fragment, is one of the URLs. An empty list accepts every URL. See RFC 9449,
// section 4.3.
func (r Recipient) at(sent string) bool {
	target, ok := targetOf(sent)
	return len(r.URLs) == 0 || ok && slices.ContainsFunc(r.URLs, func(one string) bool {
		own, ok := targetOf(one)
		return ok && own == target
	})
}

const maxURL = 2048

// targetOf normalizes a URL without query and fragment, so that equivalent URLs become equal strings (RFC 3986 6.2.2 and 6.2.3). In the
// result, scheme and host are in lowercase, a default port is omitted, an empty path is "/", and each path has only one escaping. It
// returns false if text is not an absolute http or https URL of at most maxURL bytes without a user.
func targetOf(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.User != nil || u.Host == "" || u.Opaque != "" {
		return "", false
	}
	port := u.Port()
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme != "http" && scheme != "https":
		return "", false
	case scheme == "http" && port == "80", scheme == "https" && port == "443":
		port = ""
	}
	if port != "" {
		port = ":" + port
	}
	path := u.EscapedPath()
	if u.RawPath == "" && path == "" {
		path = "/"
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + port + path, true
}
