package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A card is an encoded agent card. See A2A 1.0, section 8.
type card struct {
	body []byte
	etag string
	keys []keys.ID // the keys that signed the card
}

// serveCard serves the card of a service to all clients, and lets web pages of every origin read it.
func (d *Door) serveCard(w http.ResponseWriter, r *http.Request, v *door.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	x := &exchange{Request: v, d: d, w: w, r: r, rest: true}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "A2A-Version, A2A-Extensions, If-None-Match")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		x.refuse(reason.MethodNotAllowed.Refusal(""))
		return
	}
	c, err := d.cardOf(r.Context(), v.Service.Definition)
	if err != nil {
		x.refuse(refusalOf(err))
		return
	}
	h.Set("Cache-Control", "public, max-age=60")
	h.Set("ETag", c.etag)
	h.Set("Access-Control-Expose-Headers", "ETag")
	if wire.MatchesETag(r.Header.Get("If-None-Match"), c.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(c.body)
	}
}

// cardOf returns the card of a service. It signs the card again when a signing key has been replaced.
func (d *Door) cardOf(ctx context.Context, s *service.Definition) (*card, error) {
	signers := make([]keys.ID, 0, len(d.signers))
	for _, signer := range d.signers {
		id, err := signer.Signer(ctx)
		if err != nil {
			return nil, err
		}
		signers = append(signers, id)
	}
	good := func(c *card) bool { return slices.Equal(c.keys, signers) }
	return d.cards.Get(s, good, func() (*card, error) {
		body, err := signed(ctx, s, describedBy(s), d.signers)
		if err != nil {
			return nil, err
		}
		return &card{body: body, etag: wire.ETag(body), keys: signers}, nil
	})
}

// signed adds the signatures of all signers to card, and returns the RFC 8785 form of the result. The signatures cover the RFC 8785 form of
// the card without signatures. Without signers, the result has no signatures. The card must not have members that some readers omit before
// they verify it. A2A 1.0, 8.4.
func signed(ctx context.Context, s *service.Definition, card strictjson.Object, signers []*keys.Keyring) ([]byte, error) {
	payload, err := strictjson.Canonical(card)
	if err != nil {
		return nil, err
	}
	if len(signers) == 0 {
		return payload, nil
	}
	list := make([]any, 0, len(signers))
	for _, signer := range signers {
		made, err := signer.SignDetached(ctx, map[string]any{"typ": "JOSE", "jku": s.At("/.well-known/jwks.json")}, payload)
		if err != nil {
			return nil, err
		}
		list = append(list, map[string]any{"protected": made.Protected, "signature": made.Signature})
	}
	card["signatures"] = list
	return strictjson.Canonical(card)
}

const (
	maxSkills     = 500
	maxSchemas    = 64 << 10 // bytes of all schemas in a card
	versionDigits = 12
)

// describedBy returns the card of a service without signatures. The card contains no empty strings or lists: readers differ in whether the
// signed form contains members that have their default values.
func describedBy(s *service.Definition) strictjson.Object {
	about, offered := s.Catalog.Service, s.Offered()
	description := descriptionOf(s)
	if len(offered) > maxSkills {
		slices.SortFunc(offered, func(a, b *service.Intent) int { return a.UID.Compare(b.UID) })
		offered = offered[:maxSkills]
		description += " (Only some of the intents are listed as skills; find all of them at " + s.At("/api/intents/search") + "?view=brief.)"
	}
	at := s.At(SettingsOf(s).Path)
	card := strictjson.Object{
		"name": nameOf(s), "description": description, "version": versionOf(s),
		"supportedInterfaces": []any{
			strictjson.Object{"url": at, "protocolBinding": "JSONRPC", "protocolVersion": version},
			strictjson.Object{"url": at + belowREST, "protocolBinding": "HTTP+JSON", "protocolVersion": version},
		},
		"capabilities": strictjson.Object{
			"streaming": true, "pushNotifications": false, "extendedAgentCard": false, "extensions": []any{extension(s, offered)},
		},
		"securitySchemes":   securitySchemes(s),
		"defaultInputModes": []any{jsonType, textType}, "defaultOutputModes": []any{jsonType, textType},
		"skills":           skills(s, offered),
		"documentationUrl": firstOf(about.DocumentationURL, about.TermsURL, s.At("/api/policy")),
	}
	if about.Name != "" && about.URL != "" {
		card["provider"] = strictjson.Object{"organization": about.Name, "url": about.URL}
	}
	if about.LogoURL != "" {
		card["iconUrl"] = about.LogoURL
	}
	return card
}

