package a2a

import (
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxMessageID = 124 // bytes; keyPrefix and the id form an idempotency key
	maxContextID = 128
	maxTaskID    = 64
	maxProof     = 16 << 10
	maxParts     = 100
	maxModes     = 100
)

// A message holds the members of an agent's message that the door uses. A2A 1.0, 3.2.1 and 4.1.4.
type message struct {
	id, contextID, taskID string
	data                  strictjson.Object // the call; nil if the message is plain text
	text                  string
	proof                 string // a proof of key
	payment               any    // an x402 payment, as sent; nil: none
	traceparent           string // as sent
	immediately           bool   // respond before the task ends
	modes                 []string
}

// readMessage reads the parameters of an operation that sends a message. It returns a fault if they are invalid, or if the client accepts
// no media type that the response can have.
func readMessage(params strictjson.Object) (*message, *fault) {
	outer := members{object: params}
	in := outer.within("message", true)
	settings := outer.within("configuration", false)
	m := &message{
		id: in.text("messageId", maxMessageID, true), taskID: in.text("taskId", maxTaskID, false),
		contextID: in.text("contextId", 1<<10, false), immediately: settings.flag("returnImmediately"),
	}
	role := in.text("role", 1<<10, true)
	settings.number("historyLength", 0, 1<<20, 0)
	metadata := in.within("metadata", false)
	m.traceparent, _ = metadata.object["traceparent"].(string)
	m.payment = metadata.object[metaPayment]
	extension := metadata.within(Extension, false)
	m.proof = extension.text("proof", maxProof, false)
	for _, mode := range settings.list("acceptedOutputModes") {
		text, isText := mode.(string)
		if m.modes = append(m.modes, text); !isText || len(m.modes) > maxModes {
			settings.fail("acceptedOutputModes", "must be a list of at most "+strconv.Itoa(maxModes)+" media types")
			break
		}
	}
	parts := in.list("parts")
	for _, read := range []*members{&outer, &in, &settings, &metadata, &extension} {
		if read.wrong != nil {
			return nil, read.wrong
		}
	}
	switch {
	case !visible(m.id):
		return nil, wrongMember("/message/messageId", "must consist of visible ASCII characters")
	case role != "ROLE_USER":
		return nil, wrongMember("/message/role", "must be ROLE_USER")
	case len(parts) == 0 || len(parts) > maxParts:
		return nil, wrongMember("/message/parts", "must have 1 to "+strconv.Itoa(maxParts)+" parts")
	case settings.object["taskPushNotificationConfig"] != nil:
		return nil, pushNotSupported
	}
	if len(m.contextID) > maxContextID || !visible(m.contextID) {
		m.contextID = ""
	}
	if fail := m.readParts(parts); fail != nil {
		return nil, fail
	}
	return m, m.accepts()
}

// readParts sets m.data to the data of the only data part. If there is no data part, it sets m.text to the joined text parts, and sets
// m.data if the text is a JSON object that names an intent.
func (m *message) readParts(parts []any) *fault {
	var texts []string
	for i, v := range parts {
		at := "/message/parts/" + strconv.Itoa(i)
		part, isObject := strictjson.AsObject(v)
		if !isObject || v == nil {
			return wrongMember(at, "must be an object")
		}
		kinds := 0
		for _, kind := range []string{"text", "raw", "url", "data"} {
			if _, is := part[kind]; is {
				kinds++
			}
		}
		text, isText := part["text"].(string)
		data, isData := part["data"]
		object, isObject := strictjson.AsObject(data)
		switch {
		case kinds != 1:
			return wrongMember(at, "must have exactly one of text, raw, url and data")
		case isText:
			texts = append(texts, text)
		case !isData && part["text"] == nil:
			return contentType.because("Parts with raw bytes or URLs are not supported: send one part with data, or text.")
		case !isData:
			return wrongMember(at+"/text", "must be a string")
		case !isObject || data == nil:
			return wrongMember(at+"/data", `must be an object such as {"intent_uid": "…", "parameters": {…}}`)
		case m.data != nil:
			return wrongMember(at, "is a second part with data: a message can call only one intent")
		default:
			m.data = object
		}
	}
	if m.data != nil {
		return nil
	}
	m.text = strings.TrimSpace(strings.Join(texts, "\n"))
	if strings.HasPrefix(m.text, "{") { // some clients can send only text
		if object, err := strictjson.DecodeObject([]byte(m.text)); err == nil && (object["intent_uid"] != nil || object["intent"] != nil) {
			m.data = object
		}
	}
	return nil
}

// accepts returns an error if the client accepts no media type that the response can have.
func (m *message) accepts() *fault {
	if len(m.modes) == 0 {
		return nil
	}
	takes := []string{jsonType, "application/*", "*/*"}
	if m.data == nil {
		takes = append(takes, textType, "text/*")
	}
	if slices.ContainsFunc(m.modes, func(mode string) bool {
		mode, _, _ = strings.Cut(mode, ";")
		return slices.Contains(takes, strings.ToLower(strings.TrimSpace(mode)))
	}) {
		return nil
	}
	return contentType.because("The response is application/json, which acceptedOutputModes does not include.")
}
