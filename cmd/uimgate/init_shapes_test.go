package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A shape is a synthetic document in the form of a published one, with the commands of its operator and the calls of agents.
type shape struct {
	files  map[string]string // by name; the first is api.yaml
	init   []string          // options of init, in addition to those of all shapes
	edits  []string          // of uimgate.yaml: pairs of old and new text
	offers int               // number of intents
	hidden []string          // texts that agents must not see
	calls  []shapedCall
}

type shapedCall struct {
	name, parameters string
	status           int
	answer           string // JSON, or a part of a refusal
	sent             string // received method, path, header X-Token, user of basic auth, and body; empty: nothing was sent
}

// Documents in the form of large published APIs: the built command runs init, and agents make calls that read and write.
func TestInitPublishedShapes(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]shape{
		"secrets in bodies, 400 operations, several files": plaidLike(),
		"ok false, a token in a header, files":             slackLike(),
		"Swagger 2, an account in paths, basic auth":       twilioLike(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.run(t)
		})
	}
}

// plaidLike: every operation is a POST with the secret in its body; schemas are in other files.
func plaidLike() shape {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\ninfo: {title: Plain, version: 2020-09-14_1.345.1}\nservers: [{url: 'https://up.corner.example'}]\npaths:\n")
	for i := range 400 {
		kind, answer := "get", "200"
		if i >= 200 {
			kind = "create"
		}
		fmt.Fprintf(&b, "  /things%d/%s:\n    post:\n      operationId: things%d%s\n      requestBody: {required: true, content: {application/json: "+
			"{schema: {$ref: 'models/all.yaml#/Request'}}}}\n      responses: {'%s': {description: ok, content: {application/json: {schema: "+
			"{$ref: 'models/all.yaml#/Answer'}}}}}\n", i, kind, i, strings.ToUpper(kind[:1])+kind[1:], answer)
	}
	return shape{
		files: map[string]string{
			"api.yaml": b.String(),
			"models/all.yaml": "Request: {type: object, required: [client_id, secret], properties: {client_id: {type: string}, secret: {type: string}, " +
				"thing: {$ref: 'thing.json'}}}\nAnswer: {type: object, required: [request_id], properties: {request_id: {type: string}, thing: {$ref: thing.json}}}\n",
			"models/thing.json": `{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "maximum": 9}}}`,
		},
		edits: []string{
			"  # fixed:\n", "  fixed:\n", `  #   "client_id": "${CLIENT_ID}"`, `    "client_id": "canary-client"`,
			`  #   "secret": "${SECRET}"`, `    "secret": "${file:FILE}"`,
		},
		init: []string{"--pick", "PICKS"}, offers: 201, hidden: []string{"client_id", "secret", "canary"},
		calls: []shapedCall{
			{"things7-get:v1", `{"thing": {"n": 3}}`, 200, `{"request_id": "r-1"}`, `POST /things7/get   {"client_id":"canary-client","secret":"canary-file","thing":{"n":3}}`},
			{"things399-create:v1", `{"thing": {"n": 4}}`, 200, `{"request_id": "r-1"}`, `POST /things399/create   {"client_id":"canary-client","secret":"canary-file","thing":{"n":4}}`},
			{"things7-get:v1", `{"thing": {"n": 10}}`, 400, `/parameters/thing/n`, ""},
			{"things7-get:v1", `{"secret": "mine"}`, 400, `UNKNOWN_PARAMETER`, ""},
			{"things398-create:v1", `{}`, 404, `INTENT_NOT_FOUND`, ""},
		},
	}
}