// securitySchemes returns the ways to authenticate. A2A 1.0, 4.5. The card has no security requirements, because clients expect them in
// different forms.
func securitySchemes(s *service.Definition) strictjson.Object {
	schemes := strictjson.Object{
		"pat": strictjson.Object{"httpAuthSecurityScheme": strictjson.Object{
			"scheme": "Bearer", "bearerFormat": "JWT",
			"description": "UIM Policy Adherence Token: sign an agreement to the policy at " + s.At("/api/policy") + " and send it to " +
				s.At("/api/pat/issue") + ".",
		}},
	}
	if consent.Open(s) { // all doors share the consent page
		token := s.At(consent.TokenPath)
		schemes["oauth"] = strictjson.Object{"oauth2SecurityScheme": strictjson.Object{
			"description": "For agents without a key: a person reads the terms on a page and agrees. Nothing is charged.",
			"flows": strictjson.Object{"authorizationCode": strictjson.Object{
				"authorizationUrl": s.At(consent.AuthorizePath), "tokenUrl": token, "refreshUrl": token, "pkceRequired": true,
				"scopes": strictjson.Object{pat.WholeScope(s.Issuer): "Call every intent that the person agrees to."},
			}},
			"oauth2MetadataUrl": s.At(consent.MetadataPath),
		}}
	}
	return schemes
}

// versionOf returns a version of the card that changes when the catalogue changes.
func versionOf(s *service.Definition) string {
	body, err := s.AgentsFile("")
	if err != nil {
		body = []byte(s.Offer().Digest)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])[:versionDigits]
}

// skills returns a skill for each offered intent. If there are no intents, it returns one skill that describes the service. A2A 1.0, 4.4.5.
func skills(s *service.Definition, offered []*service.Intent) []any {
	list := make([]any, 0, max(1, len(offered)))
	for _, in := range offered {
		tags := []any{}
		for _, tag := range in.Tags {
			if tag = strings.TrimSpace(tag); tag != "" {
				tags = append(tags, tag)
			}
		}
		if len(tags) == 0 {
			tags = append(tags, firstOf(in.Category, "uim"))
		}
		list = append(list, strictjson.Object{
			"id": in.ID, "name": firstOf(in.Name, in.ID), "description": firstOf(in.Description, in.Name, in.ID), "tags": tags,
			"examples": []any{string(exampleOf(in.Intent))}, "inputModes": []any{jsonType}, "outputModes": []any{jsonType},
		})
	}
	if len(list) == 0 { // some readers reject a card without skills
		list = append(list, strictjson.Object{
			"id": "describe", "name": "Describe", "description": "Describe what " + nameOf(s) + " offers.", "tags": []any{"uim"},
		})
	}
	return list
}

// extension describes the UIM extension: the addresses of the UIM endpoints, and the schemas of the skills if they are short enough.
func extension(s *service.Definition, offered []*service.Intent) strictjson.Object {
	policy := strictjson.Object{}
	for name, value := range s.PolicyRef() {
		if value != "" {
			policy[name] = value
		}
	}
	params := strictjson.Object{
		"agents_file": s.At("/agents.json"), "policy": policy, "pat_issue": s.At("/api/pat/issue"),
		"intents_search": s.At("/api/intents/search"), "execute": s.At("/api/intents/execute"),
	}
	if next := s.Successor(); next != nil {
		params["policy_successor"] = strictjson.Object{
			"uid": next.UID, "digest": next.Digest, "url": next.URL, "from": next.From.Format(time.RFC3339),
		}
	}
	if names := s.Catalog.Namespaces(); len(names) > 0 {
		list := make([]any, 0, len(names))
		for _, name := range names {
			list = append(list, name)
		}
		params["namespaces"] = list
	}
	timeouts := strictjson.Object{}
	for _, in := range offered {
		if in.Timeout > 0 {
			timeouts[in.ID] = json.Number(strconv.FormatInt(intents.Seconds(in.Timeout), 10))
		}
	}
	if len(timeouts) > 0 {
		params["timeouts"] = timeouts
	}
	if schemas := schemasOf(offered); len(schemas) > 0 {
		params["schemas"] = schemas
	}
	return strictjson.Object{
		"uri": Extension, "params": params,
		"description": "UIM: intents under an agreed policy. Messages may carry a proof of key in their metadata; responses contain charges and limits.",
	}
}

// schemasOf returns the input and output schemas of the intents by intent id, or nil if they are longer than maxSchemas in total. It omits
// schemas that are not plain; see plain.
func schemasOf(offered []*service.Intent) strictjson.Object {
	schemas, size := strictjson.Object{}, 0
	for _, in := range offered {
		both := strictjson.Object{}
		for name, schema := range map[string]strictjson.Object{"input": in.InputSchema(), "output": in.OutputSchema()} {
			text, err := strictjson.Append(nil, schema)
			if err != nil || schema == nil {
				continue
			}
			if size += len(text); size > maxSchemas {
				return nil
			}
			if tree, err := strictjson.Decode(text); err == nil && plain(tree) {
				both[name] = tree
			}
		}
		if len(both) > 0 {
			schemas[in.ID] = both
		}
	}
	return schemas
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return "uim"
}
