package uagents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/chat"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// Bounds of the texts in a chat.
const (
	listed         = 20   // intents
	best           = 3    // intents, for a message that is not a command
	longAbout      = 300  // bytes about one intent in a list
	longPolicy     = 4000 // bytes of a policy that is quoted in full
	longPretty     = 8 << 10
	chatQuery      = 200 // bytes of a message that the search uses
	mostParameters = 50
)

// sayings maps the commands of a chat to their handlers, which return the text of the reply. Any other text is a search.
var sayings = map[string]func(x *exchange, m chat.Message, c chat.Command) (string, error){
	"help":   (*exchange).sayHelp,
	"list":   (*exchange).sayList,
	"show":   (*exchange).sayIntent,
	"policy": (*exchange).sayPolicy,
	"agree":  (*exchange).sayAgreed,
	"run":    (*exchange).sayResult,
	"":       (*exchange).sayFound,
}

// talkAdvice maps reasons to the suggestions of refusals in a chat.
var talkAdvice = map[reason.Reason]string{
	reason.MissingToken:               sayAgree,
	reason.ExpiredToken:               sayAgree,
	reason.RevokedToken:               sayAgree,
	reason.PolicyRequiresAgreement:    sayAgree,
	reason.PolicyMismatch:             sayAgree,
	reason.FreshAgreementRequired:     sayAgree,
	reason.PolicyRequiresVerification: advice[reason.PolicyRequiresVerification],
	reason.AgreementReplayed:          advice[reason.AgreementReplayed],
	reason.AgreementStale:             "Send the message in an envelope that expires within 15 minutes, and check your clock.",
	reason.IdempotencyKeyReused:       "Send it as a new message, with a new msg_id.",
	reason.UnknownPlan:                sayPlan,
	reason.PlanRequired:               sayPlan,
	reason.IntentNotFound:             "Send list and some words to find the uid of an intent.",
}

const sayPlan = "Send agree, the digest of the policy, the word plan and the name of one of the plans."

const sayAgree = "Send policy, read the terms, and send the agree command that follows them."

// chat handles ChatMessage. If the transport can send envelopes ahead of the reply, chat first sends an acknowledgement. If a message only
// ends the session, the acknowledgement is the reply.
func (x *exchange) chat(strictjson.Object) (envelope.Envelope, error) {
	raw, err := x.Message()
	if err != nil {
		return envelope.Envelope{}, err
	}
	m, err := chat.Parse(raw)
	if err != nil {
		return x.explain(reason.MalformedRequest.Refusal(err.Error()), err.Error())
	}
	taken, err := chat.Acknowledge(m.ID, x.d.now())
	if err != nil {
		return envelope.Envelope{}, reason.Internal.Refusal("The reply could not be encoded.").Because(err)
	}
	acknowledged := x.reply("ChatAcknowledgement", protocol.Chat().Digest, taken)
	if m.Ends && m.Text == "" {
		return acknowledged, nil
	}
	if x.ahead != nil { // a call may take a long time
		x.ahead(acknowledged)
	}
	text, err := chat.Say(x.say(m), false, x.d.now())
	if err != nil {
		return envelope.Envelope{}, reason.Internal.Refusal("The reply could not be encoded.").Because(err)
	}
	return x.reply("ChatMessage", protocol.Chat().Digest, text), nil
}

// say returns the reply to a message.
func (x *exchange) say(m chat.Message) string {
	c := chat.Read(m.Text)
	text, err := sayings[c.Name](x, m, c)
	if err != nil {
		return refusal.Sentence(x.refused(err, talkAdvice))
	}
	return text
}

func (x *exchange) sayHelp(chat.Message, chat.Command) (string, error) {
	return x.title() + "\n\n" + `Send one of:
- list [words]: list all intents, or those that match the words
- show <uid>: describe an intent, with its parameters and an example
- policy: show the terms of use, and how to agree to them
- run <uid> <JSON>: call an intent with these parameters, once you have agreed
Any other text is a search.`, nil
}

func (x *exchange) title() string {
	about := x.Service.Catalog.Service
	return strings.TrimSuffix(tool.Plain(about.Name+": "+about.Description, longAbout), ":")
}

func (x *exchange) sayList(_ chat.Message, c chat.Command) (string, error) {
	found, more := x.find(c.Rest, listed)
	if len(found) == 0 {
		return "No intent matches that. Send list to see all intents.", nil
	}
	text := x.lines(found)
	if more > 0 {
		text += fmt.Sprintf("\n… and %d more: send list with some words to see fewer.", more)
	}
	return text + "\nSend show and a uid to see how to call the intent.", nil
}

// sayFound replies to a message that is not a command. If the message has text, the reply lists the intents that best match the text.
func (x *exchange) sayFound(m chat.Message, c chat.Command) (string, error) {
	if c.Rest == "" {
		if m.Others > 0 {
			return "This agent reads only text. Send help for a list of commands.", nil
		}
		return x.sayHelp(m, c)
	}
	found, _ := x.find(c.Rest, best)
	if len(found) == 0 {
		return "No intent matches that. Send list to see all intents, or help for a list of commands.", nil
	}
	var b strings.Builder
	b.WriteString("These intents match best:\n" + x.lines(found) + "\nTo call one of them, send:")
	for _, in := range found {
		b.WriteString("\n" + runOf(in))
	}
	return b.String(), nil
}

