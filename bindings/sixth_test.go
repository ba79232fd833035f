package bindings_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A lineDoor is a door for an invented protocol: agents send lines of JSON over TCP, and the service signs its replies.
type lineDoor struct {
	door.Process
	ln   net.Listener
	busy sync.WaitGroup
}

type lineSettings struct {
	Listen string `yaml:"listen" default:"127.0.0.1:0" doc:"Address and port."`
	open   bool
	key    ed25519.PrivateKey
	public string
}

func (s *lineSettings) Open() bool { return s.open }
func (s *lineSettings) Check(b *config.BlockCheck) {
	s.open = b.Has("")
	b.Listener("listen", s.Listen)
}

func (s *lineSettings) Announce(*service.Definition) service.Announcement {
	return service.Announcement{Members: []intents.Extra{{Name: "uim-line", Value: s.public}}}
}

func (d *lineDoor) Name() string { return "line" }
func (d *lineDoor) Blocks() config.Blocks {
	return config.Blocks{Doors: []config.Block{{Key: "line", Doc: "Lines of JSON.", Settings: (*lineSettings)(nil)}}}
}

func (d *lineDoor) Provision(_ context.Context, p door.Process) error { d.Process = p; return nil }
func (d *lineDoor) Prepare(s *service.Definition) error {
	if set, open := s.Doors["line"].(*lineSettings); open {
		digits, err := d.Data.PrivateKey("line", s.ID)
		seed, _ := hex.DecodeString(digits.Reveal())
		set.key = ed25519.NewKeyFromSeed(seed)
		set.public = base64.RawURLEncoding.EncodeToString(set.key[ed25519.SeedSize:])
		return err
	}
	return nil
}

func (d *lineDoor) Open(ctx context.Context, services []*service.Service) (err error) {
	if set, open := services[0].Doors["line"].(*lineSettings); open && d.ln == nil {
		d.ln, _, err = d.Listen(ctx, set.Listen)
	}
	return err
}

func (d *lineDoor) Run(ctx context.Context) error {
	for c, err := d.ln.Accept(); err == nil; c, err = d.ln.Accept() { // until Drain closes it
		d.busy.Go(func() { d.serve(ctx, c) })
	}
	return nil
}

func (d *lineDoor) Drain(context.Context) int { _ = d.ln.Close(); d.busy.Wait(); return 0 }

func (d *lineDoor) Form() pat.Form {
	return pat.Form{
		Names: []string{"line"}, IsAddress: func(id string) bool { return strings.HasPrefix(id, "line:") },
		Owns: func(id pat.AgentID, key keys.Key) bool { return id == lineID(key) },
		Kept: func(a pat.Agreement) pat.Evidence { return lineAgreement{a.PublicKey, a.Signed, a.Signature} },
	}
}

func lineID(key keys.Key) pat.AgentID { return pat.AgentID("line:" + string(key.Thumbprint())) }

// A lineAgreement is signed text: the issuer, the digest of the policy, a nonce and a time, with a space between them.
type lineAgreement struct{ SPKI, Text, Signature []byte }

func (e lineAgreement) Verify(issuer string, offer pat.Offer) (signer pat.Signer, a pat.Acceptance, err error) {
	key, err := keys.ParseSPKI(e.SPKI)
	texts := strings.Fields(string(e.Text))
	if public, _ := key.Public().(ed25519.PublicKey); err != nil || len(texts) != 4 || texts[0] != issuer || texts[1] != offer.Digest ||
		!ed25519.Verify(public, e.Text, e.Signature) {
		return signer, a, pat.ErrBadSignature
	}
	until, err := time.Parse(time.RFC3339, texts[3])
	by := pat.Signer{ID: lineID(key), Key: key}
	return by, pat.Acceptance{Form: "line", Signed: e.Text, Signature: e.Signature, Nonce: texts[2], Expires: until}, err
}

// serve answers the lines of one connection.
func (d *lineDoor) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		var q struct {
			Agreement *lineAgreement
			PAT, Once string
			Call      json.RawMessage
		}
		s := d.Services()[0]
		set, _ := s.Doors["line"].(*lineSettings)
		from := door.Origin{Door: "line", Service: s.ID, Sender: pat.AgentID(c.RemoteAddr().String()), Confidential: true}
		var answer any
		err := json.Unmarshal(lines.Bytes(), &q)
		switch {
		case err != nil:
		case q.Agreement != nil:
			var issued pat.Issuance
			issued, err = d.Host.Agree(ctx, from, pat.IssueRequest{Evidence: q.Agreement})
			answer = issued.Token
		default:
			if claims, invalid := s.Verifier.Verify(ctx, q.PAT, d.Now()); invalid == nil {
				from.Sender = claims.Subject
			}
			answer, err = d.Host.Execute(ctx, from, door.Call{Token: q.PAT, IdempotencyKey: q.Once, Body: q.Call})
		}
		if f, refused := errors.AsType[*reason.Refusal](err); refused {
			answer = map[string]any{"Refused": f.Reason}
		}
		text, _ := json.Marshal(answer)
		_, _ = c.Write(append([]byte(base64.RawURLEncoding.EncodeToString(ed25519.Sign(set.key, text))+" "), append(text, '\n')...))
	}
}

// A door with its own key, port and form of agreement is one file of at most 150 lines. Its calls are charged and executed once.
func TestCustomDoor(t *testing.T) {
	t.Parallel()
	own := &lineDoor{}
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+
		", doors: {line: {}}}\n", func(g *gatetest.Gate) { g.Modules = append(g.Modules, own) })
	lineSession(t, g, own.ln.Addr().String())
}
