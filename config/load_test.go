package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

const five = `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream:
    url: http://127.0.0.1:9000
`

const jkt = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

// none is an empty environment.
func none(string) (string, bool) { return "", false }

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// directory creates a directory with the files of a service and a secret.
func directory(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	write(tb, filepath.Join(dir, "agents.json"), `{"intents":[]}`)
	write(tb, filepath.Join(dir, "policy.json"), `{"uid":"https://example.com/policy"}`)
	write(tb, filepath.Join(dir, "secret"), "s3cr3t-of-the-upstream\n")
	return dir
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// load writes text to uimgate.yaml in dir, and loads it.
func load(tb testing.TB, dir, text string, o config.Overrides) (*config.Config, config.Problems) {
	tb.Helper()
	path := filepath.Join(dir, "uimgate.yaml")
	write(tb, path, text)
	if o.Env == nil {
		o.Env = none
	}
	o.Blocks = bindings.Blocks()
	return config.Load(path, o)
}

// texts returns the problems as text, without the directory.
func texts(dir string, problems config.Problems) []string {
	var out []string
	for _, p := range problems {
		out = append(out, strings.ReplaceAll(p.String(), dir+string(filepath.Separator), ""))
	}
	return out
}

func mustLoad(t *testing.T, dir, text string, o config.Overrides) *config.Config {
	t.Helper()
	c, problems := load(t, dir, text, o)
	if c == nil || len(problems) > 0 {
		t.Fatalf("did not load: %v", texts(dir, problems))
	}
	return c
}

func TestMinimalConfiguration(t *testing.T) {
	dir := directory(t)
	c := mustLoad(t, dir, five, config.Overrides{})
	s := c.Services[0]
	got := map[string]any{
		"data": c.Data, "store": c.Store.Engine, "listen": c.Server.Listen, "max_body": c.Server.MaxBody, "read": c.Server.ReadTimeout,
		"per": c.Server.PerAddress, "issue": c.Server.IssuePerAddress, "drain": c.Server.DrainTimeout, "tls": c.Server.TLS.Enabled(),
		"admin": c.Admin.Listen, "token": c.Admin.Token.Reveal(), "id": s.ID, "hosts": len(s.Hosts), "public": s.PublicURL.String(),
		"issuer": s.IssuerOr("example.com"), "assignee": s.Assignee, "timeout": s.Upstream.Timeout, "max_response": s.Upstream.MaxResponse,
		"breaker": s.Upstream.Breaker, "pat": c.PAT, "billing": c.Billing, "evidence": c.Evidence, "audit": []bool{c.Audit.Parameters, c.Audit.Required, c.Audit.Export.Enabled(), c.Audit.Export.Syslog.TLS}, "telemetry": c.Telemetry,
		"agents": string(s.AgentsFile.Data), "policy": string(s.PolicyFile.Data), "upstream": s.Upstream.URL.String(),
		"auth": len(s.Upstream.Auth.Sent),
	}
	want := map[string]any{
		"data": filepath.Join(dir, "data"), "store": config.SQLite, "listen": "127.0.0.1:8080", "max_body": int64(1 << 20),
		"read": 10 * time.Second,
		"per":  limit.Rate{Max: 100, Period: limit.Second}, "issue": limit.Rate{Max: 10, Period: limit.Minute}, "drain": 20 * time.Second,
		"tls":   false,
		"admin": "127.0.0.1:8081", "token": "", "id": "default", "hosts": 0, "public": "http://127.0.0.1:8080",
		"issuer": "example.com", "assignee": config.AssigneeMapped, "timeout": 10 * time.Second, "max_response": int64(8 << 20),
		"breaker": config.Breaker{Failures: 5, OpenFor: 10 * time.Second},
		"pat": config.PAT{
			Algorithm: config.EdDSA, TTL: time.Hour, Leeway: 30 * time.Second, Freshness: config.FreshnessOptional,
			Admission: config.AdmissionOpen, Limit: limit.Rate{Max: 10000, Period: limit.Hour},
			Newcomers: limit.Rate{Max: 100_000, Period: limit.Hour},
		},
		"billing": config.Billing{Mode: config.Postpaid, Retain: 400 * 24 * time.Hour},
		"evidence": config.Evidence{
			Receipts: config.ReceiptsCharged, Proofs: true, Log: true, Checkpoint: time.Second, Publish: config.PublishAgents,
		},
		"audit": []bool{false, false, false, true},
		"telemetry": config.Telemetry{
			Log: config.Log{Level: config.LogInfo, Format: config.LogAuto}, Metrics: true, OTLP: config.OTLP{Traces: true, SampleOneIn: 1},
		},
		"agents": `{"intents":[]}`, "policy": `{"uid":"https://example.com/policy"}`, "upstream": "http://127.0.0.1:9000", "auth": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	files := texts(dir, nil)
	for _, f := range c.Files() {
		files = append(files, filepath.Base(f))
	}
	if want := []string{"uimgate.yaml", "agents.json", "policy.json"}; !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
	for _, f := range c.Digests() {
		if len(f.SHA256) != 64 || f.Data != nil {
			t.Errorf("digest of %s: %q", f.Path, f.SHA256)
		}
	}
}

func TestDefaultsMatchTags(t *testing.T) {
	dir := directory(t)
	got, loaded := config.Defaults(), mustLoad(t, dir, five, config.Overrides{})
	if got.Data != "./data" || got.Admin.Listen != loaded.Admin.Listen || got.Store.Engine != config.SQLite || len(got.Services) > 0 {
		t.Errorf("got %+v, want the defaults of %+v", got, loaded)
	}
	want := []any{loaded.PAT, loaded.Billing, loaded.Evidence, loaded.Audit, loaded.Telemetry}
	shown := []any{got.PAT, got.Billing, got.Evidence, got.Audit, got.Telemetry}
	if diff := cmp.Diff(want, shown, cmpopts.EquateComparable(config.Secret{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

const everything = `# every key
data: state
store: "postgres://uimgate:${file:secret}@db.example/uimgate"
server: {listen: ":8443", tls: {cert: cert.pem, key: key.pem}, trusted_proxies: [10.0.0.0/8, "::1", 192.0.2.7], max_body: 2MiB, read_timeout: 5s, per_address: 50/second, issue_per_address: 5/minute, drain_timeout: 1m}
admin:  {listen: "0.0.0.0:9443", token: "${UIMGATE_ADMIN_TOKEN:-}"}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: &upstream {url: "${SHOP_URL:-http://shop:9000/v1/}", execute: /run, timeout: 3s, max_response: 1048576, idempotency_header: idempotency-key, reconcile: {url: "/orders/{execution_id}", done: 200, not_done: /state=none}, auth: {header: "X-Api-Key: ${file:secret}", basic: }, breaker: {failures: 3, open_for: 1s}}
  id: shop
  hosts: [Shop.Example., "2001:DB8::1"]
  public_url: https://shop.example/
  issuer: shop.example
  parties: {"https://shop.example/agent/1": {agent_id: agent-1, key: NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs}}
  assignee: anyone
  intents: {"shop.example:buy:v1": {agreement: fresh, ceiling: 1000/hour}, "shop.example:look:v1": }
- agents_file: agents.json
  policy_file: policy.json
  upstream: *upstream
  id: other
  hosts: [other.example]
  public_url: https://other.example
pat: {algorithm: ES256, ttl: 30m, leeway: 10s, renew_grace: 5m, freshness: required, admission: allowlist, allow: [0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I, {id: agent-1, key: NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs}], limit: 100/day, newcomers: 500/minute, suspend_after: "${SUSPEND:-7}"}
billing: {mode: postpaid, credit: 10 USD, newcomers: 2.50 USD, retain: 1d12h, low: 3 USD}
evidence: {receipts: off, proofs: false, log: true, checkpoint: 2s, publish: public, witnesses_required: true, witnesses: [{key: "witness.example+9dbf8222+BM1CluXV9MN3GqxdoGfq3ip8SHiv8TIGie/ztd1v6x/h", url: "http://10.0.0.1:7", private: true}]}
audit: {parameters: true, export: {otlp: {endpoint: "https://collector:4318", headers: {X-Key: "${file:secret}"}}}}
notify: [{url: "https://ops.example/hook", secret: "${file:secret}", events: [credit.low, audit.failing], private: true}, {url: "http://localhost:9/", secret: "${file:secret}"}]
telemetry: {log: {level: debug, format: json}, metrics: false, otlp: {endpoint: "https://collector:4318", headers: {X-Key: "${file:secret}"}, traces: false, sample_one_in: 100, metrics: true, logs: true}}
`

func TestEveryKeyIsRead(t *testing.T) {
	dir := directory(t)
	pair(t, dir)
	c := mustLoad(t, dir, everything, config.Overrides{Env: environment(map[string]string{"UIMGATE_ADMIN_TOKEN": "0123456789abcdef"})})
	s, other := c.Services[0], c.Services[1]
	got := []any{
		c.Store.Engine, c.Store.URL.Reveal(), c.Server.TLS.Enabled(), c.Server.TLS.Key.Data == nil, len(c.Server.TrustedProxies),
		c.Server.TrustedProxies[2].String(),
		c.Admin.Token.Reveal(), s.Hosts, s.PublicURL.String(), s.Upstream.URL.String(), other.Upstream.URL.String(), s.Upstream.MaxResponse,
		s.Upstream.IdempotencyHeader, s.Upstream.Reconcile, len(s.Upstream.Auth.Sent), s.Upstream.Auth.Sent["X-Api-Key"].Reveal(),
		s.Parties, s.Assignee, s.Intents,
		c.PAT, c.Billing, c.Evidence.Receipts, c.Evidence.Publish, c.Evidence.Checkpoint, c.Evidence.Proofs, c.Evidence.Log,
		c.Evidence.WitnessesRequired, len(c.Evidence.Witnesses), c.Evidence.Witnesses[0].URL.String(),
		c.Audit.Parameters, c.Audit.Export.OTLP.Endpoint.String(), c.Audit.Export.OTLP.Sent(),
		c.Telemetry.Log, c.Telemetry.Metrics, c.Telemetry.OTLP.URL("traces"), c.Telemetry.OTLP.Sent(),
		[]bool{c.Telemetry.OTLP.Traces, c.Telemetry.OTLP.Metrics, c.Telemetry.OTLP.Logs},
		c.Telemetry.OTLP.SampleOneIn,
		len(c.Notify), c.Notify[0].URL.String(), c.Notify[0].Secret.Reveal(), c.Notify[0].Events, c.Notify[0].Private, c.Notify[1].Events,
		s.IssuerOr("x"), other.IssuerOr("x"),
	}
	want := []any{
		config.Postgres, "postgres://uimgate:s3cr3t-of-the-upstream@db.example/uimgate", true, true, 3, "192.0.2.7/32",
		"0123456789abcdef",
		[]string{"shop.example", "2001:db8::1"},
		"https://shop.example", "http://shop:9000/v1", "http://shop:9000/v1", int64(1 << 20),
		"Idempotency-Key",
		config.Reconcile{URL: "/orders/{execution_id}", Done: "200", NotDone: "/state=none"},
		1, "s3cr3t-of-the-upstream",
		map[string]config.Party{"https://shop.example/agent/1": {AgentID: "agent-1", Key: jkt}},
		config.AssigneeAnyone,
		map[string]config.IntentRule{
			"shop.example:buy:v1":  {Agreement: config.AgreementFresh, Ceiling: limit.Rate{Max: 1000, Period: limit.Hour}},
			"shop.example:look:v1": {Agreement: config.AgreementAny},
		},
		config.PAT{
			Algorithm: config.ES256, TTL: 30 * time.Minute, Leeway: 10 * time.Second, RenewGrace: 5 * time.Minute,
			Freshness: config.FreshnessRequired,
			Admission: config.AdmissionAllowlist, Allow: []config.Allowed{
				{Key: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"},
				{AgentID: "agent-1", Key: jkt},
			},
			Limit: limit.Rate{Max: 100, Period: limit.Day}, Newcomers: limit.Rate{Max: 500, Period: limit.Minute}, SuspendAfter: 7,
		},
		config.Billing{
			Mode: config.Postpaid, Credit: money.Amount{Nano: 10 * money.Unit, Currency: "USD"},
			Newcomers: money.Amount{Nano: 5 * money.Unit / 2, Currency: "USD"}, Retain: 36 * time.Hour,
			Low: money.Amount{Nano: 3 * money.Unit, Currency: "USD"},
		},
		config.ReceiptsOff, config.PublishPublic, 2 * time.Second, false, true, true, 1, "http://10.0.0.1:7",
		true,
		"https://collector:4318",
		map[string]string{"X-Key": "s3cr3t-of-the-upstream"},
		config.Log{Level: config.LogDebug, Format: config.LogJSON},
		false, "https://collector:4318/v1/traces",
		map[string]string{"X-Key": "s3cr3t-of-the-upstream"},
		[]bool{false, true, true},
		100,
		2, "https://ops.example/hook", "s3cr3t-of-the-upstream",
		[]config.Event{config.CreditLow, config.AuditFailing},
		true, []config.Event(nil),
		"shop.example", "x",
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(config.Secret{})); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	for _, name := range []string{"cert.pem", "key.pem", "secret"} {
		if !slices.Contains(c.Files(), filepath.Join(dir, name)) {
			t.Errorf("Files lacks %s", name)
		}
	}
	for _, f := range c.Digests() {
		if base := filepath.Base(f.Path); base == "secret" || base == "key.pem" {
			t.Errorf("Digests has the secret file %s", base)
		}
	}
}

func TestPrecedenceOfOverrides(t *testing.T) {
	dir := directory(t)
	file := "data: here\nserver: {listen: 127.0.0.1:1}\nadmin: {listen: 127.0.0.1:2}\n" + five
	env := environment(map[string]string{"UIMGATE_LISTEN": "127.0.0.1:11", "UIMGATE_ADMIN_LISTEN": "127.0.0.1:12", "UIMGATE_DATA": "there"})
	for name, test := range map[string]struct {
		o    config.Overrides
		want []string
	}{
		"file":        {config.Overrides{}, []string{filepath.Join(dir, "here"), "127.0.0.1:1", "127.0.0.1:2"}},
		"environment": {config.Overrides{Env: env}, []string{"there", "127.0.0.1:11", "127.0.0.1:12"}},
		"flags": {
			config.Overrides{Listen: "127.0.0.1:21", AdminListen: "127.0.0.1:22", Data: "flag", Env: env},
			[]string{"flag", "127.0.0.1:21", "127.0.0.1:22"},
		},
	} {
		c := mustLoad(t, dir, file, test.o)
		if got := []string{c.Data, c.Server.Listen, c.Admin.Listen}; !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestBoundReplacesPortZero(t *testing.T) {
	c := mustLoad(t, directory(t), five, config.Overrides{Listen: "localhost:0"})
	c.Bound(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 41233})
	if got := c.Services[0].PublicURL.String(); got != "http://localhost:41233" {
		t.Errorf("got %q, want %q", got, "http://localhost:41233")
	}
	c = mustLoad(t, directory(t), five+"  public_url: https://shop.example\n", config.Overrides{})
	c.Bound(&net.TCPAddr{Port: 41233})
	if got := c.Services[0].PublicURL.String(); got != "https://shop.example" {
		t.Errorf("got %q, want %q", got, "https://shop.example")
	}
}

func TestProblemfPosition(t *testing.T) {
	dir := directory(t)
	c := mustLoad(t, dir, five, config.Overrides{})
	p := config.Problems{
		c.Problemf("error", "services[0].policy_file", "charges, but nothing says what agents may owe"),
		c.Problemf("warning", `services[0].intents["a:b:v1"].ceiling`, "names no intent"),
	}
	want := []string{
		"uimgate.yaml:3: services[0].policy_file: charges, but nothing says what agents may owe",
		`uimgate.yaml:2: warning: services[0].intents["a:b:v1"].ceiling: names no intent`,
	}
	if diff := cmp.Diff(want, texts(dir, p)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	if err := p.Err(); err == nil || strings.Contains(err.Error(), "warning") {
		t.Error(err)
	}
}

// pair writes a certificate and its key to cert.pem and key.pem.
func pair(tb testing.TB, dir string) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	write(tb, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}
