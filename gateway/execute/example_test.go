package execute_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Example assembles a pipeline, as a program that serves its own protocol does. An agent agrees and makes two calls.
func Example() {
	if err := exampleOfAPipeline(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// agent-1 may do 2 intents
	// {"ok":true} for 0.25 EUR
	// MISSING_PARAMETER: The parameter at /parameters/product is not valid for this intent: the parameter "product" is required.
}

func exampleOfAPipeline(ctx context.Context) error {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }))
	defer upstream.Close()
	dir, err := os.MkdirTemp("", "uimgate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	// The configuration: agents.json, a policy and the address of the service.
	for name, text := range map[string]string{
		"agents.json": gatetest.AgentsFile,
		"policy.json": gatetest.PolicyFile,
		"uimgate.yaml": "billing: {credit: 100 EUR}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: '" +
			upstream.URL + "'}, " + gatetest.Unproved + "}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	cfg, problems := config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Data: filepath.Join(dir, "data")})
	if cfg == nil {
		return problems.Err()
	}
	loaded, problems := service.Load(ctx, cfg, time.Now)
	if loaded == nil {
		return problems.Err()
	}

	// The state: keys, agreements, limits and the ledger.
	data, err := config.OpenDataDir(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	state, err := sqlstore.Open(ctx, data.StatePath(), sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { _ = state.Close() }()
	keyring, err := keys.Open(ctx, keys.Config{
		Store: state, Files: data.Keys(), Algorithm: "EdDSA", Overlap: time.Hour,
		Now: time.Now,
	})
	if err != nil {
		return err
	}
	view := pat.NewView(state, keyring, time.Now)
	if err := view.Refresh(ctx); err != nil {
		return err
	}

	// Each protocol requires the services, the agreements and the executor.
	directory, err := service.Open(ctx, service.State{
		Agreements: state, Policies: state, Keys: keyring, View: view, Log: zap.NewNop(), Now: time.Now,
	}, loaded)
	if err != nil {
		return err
	}
	metrics := record.NewMetrics()
	desk := agree.New(agree.Config{PerCaller: limit.Rate{Max: 10, Period: limit.Minute}, Recorder: metrics, Now: time.Now})
	executor := execute.New(execute.Config{Store: state, State: state, Revocations: view, Recorder: metrics, Now: time.Now})

	// An agent agrees, then calls.
	served := func() *service.Service { return directory.Current().ForHost("shop.example") }
	shop := served()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	signed, err := pat.SignAgreement(private, pat.AgreementClaims{
		AgentID: "agent-1", Audience: shop.Issuer, URL: shop.At("/api/pat/issue"), IssuedAt: time.Now(), Nonce: "a-nonce-used-only-once",
		PolicyUID: shop.Offer().UID, PolicyDigest: shop.Offer().Digest,
	})
	if err != nil {
		return err
	}
	key, err := keys.New(public)
	if err != nil {
		return err
	}
	issued, err := desk.Issue(ctx, agree.Call{Service: shop, From: "192.0.2.1"}, func() (pat.IssueRequest, error) {
		return pat.IssueRequest{AgentID: "agent-1", SignedPolicy: signed, PublicKey: string(key.JWK())}, nil
	})
	if err != nil {
		return err
	}
	fmt.Println(issued.Claims.Subject, "may do", len(issued.Claims.Scope), "intents")
	for _, parameters := range []map[string]any{{"product": "lamp"}, {}} {
		result, err := executor.Execute(ctx, execute.Call{Service: served, Token: issued.Token, Read: func() (execute.Request, error) {
			return execute.Request{IntentUID: gatetest.Ordering, Parameters: parameters}, nil
		}})
		if refused, ok := errors.AsType[*reason.Refusal](err); ok {
			fmt.Println(refused)
			continue
		}
		fmt.Printf("%s for %s\n", result.Output, result.Charge)
	}
	return nil
}
