package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/agent/aea"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// negotiate makes the agents agree to the offer for each intent over the AEA framework as well.
func negotiate(ctx context.Context, agents []agent, gate addresses, uids []string) error {
	for i := range agents {
		a := &agents[i]
		var err error
		if a.negotiating, err = identity.NewKey(bytes.Repeat([]byte{byte(i + 1)}, 32)); err != nil {
			return err
		}
		one, err := a.dial(ctx, gate)
		if err != nil {
			return err
		}
		a.negotiated = map[string]string{}
		for _, uid := range uids {
			time.Sleep(time.Second / 15) // a door accepts 20 agreements per second
			if a.negotiated[uid], _, err = one.Negotiate(uid); err != nil {
				return fmt.Errorf("negotiating %s: %w", uid, err)
			}
		}
		if err := one.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) dial(ctx context.Context, gate addresses) (*aea.Agent, error) {
	return aea.Dial(ctx, aea.Options{Key: a.negotiating, Gateway: gate.AEA["address"], TCP: gate.AEA["tcp"], Now: time.Now})
}

// inMessages is the way for calls over the AEA framework, on a plain TCP connection.
func inMessages(ctx context.Context, a *agent, t target, _ *http.Client) (send func() error, stop func(), err error) {
	call, err := strictjson.DecodeObject([]byte(t.body))
	if err != nil {
		return nil, nil, err
	}
	call["pat"] = a.negotiated[t.uid]
	text, err := json.Marshal(call)
	if err != nil {
		return nil, nil, err
	}
	one, err := a.dial(ctx, t.of.addresses)
	if err != nil {
		return nil, nil, err
	}
	return func() error {
		answer, err := one.Call(text)
		if err == nil && !bytes.Contains(answer, []byte(`"products"`)) {
			err = fmt.Errorf("%.300s", answer)
		}
		return err
	}, func() { _ = one.Close() }, nil
}
