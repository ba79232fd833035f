package x402

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// MaxHeader is the maximum length of the value of a header field, in bytes.
	MaxHeader = 8 << 10
	// MaxDocument is the maximum length of a payment as JSON, in bytes.
	MaxDocument = MaxHeader / 4 * 3
	// maxValues is the maximum number of values in a payment.
	maxValues = 256
)

// A Payload is a payment as a payer sends it. String and GoString omit its signature. x402 5.2.
type Payload struct {
	Accepted    Requirements // the terms that the payer has chosen, as the payer states them
	From, To    string       // the addresses of the payer and of the receiver, in lower case
	Value       *big.Int     // atomic units
	ValidBefore time.Time
	Nonce       string // 32 bytes, hexadecimal, in lower case
	ID          string // the payer's id for the payment; empty: none

	document []byte
}

// String returns the Reference, which does not contain the signature.
func (p *Payload) String() string { return p.Reference() }

// GoString returns the Reference, so that %#v does not print the signature.
func (p *Payload) GoString() string { return p.Reference() }

// Reference identifies a payment among all payments of all chains: each nonce of a payer moves tokens only once. It has at most 200 bytes.
func (p *Payload) Reference() string {
	return "x402:" + strings.ToLower(p.Accepted.Network+":"+p.Accepted.Asset+":"+p.From+":"+p.Nonce)
}

// Digest returns the SHA-256 of the payment, in hexadecimal.
func (p *Payload) Digest() string {
	sum := sha256.Sum256(p.document)
	return hex.EncodeToString(sum[:])
}

// A FormError means that a payment cannot be read. Its text has no values of the payment.
type FormError struct {
	Pointer string // JSON pointer; empty: the payment as a whole
	Problem string
}

func (e *FormError) Error() string {
	if e.Pointer == "" {
		return "the payment " + e.Problem
	}
	return e.Pointer + " of the payment " + e.Problem
}

// ReadHeader reads a payment from the value of a header field: standard base64 with padding. The error is a *FormError.
func ReadHeader(value string) (*Payload, error) {
	if len(value) > MaxHeader {
		return nil, &FormError{"", "is longer than " + strconv.Itoa(MaxHeader) + " bytes"}
	}
	text, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil {
		return nil, &FormError{"", "is not base64: use the standard alphabet with padding"}
	}
	return Read(text)
}

// Read reads a payment from JSON of at most MaxDocument bytes. The error is a *FormError.
func Read(text []byte) (*Payload, error) {
	if len(text) > MaxDocument {
		return nil, &FormError{"", "is longer than " + strconv.Itoa(MaxDocument) + " bytes"}
	}
	tree, err := strictjson.DecodeObjectOf(text, maxValues)
	if err != nil {
		return nil, &FormError{"", "is not a JSON object of at most " + strconv.Itoa(maxValues) + " values"}
	}
	return read(tree)
}

// ReadTree reads a payment from JSON that has been decoded. The error is a *FormError.
func ReadTree(tree any) (*Payload, error) {
	object, ok := strictjson.AsObject(tree)
	if !ok {
		return nil, &FormError{"", "is not a JSON object"}
	}
	text, err := strictjson.Append(nil, map[string]any(object))
	if err != nil {
		return nil, &FormError{"", "cannot be encoded as JSON"}
	}
	return Read(text) // which checks the bounds
}

var (
	network = regex.Lazy(`^eip155:[1-9][0-9]{0,17}$`)
	address = regex.Lazy(`^0x[0-9a-fA-F]{40}$`)
	word    = regex.Lazy(`^0x[0-9a-fA-F]{64}$`)
	natural = regex.Lazy(`^(0|[1-9][0-9]{0,77})$`)
	name    = regex.Lazy(`^[A-Za-z0-9_-]{16,128}$`)
)

// Network reports whether a string is the name of a network on which payments can be made: eip155 and the number of a chain.
func Network(text string) bool { return network().MatchString(text) }

