package pat

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

// The header typ distinguishes the kinds of JWS of this package, so that one kind is never accepted in place of another. See RFC 8725,
// section 3.11.
const (
	TypePAT       = "uim-pat+jwt"
	TypeAgreement = "uim-agreement+jwt"
	TypeProof     = "uim-proof+jwt"
	TypeConsent   = "uim-consent+jwt"
)

// Claims are the content of a PAT. The Claims of a verified PAT are shared: callers must not modify them. See UIM core, section 4.1.
type Claims struct {
	Issuer       string    // iss, and the first aud
	Resource     string    // the second aud, only under consent: URL of the endpoint that the PAT was requested for, or empty. RFC 8707 2
	Subject      AgentID   // sub
	ID           TokenID   // jti
	Family       TokenID   // fam: jti of the first PAT in the chain of renewals; equal to ID if this is the first
	IssuedAt     time.Time // iat
	NotBefore    time.Time // nbf
	ExpiresAt    time.Time // exp
	Scope        []string
	Policy       string      // pol: URL of the policy
	PolicyDigest string      // pol_digest
	Limit        limit.Rate  // lmt
	KeyID        keys.ID     // cnf.jkt: thumbprint of the agent's key; empty under consent. RFC 7800 3.1, RFC 9449 6.1
	Agreement    AgreementID // agr
	Assurance    Assurance
	Declared     Declaration // declared: the declaration of the agent in its agreement
	Budget       *Budget     // bud: what the client may spend, only under consent; nil means nothing
}

// A Limit is the claim lmt: at most Rate calls in Period seconds. A limit with Period 0 applies to the whole lifetime. See UIM core,
// section 4.1.2.
type Limit struct {
	Rate   int64 `json:"rate"`
	Period int64 `json:"period"`
}

// Calendar periods are encoded as their maximum length in seconds, so that an agent that paces its calls by lmt never exceeds the limit.
const (
	longestMonth = 31 * 86400
	longestYear  = 366 * 86400
)

// limitOf returns a rate in the form of the claim lmt.
func limitOf(r limit.Rate) Limit {
	period := r.Period.Seconds()
	switch r.Period {
	case limit.Month:
		period = longestMonth
	case limit.Year:
		period = longestYear
	default:
	}
	return Limit{r.Max, period}
}

// rate is the inverse of limitOf. It returns the zero Rate for a period that limitOf never returns.
func (l Limit) rate() limit.Rate {
	for _, p := range []limit.Period{
		limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week, limit.Month, limit.Year, limit.Lifetime,
	} {
		if r := (limit.Rate{Max: l.Rate, Period: p}); limitOf(r) == l {
			return r
		}
	}
	return limit.Rate{}
}

// Permits reports whether the scope contains the intent uid, as <uid>:execute or <namespace>:*:*:execute. All other forms are ignored. See
// UIM core, section 4.3.
func (c *Claims) Permits(uid string) bool { return permits(c.Scope, uid) }

// Named returns the contents of the scope: the uids of individual intents, and the namespaces that it contains as a whole.
func (c *Claims) Named() (intents, namespaces []string) {
	for _, e := range c.Scope {
		if namespace, whole := strings.CutSuffix(e, wildcard); whole {
			namespaces = append(namespaces, namespace)
		} else if uid, one := strings.CutSuffix(e, operation); one {
			intents = append(intents, uid)
		}
	}
	return intents, namespaces
}

// Principal returns the principal that this PAT identifies.
func (c *Claims) Principal() Principal { return PrincipalOf(c.Subject, c.Assurance) }

// payload returns the claims in the form of a JWT payload.
func (c *Claims) payload() map[string]any {
	m := map[string]any{
		"iss": c.Issuer, "sub": c.Subject, "aud": c.Issuer, "jti": c.ID,
		"iat": c.IssuedAt.Unix(), "nbf": c.NotBefore.Unix(), "exp": c.ExpiresAt.Unix(),
		"scope": c.Scope, "pol": c.Policy, "pol_digest": c.PolicyDigest,
		"lmt": limitOf(c.Limit), "agr": c.Agreement,
	}
	if c.Resource != "" {
		m["aud"] = []string{c.Issuer, c.Resource}
	}
	if c.KeyID != "" {
		m["cnf"] = map[string]any{"jkt": c.KeyID}
	}
	if c.Family != c.ID {
		m["fam"] = c.Family
	}
	if c.Assurance != Fresh {
		m["assurance"] = c.Assurance
	}
	if len(c.Declared) > 0 {
		m["declared"] = c.Declared
	}
	if c.Budget != nil {
		m["bud"] = c.Budget.claim()
	}
	return m
}