// slackLike: a required header has the token, refusals have status 200, and there are an upload in parts and a download.
func slackLike() shape {
	text := "openapi: 3.0.0\ninfo: {title: Talk, version: '1.7'}\nservers: [{url: 'https://up.corner.example/api'}]\npaths:\n"
	for _, op := range []string{
		"/users.list: {get: {operationId: users_list, parameters: [{name: limit, in: query, schema: {type: integer}}, TOKEN], responses: OK}}",
		"/chat.post: {post: {operationId: chat_post, parameters: [TOKEN], requestBody: {content: {application/x-www-form-urlencoded: {schema: " +
			"{type: object, required: [text], properties: {text: {type: string}}}}}}, responses: OK}}",
		"/files.upload: {post: {operationId: files_upload, parameters: [TOKEN], requestBody: {content: {multipart/form-data: {schema: " +
			"{type: object, required: [file], properties: {file: {type: string, format: binary}, title: {type: string}}}}}}, responses: OK}}",
		"/files/{id}: {get: {operationId: files_get, parameters: [TOKEN, {name: id, in: path, required: true, schema: {type: string}}], " +
			"responses: {'200': {description: ok, content: {image/png: {schema: {type: string, format: binary}}}}}}}",
	} {
		op = strings.ReplaceAll(op, "TOKEN", "{name: X-Token, in: header, required: true, schema: {type: string}}")
		text += "  " + strings.ReplaceAll(op, "OK", "{'200': {description: ok, content: {application/json: {schema: {type: object, required: [ok, members], "+
			"properties: {ok: {type: boolean}, members: {type: array, items: {type: string}}}}}}}}") + "\n"
	}
	return shape{
		files: map[string]string{"api.yaml": text},
		init:  []string{"--all"}, offers: 4, hidden: []string{"X-Token", "canary"},
		edits: []string{
			"  # error_when: {pointer: /ok, equals: false} # 3 operations return this member\n",
			"  error_when: {pointer: /ok, equals: false}\n", "  # fixed:\n", "  fixed:\n",
			`  #   "header:X-Token": "${X_TOKEN}"`, `    "header:X-Token": "${file:FILE}"`,
		},
		calls: []shapedCall{
			{"users-list:v1.7", `{"limit": 2}`, 200, `{"ok": true}`, "GET /api/users.list?limit=2 canary-file  "},
			{"users-list:v1.7", `{"limit": 0}`, 400, `no such limit`, "GET /api/users.list?limit=0 canary-file  "},
			{"chat-post:v1.7", `{"text": "a&b"}`, 200, `{"ok": true}`, "POST /api/chat.post canary-file  text=a%26b"},
			{"files-upload:v1.7", `{"file": "AP8=", "title": "é"}`, 200, `{"ok": true}`, "POST /api/files.upload canary-file  title|é file|file.bin|\x00\xff"},
			{"files-upload:v1.7", `{"file": "AP8"}`, 400, `/parameters/file`, ""},
			{"files-get:v1.7", `{"id": "7"}`, 200, `{"content": "AP8=", "content_encoding": "base64", "content_type": "image/png"}`, "GET /api/files/7 canary-file  "},
		},
	}
}

// twilioLike: Swagger 2, with the operator's account in each path and as the user of basic authentication, and a token in a header.
func twilioLike() shape {
	text := "swagger: '2.0'\ninfo: {title: Ring, version: '2010-04-01'}\nhost: up.corner.example\nbasePath: /2010\nschemes: [https]\n" +
		"consumes: [application/x-www-form-urlencoded]\nproduces: [application/json]\nsecurityDefinitions: {login: {type: basic}}\n" +
		"parameters: {sid: {name: AccountSid, in: path, required: true, type: string}, token: {name: X-Token, in: header, required: true, type: string}}\n" +
		"definitions: {Call: {type: object, properties: {sid: {type: string}, to: {type: string}}}}\npaths:\n"
	for _, kind := range []string{"Calls", "Messages", "Queues"} {
		text += fmt.Sprintf("  /Accounts/{AccountSid}/%s.json:\n    parameters: [{$ref: '#/parameters/sid'}, {$ref: '#/parameters/token'}]\n"+
			"    get: {operationId: List%s, responses: {'200': {description: ok, schema: {$ref: '#/definitions/Call'}}}}\n"+
			"    post: {operationId: Create%s, parameters: [{name: To, in: formData, required: true, type: string}], "+
			"responses: {'201': {description: ok, schema: {$ref: '#/definitions/Call'}}}}\n", kind, kind, kind)
	}
	text += "  /Accounts/{AccountSid}/Media: {post: {operationId: CreateMedia, consumes: [multipart/form-data], parameters: [{$ref: '#/parameters/sid'}, " +
		"{$ref: '#/parameters/token'}, {name: Media, in: formData, type: file, required: true}], responses: {'204': {description: ok}}}}\n"
	return shape{
		files: map[string]string{"api.yaml": text},
		init:  []string{"--all"}, offers: 7, hidden: []string{"AccountSid", "X-Token", "canary"},
		edits: []string{
			"    # auth: {basic: \"${LOGIN_USER}:${LOGIN_PASSWORD}\"}", "    auth: {basic: \"canary-sid:${file:FILE}\"}",
			"  # fixed:\n", "  fixed:\n", `  #   "AccountSid": "${ACCOUNT_SID}"`, `    "AccountSid": "canary-sid"`,
			`  #   "header:X-Token": "${X_TOKEN}"`, `    "header:X-Token": "canary-token"`,
		},
		calls: []shapedCall{
			{"list-calls:v1", `{}`, 200, `{"sid": "c-1", "to": "+1"}`, "GET /2010/Accounts/canary-sid/Calls.json canary-token canary-sid:canary-file "},
			{"create-messages:v1", `{"To": "+2"}`, 200, `{"sid": "c-1", "to": "+1"}`, "POST /2010/Accounts/canary-sid/Messages.json canary-token canary-sid:canary-file To=%2B2"},
			{"create-media:v1", `{"Media": "AP8="}`, 200, `{}`, "POST /2010/Accounts/canary-sid/Media canary-token canary-sid:canary-file Media|Media.bin|\x00\xff"},
			{"create-calls:v1", `{"To": "+2", "AccountSid": "mine"}`, 400, `UNKNOWN_PARAMETER`, ""},
		},
	}
}