// Address reports whether a string is the address of an account or a contract: 0x and 40 hexadecimal digits.
func Address(text string) bool { return address().MatchString(text) }

func read(tree strictjson.Object) (*Payload, error) {
	if tree.Number("x402Version").String() != strconv.Itoa(Version) {
		return nil, &FormError{"/x402Version", "must be 2"}
	}
	accepted := tree.Object("accepted")
	authorization := tree.Object("payload").Object("authorization")
	for _, m := range []struct {
		in            strictjson.Object
		pointer, name string
		form          func() *regexp.Regexp
		want          string
	}{
		{accepted, "/accepted", "network", network, "must be a network such as eip155:8453"},
		{accepted, "/accepted", "asset", address, "must be the address of a contract"},
		{accepted, "/accepted", "payTo", address, "must be an address"},
		{accepted, "/accepted", "amount", natural, "must be a whole number as text"},
		{tree.Object("payload"), "/payload", "signature", signature, "must be hexadecimal digits after 0x"},
		{authorization, "/payload/authorization", "from", address, "must be an address"},
		{authorization, "/payload/authorization", "to", address, "must be an address"},
		{authorization, "/payload/authorization", "value", natural, "must be a whole number as text"},
		{authorization, "/payload/authorization", "validAfter", natural, "must be seconds since 1970 as text"},
		{authorization, "/payload/authorization", "validBefore", natural, "must be seconds since 1970 as text"},
		{authorization, "/payload/authorization", "nonce", word, "must be 32 bytes in hexadecimal digits after 0x"},
	} {
		if !m.form().MatchString(m.in.Text(m.name)) {
			return nil, &FormError{m.pointer + "/" + m.name, m.want}
		}
	}
	if err := closed(tree.Object("payload"), authorization); err != nil {
		return nil, err
	}
	p := &Payload{
		Accepted: Requirements{
			Scheme: accepted.Text("scheme"), Network: accepted.Text("network"), Amount: accepted.Text("amount"),
			Asset: accepted.Text("asset"), PayTo: accepted.Text("payTo"),
		},
		From: strings.ToLower(authorization.Text("from")), To: strings.ToLower(authorization.Text("to")),
		Nonce: strings.ToLower(authorization.Text("nonce")), ValidBefore: before(authorization.Text("validBefore")),
	}
	p.Value, _ = new(big.Int).SetString(authorization.Text("value"), 10)
	info := tree.Object("extensions").Object("payment-identifier").Object("info")
	if p.ID = info.Text("id"); info.Has("id") && !name().MatchString(p.ID) {
		return nil, &FormError{"/extensions/payment-identifier/info/id", "must be 16 to 128 letters, digits, - and _"}
	}
	var err error
	if p.document, err = strictjson.Append(nil, map[string]any(tree)); err != nil {
		return nil, &FormError{"", "cannot be encoded as JSON"}
	}
	return p, nil
}

// closed refuses a payment with members that the gateway does not read. A facilitator could use such a member, for example a
// permit2Authorization, to settle a different payment than the one that Reference identifies.
func closed(payload, authorization strictjson.Object) error {
	for _, o := range []struct {
		in      strictjson.Object
		pointer string
		members []string
	}{
		{payload, "/payload", []string{"signature", "authorization"}},
		{authorization, "/payload/authorization", []string{"from", "to", "value", "validAfter", "validBefore", "nonce"}},
	} {
		for _, name := range o.in.Names() {
			if !slices.Contains(o.members, name) {
				return &FormError{o.pointer, "must have no members other than " + strings.Join(o.members, ", ")}
			}
		}
	}
	return nil
}

// signature matches signatures of keys and of contracts. MaxDocument bounds their length.
var signature = regex.Lazy(`^0x([0-9a-fA-F]{2})+$`)

// before returns the end of an authorization. An end after the year 9999 becomes the end of that year.
func before(text string) time.Time {
	const farthest = 253402300799
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > farthest {
		n = farthest
	}
	return time.Unix(n, 0)
}
