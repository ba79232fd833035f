package page

import (
	"cmp"
	"context"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl/words"
)

const (
	// Limits on the rules of the policy. The page links to the complete policy.
	frontSentences = 200    // rules of the policy
	frontWords     = 16_000 // bytes of their text
	// Limits on each intent. The page links to the complete intent.
	frontParameters  = 50   // inputs, and as many outputs
	frontTags        = 20   // tags
	frontDescription = 2000 // bytes of the description of an intent or service
	frontParameter   = 500  // bytes of the description of a parameter
)

// A frontView is the template data of the front page.
type frontView struct {
	Style     template.CSS
	Script    template.JS
	Service   intents.Service
	About     template.HTML // the service's description
	Name      string
	Links     frontLinks
	Notes     template.HTML // the notes that doors add
	Found     *foundView
	Summary   []summaryView
	MoreTerms int // intents that Summary does not include
	Policy    []topicView
	MoreRule  int // rules that are not shown
	Next      *nextView
	License   licenseView
	Keeps     []string // the rules that the service claims to follow
	Start     startView
	Consents  bool // people can agree for programs without a key
}

type frontLinks struct {
	Service, Agents, Policy, Search, Execute, Issue, OpenAPI, Errors, Protocol, MCP string
}

// A topicView holds the rules of one topic.
type topicView struct {
	Title     string
	Sentences []words.Sentence
}

type licenseView struct {
	Text  string // the name
	URL   string
	Plain []string // its elements in plain words
}

// A startView holds the values that an agent needs in order to agree.
type startView struct {
	Audience, PolicyUID, Digest string
	TokenRate                   string
	Admitted                    bool // the operator decides which agents may agree
}

// An intentView is the template data of one intent.
type intentView struct {
	UID, Name             string
	Description           template.HTML
	URL                   string
	Address               string // URL of a page with only this intent
	Tags                  []tagView
	Terms                 string // such as: free, 600 calls an hour
	Open                  bool   // the details are expanded
	Brief                 bool   // the details are omitted
	Safe, FreshOnly       bool
	Proved, ChargesProved bool // each call requires a proof of key; each call that costs money requires one
	Ceiling               string
	Inputs, Outputs       []parameterView
	More                  int    // inputs and outputs that are not shown
	Example               string // a shell command
	Placeholders          bool   // Example has values that must be replaced
	ProofURL              string // how to make the proof of key in Example; empty if the call needs none
}

// A parameterView is one input or output.
type parameterView struct {
	Name, Type  string
	Description template.HTML
	Required    bool
	Rules       []string
	Default     string // JSON; may be empty
}

func newFrontView(s *service.Definition) frontView {
	info, announced := s.Catalog.Service, s.Announced()
	v := frontView{
		Style:   template.CSS(frontCSS),   //nolint:gosec // a constant file of this package
		Script:  template.JS(frontScript), //nolint:gosec // a constant file of this package
		Service: info, Name: s.Name(), About: markdown(cut(info.Description, frontDescription)),
		Links: frontLinks{
			Agents: s.At("/agents.json"), Policy: s.At("/api/policy"), Search: s.At("/api/intents/search") + "?view=brief",
			Execute: s.At("/api/intents/execute"), Issue: s.At("/api/pat/issue"), OpenAPI: s.At("/openapi.json"),
			Errors: s.At("/errors"), Protocol: s.At(ProtocolPath), Service: s.PublicURL.String(), MCP: announced.EntryPoint("mcp"),
		},
		Notes:   announced.Note,
		License: licenseOf(s.Catalog.License), Consents: announced.Consent != nil && announced.Consent.Open,
		Keeps: complianceRules(s.Catalog.Compliance),
		Start: startView{
			Audience: s.Issuer, PolicyUID: s.Offer().UID, Digest: s.Offer().Digest, TokenRate: rateWords(s.TokenRate),
			Admitted: !s.OpenAdmission,
		},
	}
	v.Policy, v.MoreRule = topics(words.Explain(s.Policy))
	v.Next = nextOf(s)
	return v
}

// A nextView describes the policy that takes effect next.
type nextView struct {
	From, URL string
	Changes   []changeView
}

// A changeView describes one change for agents, and the rule that changes. About may be empty.
type changeView struct{ About, Text string }

// nextOf returns the view of the policy that takes effect next, or nil if there is none.
func nextOf(s *service.Definition) *nextView {
	next := s.Successor()
	if next == nil {
		return nil
	}
	v := &nextView{From: next.From.Format("2 January 2006 15:04 UTC"), URL: next.URL}
	for _, c := range next.Changes {
		v.Changes = append(v.Changes, changeView{c.About, c.Text})
	}
	return v
}