var errClaim = errors.New("a claim is missing or of the wrong type")

// readClaims reads a payload strictly: every required claim must be present and of the right type, and no member may occur twice. It
// ignores unknown claims, so that replicas of different versions accept each other's PATs.
func readClaims(payload []byte) (*Claims, error) {
	tree, err := strictjson.DecodeObject(payload)
	if err != nil {
		return nil, errClaim
	}
	r := claimReader{tree: tree}
	c := &Claims{
		Issuer: r.text("iss"), Subject: AgentID(r.text("sub")), ID: TokenID(r.text("jti")),
		IssuedAt: r.date("iat"), NotBefore: r.date("nbf"), ExpiresAt: r.date("exp"),
		Policy: r.text("pol"), PolicyDigest: r.text("pol_digest"), Agreement: AgreementID(r.text("agr")),
		Assurance: Fresh,
	}
	c.Family = c.ID
	if _, renewed := tree["fam"]; renewed {
		c.Family = TokenID(r.text("fam"))
	}
	if c.Scope, err = stringList(tree["scope"]); err != nil || len(c.Scope) == 0 {
		return nil, errClaim
	}
	declared, present := tree["declared"]
	if c.Declared, err = readDeclared(declared, present); err != nil {
		return nil, errClaim
	}
	bud, present := tree["bud"]
	if c.Budget, err = readBudget(bud, present); err != nil {
		return nil, errClaim
	}
	lmt := claimReader{tree: r.object("lmt")}
	c.Limit = Limit{lmt.count("rate"), lmt.count("period")}.rate()
	if _, ok := tree["assurance"]; ok {
		c.Assurance = Assurance(r.text("assurance"))
		if c.Assurance != Static && c.Assurance != Consent && c.Assurance != Implied {
			return nil, errClaim
		}
	}
	if c.Resource, err = readAudience(tree["aud"], c.Issuer); err != nil || (c.Resource != "" || c.Budget != nil) && c.Assurance != Consent {
		return nil, errClaim
	}
	cnf := claimReader{}
	if _, hasKey := tree["cnf"]; c.Assurance != Consent {
		cnf.tree = r.object("cnf")
		c.KeyID = keys.ID(cnf.text("jkt"))
	} else if hasKey {
		return nil, errClaim
	}
	if r.failed || lmt.failed || cnf.failed || c.Limit.Period == "" {
		return nil, errClaim
	}
	return c, nil
}

// readAudience reads aud: the issuer, or a list of the issuer and a resource.
func readAudience(aud any, issuer string) (resource string, err error) {
	if aud == issuer && issuer != "" {
		return "", nil
	}
	list, err := stringList(aud)
	if err != nil || len(list) != 2 || list[0] != issuer || list[1] == "" {
		return "", errClaim
	}
	return list[1], nil
}

// A claimReader records whether any claim was missing or of the wrong type.
type claimReader struct {
	tree   map[string]any
	failed bool
}

func (r *claimReader) text(name string) string {
	s, _ := r.tree[name].(string)
	r.failed = r.failed || s == ""
	return s
}

func (r *claimReader) object(name string) map[string]any {
	m, ok := r.tree[name].(map[string]any)
	r.failed = r.failed || !ok
	return m
}

func (r *claimReader) count(name string) int64 {
	n, ok := r.tree[name].(json.Number)
	i, err := strconv.ParseInt(string(n), 10, 64)
	r.failed = r.failed || !ok || err != nil || i < 0
	return i
}

func (r *claimReader) date(name string) time.Time {
	t, err := numericDate(r.tree[name])
	r.failed = r.failed || err != nil
	return t
}

// numericDate reads seconds since 1970, from 0 to maxDate, and drops fractions. The error is errClaim. See RFC 7519, section 2.
func numericDate(v any) (time.Time, error) {
	n, ok := v.(json.Number)
	if !ok {
		return time.Time{}, errClaim
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f < 0 || f > maxDate {
		return time.Time{}, errClaim
	}
	return time.Unix(int64(f), 0).UTC(), nil
}

// maxDate is the end of the year 9999 in seconds since 1970. RFC 3339 cannot express later times.
const maxDate = 253402300799