// shapedService is the service of all shapes. It returns the request that it received.
func shapedService(w http.ResponseWriter, r *http.Request) (sent string) {
	user, password, basic := r.BasicAuth()
	if basic {
		user += ":" + password
	}
	var body string
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		reader, err := r.MultipartReader()
		for err == nil {
			part, next := reader.NextPart()
			if err = next; err != nil {
				break
			}
			data, _ := io.ReadAll(part)
			name := part.FormName()
			if part.FileName() != "" {
				name += "|" + part.FileName()
			}
			body += " " + name + "|" + string(data)
		}
		body = strings.TrimPrefix(body, " ")
	} else {
		data, _ := io.ReadAll(r.Body)
		body = string(data)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/files/"):
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x00\xff")
	case strings.Contains(r.URL.RawQuery, "limit=0"):
		_, _ = io.WriteString(w, `{"ok": false, "error": "no such limit"}`)
	case strings.HasSuffix(r.URL.Path, "/Media"):
		w.WriteHeader(http.StatusNoContent)
	default:
		_, _ = io.WriteString(w, `{"ok": true, "request_id": "r-1", "sid": "c-1", "to": "+1"}`)
	}
	return strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("X-Token"), user, body}, " ")
}

func (s shape) run(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	secret, picks := filepath.Join(dir, "secret"), filepath.Join(dir, "picks")
	s.files[filepath.Base(secret)], s.files[filepath.Base(picks)] = "canary-file\n", picksOf(s)
	for name, text := range s.files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	gate := filepath.Join(dir, "gate")
	command := []string{"init", "--openapi", filepath.Join(dir, "api.yaml"), "--namespace", "api.example.com", "--out", gate}
	uimgate(t, append(command, strings.Split(strings.ReplaceAll(strings.Join(s.init, " "), "PICKS", picks), " ")...)...)

	sent := make(chan string, 1)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sent <- shapedService(w, r) }))
	t.Cleanup(service.Close)
	file := filepath.Join(gate, "uimgate.yaml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(settings)
	edits := append(s.edits, "https://up.corner.example", service.URL)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("no %q in\n%s", edits[i], text)
		}
		text = strings.Replace(text, edits[i], strings.Replace(edits[i+1], "FILE", secret, 1), 1)
	}
	text += "server: {listen: 127.0.0.1:0}\nadmin: {listen: 127.0.0.1:0}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	uimgate(t, "check", "--strict", "-c", file)
	g := &testGateway{T: t, dir: gate}
	g.startProcess()
	url := g.addresses.Listen
	s.published(t, url)
	token := agreeTo(t, url)
	for _, c := range s.calls {
		status, got := post(t, url+"/api/intents/execute", token,
			map[string]any{"intent_uid": "api.example.com:" + c.name, "parameters": json.RawMessage(c.parameters)})
		if status != c.status || status == 200 && tree(t, got) != tree(t, c.answer) || !strings.Contains(got, c.answer) && status != 200 {
			t.Errorf("%s %s: %d %s, want %d %s", c.name, c.parameters, status, got, c.status, c.answer)
		}
		arrived := ""
		select {
		case arrived = <-sent:
		default: // the service sends before it responds
		}
		if arrived != c.sent {
			t.Errorf("%s: the service received %q, want %q", c.name, arrived, c.sent)
		}
	}
}

// picksOf returns the operations that read, and one that writes.
func picksOf(s shape) string {
	var out []string
	for _, m := range regexp.MustCompile(`operationId: (things\d+Get|things399Create)\n`).FindAllStringSubmatch(s.files["api.yaml"], -1) {
		out = append(out, m[1])
	}
	return strings.Join(out, "\n") + "\n"
}

// published checks that agents find the intents but none of the hidden texts.
func (s shape) published(t *testing.T, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/agents.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte(`"intent_uid"`)); n != s.offers {
		t.Errorf("%d intents are offered, want %d", n, s.offers)
	}
	for _, text := range s.hidden {
		if bytes.Contains(data, []byte(text)) || bytes.Contains(data, []byte(base64.StdEncoding.EncodeToString([]byte(text)))) {
			t.Errorf("agents see %s", text)
		}
	}
}

// uimgate runs the built command.
func uimgate(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "uimgate", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("uimgate %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}
