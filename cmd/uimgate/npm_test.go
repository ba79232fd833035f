package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPackagesOfNPM installs the packages of npm into an empty project, without a network, and uses the command and the library.
func TestPackagesOfNPM(t *testing.T) {
	t.Parallel()
	_, missing := os.Stat("../../sdk/typescript/node_modules")
	if _, err := exec.LookPath("npm"); err != nil || missing != nil {
		if os.Getenv(requireLanguages) == "1" {
			t.Fatal("the packages of the SDK are not installed: install Node.js 20 or later and npm, then make clients")
		}
		t.Skip("the packages of the SDK are not installed: make clients")
	}
	command, err := exec.LookPath("uimgate") // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	dist, project := t.TempDir(), t.TempDir()
	program := filepath.Join(dist, "uimgate") // the command itself is large to compress
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec '"+command+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	compiled := compiledSDK(t)
	_, uncompiled := os.Stat(compiled)
	in := func(dir, name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "npm_config_offline=true", "npm_config_audit=false", "npm_config_fund=false",
			"npm_config_update_notifier=false",
			"npm_config_cache="+filepath.Join(dist, "cache"))
		if uncompiled == nil {
			c.Env = append(c.Env, "COMPILED="+compiled)
		}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	in(".", "../../deploy/package/npm.sh", "v1.2.3", dist, program, runtime.GOOS+"/"+runtime.GOARCH)
	packages, err := filepath.Glob(filepath.Join(dist, "*-1.2.3.tgz"))
	if err != nil || len(packages) != 2 {
		t.Fatalf("got %v, %v; want two packages", packages, err)
	}
	if err := os.WriteFile(filepath.Join(project, "package.json"), []byte(`{"private": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in(project, "npm", append([]string{"install", "--ignore-scripts"}, packages...)...)
	if out := in(project, "npx", "uimgate", "mcp", "--help"); !strings.Contains(out, "--budget") {
		t.Errorf("npx uimgate mcp --help printed\n%s", out)
	}
	c := exec.CommandContext(t.Context(), filepath.Join(project, "node_modules/.bin/uimgate"), "nonsense") // as npx runs it
	if err := c.Run(); err == nil || c.ProcessState.ExitCode() != 2 {
		t.Errorf("uimgate nonsense: %v, want the exit code 2", err)
	}
	for _, option := range []string{"--input-type=module", "--input-type=commonjs"} {
		code := `import { generateKey } from "uimgate"; console.log((await generateKey()).algorithm)`
		if option == "--input-type=commonjs" {
			code = `require("uimgate").generateKey().then((key) => console.log(key.algorithm))`
		}
		if out := in(project, "node", option, "-e", code); strings.TrimSpace(out) != "EdDSA" {
			t.Errorf("%s: got %s", option, out)
		}
	}
	types := filepath.Join(project, "node_modules/uimgate/dist/esm/index.d.ts")
	if text, err := os.ReadFile(types); err != nil || !strings.Contains(string(text), "UimClient") {
		t.Errorf("the package has no types: %v", err)
	}
	if _, err := os.Stat(filepath.Join(project, "node_modules/uimgate/src")); err == nil {
		t.Error("the package has its sources")
	}
	if uncompiled != nil && !t.Failed() {
		keep(t, filepath.Join(project, "node_modules/uimgate/dist"), compiled)
	}
}

// compiledSDK returns the directory in which the test keeps the compiled SDK: one for each content of the files that it is compiled from.
func compiledSDK(t *testing.T) string {
	t.Helper()
	root, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(t.TempDir(), "compiled")
	}
	sum := sha256.New()
	for _, name := range []string{"src", "build.mjs", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.cjs.json"} {
		err := filepath.WalkDir(filepath.Join("../../sdk/typescript", name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(root, "uimgate-tests", "sdk-"+hex.EncodeToString(sum.Sum(nil)[:16]))
}

// keep copies a directory to a path at which a complete copy appears at once.
func keep(t *testing.T, dir, path string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	var part string
	if err == nil {
		part, err = os.MkdirTemp(filepath.Dir(path), "part-") //nolint:usetesting // on the file system of path
	}
	if err == nil {
		err = os.CopyFS(part, os.DirFS(dir))
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if errors.Is(err, fs.ErrExist) { // another run kept the same files
		err = os.RemoveAll(part)
	}
	if err != nil {
		t.Error(err)
	}
}
