package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The service requires values from the operator: a header in every operation, a secret in bodies, and an account in paths. init proposes
// them. Once they are filled in, agents call without these values and never see them.
func TestInitFixedValues(t *testing.T) {
	t.Parallel()
	document := "openapi: 3.0.0\ninfo: {title: Corner, version: '1'}\nservers: [{url: 'https://api.corner.example'}]\npaths:\n"
	for i := range 5 {
		document += fmt.Sprintf("  /accounts/{AccountSid}/things%d:\n    parameters:\n"+
			"    - {name: AccountSid, in: path, required: true, schema: {type: string}}\n"+
			"    - {name: X-Shop-Token, in: header, required: true, schema: {type: string}}\n"+
			"    get: {operationId: listThings%d, responses: {'200': {description: ok}}}\n", i, i)
	}
	document += "  /things/get:\n    post:\n      operationId: thingsGet\n      requestBody: {required: true, content: {application/json: {" +
		"schema: {type: object, required: [secret, n], properties: {secret: {type: string}, n: {type: integer}}}}}}\n" +
		"      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}\n" +
		"  /versions: {get: {operationId: getVersion, parameters: [{name: If-Match, in: header, required: true}], " +
		"responses: {'200': {description: ok}}}}\n"
	path := filepath.Join(t.TempDir(), "api.yaml")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	made := command(t, "", "init", "--openapi", path, "--namespace", "api.example.com", "--out", dir)
	if made.code != exitDone {
		t.Fatal(made.out, made.errors)
	}
	if !strings.Contains(made.out+made.errors, "operations: 6 offered, 1 not offered") ||
		!strings.Contains(made.out+made.errors, `it requires the header "X-Shop-Token": set it under services[].fixed in uimgate.yaml: 5 operations`) {
		t.Errorf("init printed:\n%s", made.out+made.errors)
	}
	file := filepath.Join(dir, "uimgate.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	filled := string(text)
	for _, line := range []struct{ made, value string }{
		{"  # fixed:\n", ""},
		{"  #   \"AccountSid\": \"${ACCOUNT_SID}\" # used by 5 operations\n", "AC-1"},
		{"  #   \"header:X-Shop-Token\": \"${X_SHOP_TOKEN}\" # used by 5 operations\n", "canary-token"},
		{"  #   \"secret\": \"${SECRET}\" # used by 1 operation\n", "canary-secret"},
	} {
		if !strings.Contains(filled, line.made) {
			t.Fatalf("%q is not proposed:\n%s", line.made, text)
		}
		name, _, _ := strings.Cut(strings.Replace(line.made, "# ", "", 1), "\"${")
		if line.value != "" {
			name += line.value + "\n"
		}
		filled = strings.Replace(filled, line.made, name, 1)
	}
	if err := os.WriteFile(file, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]bool{
			"path": r.URL.Path == "/accounts/AC-1/things3", "token": r.Header.Get("X-Shop-Token") == "canary-token",
			"secret": string(body) == `{"n":7,"secret":"canary-secret"}`,
		})
	}))
	t.Cleanup(upstream.Close)
	url := runMade(t, dir, upstream.URL)
	token := agreeTo(t, url)
	for uid, call := range map[string]struct {
		parameters map[string]any
		status     int
		text       string
	}{
		"list-things3:v1": {nil, 200, `{"path":true,"token":true,"secret":false}`},
		"things-get:v1":   {map[string]any{"n": 7}, 200, `{"result":{"path":false,"token":true,"secret":true}}`},
		"list-things1:v1": {map[string]any{"AccountSid": "AC-2"}, 400, ""},
	} {
		parameters := call.parameters
		if parameters == nil {
			parameters = map[string]any{}
		}
		status, text := post(t, url+"/api/intents/execute", token,
			map[string]any{"intent_uid": "api.example.com:" + uid, "parameters": parameters})
		if status != call.status || call.text != "" && tree(t, text) != tree(t, call.text) {
			t.Errorf("%s: %d %s, want %d %s", uid, status, text, call.status, call.text)
		}
	}
}