// find returns the offered intents that best match the words, at most maxIntents of them, and the number of further matches.
func (x *exchange) find(words string, maxIntents int) (found []*service.Intent, more int) {
	if len(words) > chatQuery {
		words = strings.ToValidUTF8(words[:chatQuery], "")
	}
	result := x.Service.Catalog.Search(intents.Query{Text: words, PageSize: maxIntents})
	for _, in := range result.Intents {
		if one, err := x.Service.Intent(in.UID.String()); err == nil && slices.Contains(x.Service.Offered(), one) {
			found = append(found, one)
		}
	}
	return found, max(result.TotalResults-len(result.Intents), 0)
}

func (x *exchange) lines(list []*service.Intent) string {
	var b strings.Builder
	for _, in := range list {
		about := strings.ReplaceAll(tool.Plain(in.Description, longAbout), "\n", " ")
		fmt.Fprintf(&b, "- %s: %s (%s)\n", in.ID, about, page.ShortTerms(x.r.Context(), x.Service.Definition, in))
	}
	return strings.TrimRight(b.String(), "\n")
}

// runOf returns a message that calls an intent with its required parameters.
func runOf(in *service.Intent) string {
	_, values, _ := page.Example(in.Intent)
	text, err := json.Marshal(values)
	if err != nil {
		text = []byte("{}")
	}
	return "run " + in.ID + " " + string(text)
}

// sayIntent describes one intent to a caller.
func (x *exchange) sayIntent(_ chat.Message, c chat.Command) (string, error) {
	uid, _ := c.Cut()
	in, err := x.Service.Intent(uid)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nTerms: %s\n", in.ID, tool.Plain(in.Description, longPolicy),
		page.ShortTerms(x.r.Context(), x.Service.Definition, in))
	for _, p := range in.Inputs[:min(len(in.Inputs), mostParameters)] {
		need := "optional"
		if p.Required {
			need = "required"
		}
		kind, _ := p.Schema["type"].(string)
		fmt.Fprintf(&b, "- %s (%s): %s\n", p.Name, strings.TrimPrefix(kind+", "+need, ", "), tool.Plain(p.Description, longAbout))
	}
	b.WriteString("To call it, send: " + runOf(in))
	return b.String(), nil
}

// sayPolicy returns the terms, and the command that agrees to them.
func (x *exchange) sayPolicy(chat.Message, chat.Command) (string, error) {
	offer := x.Service.Offer()
	document := string(offer.Bytes)
	if len(document) > longPolicy {
		document = "The document is at " + x.Service.PolicyRef()["url"]
	}
	text := "The policy " + offer.UID + " of " + x.Service.Issuer + ":\n" + document +
		"\n\nTo agree to it, send exactly the following text, in an envelope that your agent's key signs:\nagree " + offer.Digest
	if plans := x.Service.Policy.Plans(); len(plans) > 0 {
		text += "\nTo choose a plan, add a space, the word plan, a space and its name. The plans are: " + strings.Join(plans, ", ")
	}
	return text, nil
}

// sayAgreed accepts an agreement. The envelope is the evidence, as with UIMAgree.
func (x *exchange) sayAgreed(m chat.Message, _ chat.Command) (string, error) {
	_, plan, exactly := m.Agrees()
	if !exactly {
		text := "To agree, send agree and the digest of the policy in one item of text, without any other words."
		if len(x.Service.Policy.Plans()) > 0 {
			text += " To choose a plan, add the word plan and its name."
		}
		return "", reason.MalformedRequest.Refusal(text).
			With("suggestion", sayAgree)
	}
	issued, err := x.issue(plan)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("You have agreed, as %s, until %s. You may call:\n- %s\nTo call an intent, send run, its uid and its parameters as JSON.",
		issued.Claims.Subject, issued.Claims.ExpiresAt.UTC().Format("2006-01-02 15:04 MST"), strings.Join(issued.Claims.Scope, "\n- ")), nil
}

// sayResult executes a call under the sender's newest PAT. The message id is the idempotency key, so the call is executed only once, even
// if the message arrives several times or in different envelopes.
func (x *exchange) sayResult(m chat.Message, c chat.Command) (string, error) {
	uid, text := c.Cut()
	request, malformed := execute.Request{IntentUID: uid, At: "", Parameters: strictjson.Object{}}, error(nil)
	if text != "" {
		tree, err := strictjson.DecodeObjectOf([]byte(text), wire.MaxValues)
		if err != nil {
			malformed = wire.Malformed(err)
		}
		request.Parameters = tree
	}
	result, err := x.call("", Name+":"+m.ID, request, malformed)
	if err != nil {
		return "", err
	}
	output, err := x.output(&result)
	if err != nil {
		return "", err
	}
	message := string(output)
	var pretty bytes.Buffer
	if len(output) <= longPretty && json.Indent(&pretty, output, "", "  ") == nil {
		message = pretty.String()
	}
	if charge := x.header.Get(wire.Charge); charge != "" {
		message += "\n\nCharged: " + charge
	}
	return message, nil
}