func newIntentView(ctx context.Context, s *service.Definition, in *service.Intent) intentView {
	uid := in.UID.String()
	v := intentView{
		UID: uid, Name: cmp.Or(in.Name, in.UID.Name), Description: markdown(cut(in.Description, frontDescription)),
		URL: s.At("/api/intents/" + url.PathEscape(uid)), Address: "?" + url.Values{"intent": {uid}}.Encode() + "#intents",
		Terms: ShortTerms(ctx, s, in), Safe: in.Safe, FreshOnly: in.FreshOnly,
		Proved: in.ProvedAlways(), ChargesProved: in.Price != "" && in.ProvedWhereCharged(),
	}
	for _, tag := range in.Tags[:min(len(in.Tags), frontTags)] {
		v.Tags = append(v.Tags, tagView{Name: tag, Address: Query{Tag: tag}.address(1)})
	}
	if in.Ceiling.Max > 0 {
		v.Ceiling = rateWords(in.Ceiling)
	}
	v.Inputs, v.Outputs = parametersOf(in.Inputs), parametersOf(in.Outputs)
	v.More = len(in.Inputs) + len(in.Outputs) - len(v.Inputs) - len(v.Outputs)
	proof := v.Proved || v.ChargesProved || !in.FreshOnly && s.NeedsKey(ctx, in)
	if proof {
		v.ProofURL = s.At(ProtocolPath) + proofSection
	}
	v.Example, v.Placeholders = exampleCall(s.At("/api/intents/execute"), in.Intent, proof)
	return v
}

func parametersOf(list []intents.Parameter) []parameterView {
	var out []parameterView
	for i := range list[:min(len(list), frontParameters)] {
		p := &list[i]
		v := parameterView{
			Name: p.Name, Type: p.Type, Description: markdown(cut(p.Description, frontParameter)), Required: p.Required,
			Rules: schemaRules(p.Schema),
		}
		if p.HasDefault {
			v.Default = cut(jsonText(p.Default), frontParameter)
		}
		out = append(out, v)
	}
	return out
}

// cut returns s if it has at most maxBytes bytes. Otherwise it returns the first maxBytes bytes, without a character that this cuts in two,
// and an ellipsis.
func cut(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxBytes], "") + "…"
}

// topics groups the sentences of a policy under headings. It omits sentences beyond the limits on the page; more is the number of omitted
// rules.
func topics(list []words.Sentence) (out []topicView, more int) {
	kept := map[words.Topic][]words.Sentence{}
	room := frontWords
	for i, sentence := range list {
		room -= len(sentence.Text)
		for _, term := range sentence.Terms {
			room -= len(term)
		}
		if (i >= frontSentences || room < 0) && sentence.Topic != words.Generally {
			more++
			continue
		}
		if len(kept[sentence.Topic]) < frontSentences {
			kept[sentence.Topic] = append(kept[sentence.Topic], sentence)
		}
	}
	for _, t := range []struct {
		topic words.Topic
		title string
	}{{words.Permitted, "What is permitted"}, {words.Forbidden, "What is forbidden"}, {
		words.Owed,
		"Duties of every call",
	}, {words.Generally, "In general"}} {
		if len(kept[t.topic]) > 0 {
			out = append(out, topicView{t.title, kept[t.topic]})
		}
	}
	return out, more
}

// licenseOf describes a licence. It sets Plain only for licences of the UIM scheme.
func licenseOf(text string) licenseView {
	v := licenseView{Text: text}
	if u, err := url.Parse(text); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil {
		v.URL = text
	}
	if l, err := intents.ParseLicense(text); err == nil {
		v.Text, v.Plain = l.String(), l.Plain()
	}
	return v
}

// complianceRules lists the rules that the service claims to follow.
func complianceRules(c intents.Compliance) []string {
	var list []string
	for _, group := range []struct {
		title string
		names []string
	}{{"Standards", c.Standards}, {"Certifications", c.Certifications}} {
		if len(group.names) > 0 {
			list = append(list, group.title+": "+strings.Join(group.names, ", "))
		}
	}
	for _, region := range slices.Sorted(maps.Keys(c.Regional)) {
		list = append(list, region+": "+c.Regional[region])
	}
	if c.Notes != "" {
		list = append(list, c.Notes)
	}
	return list
}

// rateWords describes a rate for people.
func rateWords(r limit.Rate) string {
	n := strconv.FormatInt(r.Max, 10) + " calls "
	switch {
	case r.Period == limit.Lifetime:
		return n + "in all"
	case r.Period.Calendar():
		return n + "in a calendar " + string(r.Period) + " (UTC)"
	default:
		return n + "in any " + string(r.Period)
	}
}
