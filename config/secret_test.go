package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/config"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	const canary = "canary-4711"
	holder := struct {
		S      config.Secret
		hidden config.Secret
	}{config.NewSecret(canary), config.NewSecret(canary)}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p"} {
		fmt.Fprintf(&out, verb+"\n", holder)
		fmt.Fprintf(&out, verb+"\n", holder.hidden)
		fmt.Fprintf(&out, verb+"\n", &holder.S)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "holder", holder, "secret", holder.S)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "holder", holder, "secret", holder.S)
	for _, encoder := range []zapcore.Encoder{
		zapcore.NewJSONEncoder(zapcore.EncoderConfig{}),
		zapcore.NewConsoleEncoder(zapcore.EncoderConfig{}),
	} {
		log := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&out), zap.DebugLevel))
		log.Info("x", zap.Any("holder", holder), zap.Any("secret", holder.S), zap.Stringer("s", holder.S), zap.Reflect("r", holder))
		log.Sugar().Infow("x", "secret", holder.S, "holder", &holder)
	}
	text, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	for _, leak := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the output contains the secret %s:\n%s", leak, out.String())
		}
	}
	if holder.S.Reveal() != canary || !holder.S.Equal(canary) || holder.S.Equal("canary-4712") || holder.S.IsEmpty() {
		t.Error("the secret has another value")
	}
	if (config.Secret{}).Reveal() != "" || !config.NewSecret("").IsEmpty() || !(config.Secret{}).Equal("") {
		t.Error("the zero Secret is not empty")
	}
}

func TestConfigPrintsNoSecrets(t *testing.T) {
	dir := directory(t)
	pair(t, dir)
	c := mustLoad(t, dir, everything, config.Overrides{Env: environment(map[string]string{"UIMGATE_ADMIN_TOKEN": "canary-0123456789"})})
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, print := range []string{fmt.Sprintf("%v", c), fmt.Sprintf("%+v", *c), fmt.Sprintf("%#v", c), string(text)} {
		for _, leak := range []string{"canary", "s3cr3t-of-the-upstream", "PRIVATE KEY"} {
			if strings.Contains(print, leak) {
				t.Errorf("the output contains the secret %s: %s", leak, print)
			}
		}
	}
}
